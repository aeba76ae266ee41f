#!/bin/sh
#
# Copies gpuverify from this folder to where it is found, or removes it from there:
#
#   ./install.sh [--prefix FOLDER] [--uninstall]
#
# The prefix is /usr/local for root and ~/.local for others. Installing again replaces the files.
#
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=
uninstall=no
while [ $# -gt 0 ]; do
    case $1 in
    --prefix=*) prefix=${1#--prefix=} ;;
    --prefix)
        [ $# -gt 1 ] || { echo "install.sh: --prefix needs a folder" >&2 && exit 2; }
        prefix=$2
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
        prefix=${HOME:?say --prefix FOLDER}/.local
    fi
fi

cd "$here"
files=$(sed -n 's/^[0-9a-f]* [ *]\(\(bin\|lib\|share\)\/.*\)$/\1/p' SHA256SUMS)
[ -n "$files" ] || { echo "install.sh: no list of files in $here/SHA256SUMS" >&2 && exit 1; }

if [ "$uninstall" = yes ]; then
    for file in $files; do
        rm -f "$prefix/$file"
    done
    rmdir "$prefix/share/doc/gpuverify" 2>/dev/null || true
    echo "removed gpuverify from $prefix"
    exit 0
fi

sha256sum --quiet -c SHA256SUMS || { echo "install.sh: the files are not those that were packed" >&2 && exit 1; }
for file in $files; do
    folder=$prefix/$(dirname "$file")
    mkdir -p "$folder"
    # Under a new name first: programs that run with the old library keep it.
    cp "$file" "$folder/.gpuverify-new"
    chmod "$([ -x "$file" ] && echo 755 || echo 644)" "$folder/.gpuverify-new"
    mv -f "$folder/.gpuverify-new" "$prefix/$file"
done
echo "installed $(head -n 1 VERSION) to $prefix"
case :${PATH-}: in
*:"$prefix/bin":*) ;;
*) echo "$prefix/bin is not in PATH: call $prefix/bin/gpuverify, or add it" ;;
esac
