#!/bin/sh
#
# Installs gpuverify from this folder, or removes it:
#
#   ./install.sh [--prefix FOLDER] [--uninstall]
#
# The prefix is /usr/local for root and ~/.local for others. Installing again replaces the files.
# Uninstalling also removes the folders that installing made, from the prefix down, if they are empty.
#
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=
uninstall=no

# Takes a folder, relative to the working folder. An empty word is probably an unset variable, one with -
# an option, and one with ~ was not expanded by the shell.
take_prefix() {
    case $1 in
    "") echo "install.sh: --prefix needs a folder" >&2 && exit 2 ;;
    -* | "~"*) echo "install.sh: --prefix needs a folder, not '$1'; or say './$1'" >&2 && exit 2 ;;
    /*) prefix=$1 ;;
    *) prefix=$PWD/$1 ;;
    esac
}

while [ $# -gt 0 ]; do
    case $1 in
    --prefix=*) take_prefix "${1#--prefix=}" ;;
    --prefix)
        take_prefix "${2-}"
        shift
        ;;
    --uninstall) uninstall=yes ;;
    *)
        echo "usage: install.sh [--prefix FOLDER] [--uninstall]" >&2
        exit 2
        ;;
    esac
    shift
done
if [ -z "$prefix" ]; then
    if [ "$(id -u)" -eq 0 ]; then
        prefix=/usr/local
    else
        prefix=${HOME:?use --prefix FOLDER}/.local
    fi
fi

cd "$here"
files=$(sed -n 's/^[0-9a-f]* [ *]\(\(bin\|include\|lib\|share\)\/.*\)$/\1/p' SHA256SUMS)
[ -n "$files" ] || { echo "install.sh: no list of files in $here/SHA256SUMS" >&2 && exit 1; }

own=share/doc/gpuverify
noted=$prefix/$own/.made-folders

# The folders to remove, innermost first: our own, and those that installing made.
folders() {
    for file in $files; do
        dirname "$file"
    done | grep "^$own" | LC_ALL=C sort -ur
    LC_ALL=C sort -ur "$noted" 2>/dev/null || true
}

if [ "$uninstall" = yes ]; then
    removed=no
    made=$(folders)
    for file in $files; do
        [ -e "$prefix/$file" ] || [ -L "$prefix/$file" ] || continue
        rm -f "$prefix/$file"
        removed=yes
    done
    rm -f "$noted"
    for folder in $made; do
        rmdir "$prefix/${folder#.}" 2>/dev/null || true
    done
    if [ "$removed" = yes ]; then
        echo "removed gpuverify from $prefix"
    else
        echo "nothing to remove: gpuverify is not in $prefix"
    fi
    exit 0
fi

# Makes the folder $1 below the prefix, and notes each one that it makes.
make_folder() {
    if [ -d "$prefix/$1" ]; then
        return
    fi
    if [ "$1" != . ]; then
        make_folder "$(dirname "$1")"
    fi
    mkdir -p "$prefix/$1"
    made="$made$1
"
}

sha256sum --quiet -c SHA256SUMS || { echo "install.sh: a file differs from the packed one" >&2 && exit 1; }
made=
for file in $files; do
    folder=$prefix/$(dirname "$file")
    make_folder "$(dirname "$file")"
    # Copy and rename: running programs keep the old library.
    cp "$file" "$folder/.gpuverify-new"
    chmod "$([ -x "$file" ] && echo 755 || echo 644)" "$folder/.gpuverify-new"
    mv -f "$folder/.gpuverify-new" "$prefix/$file"
done
printf '%s' "$made" >>"$noted"
echo "installed $(head -n 1 VERSION) to $prefix"
case $prefix in
*[[:space:]:]*)
    echo "gpuverify cannot run programs from there: LD_PRELOAD allows no space and no colon in a path" >&2
    ;;
esac
case :${PATH-}: in
*:"$prefix/bin":*) ;;
*) echo "$prefix/bin is not in PATH: add it, or run $prefix/bin/gpuverify" ;;
esac
