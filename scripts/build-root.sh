# shellcheck shell=bash
#
# Makes and uses a root of an old distribution, so that what is built in it runs on old systems. Sourced,
# not run. On failure, the functions print the reason on stdout and return 1.

# shellcheck source=scripts/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
PATH=$PATH:/usr/sbin # debootstrap and chroot: Debian's users do not have it

build_root_suite=bullseye # Debian 11: glibc 2.31
build_root_mirrors=(http://deb.debian.org/debian http://archive.debian.org/debian)
build_root_libraries="libsqlite3-dev libdw-dev libelf-dev zlib1g-dev libbz2-dev liblzma-dev"
build_root_packages=gcc,g++,libc6-dev,python3,python3-distutils,ninja-build,pkg-config,${build_root_libraries// /,}
build_root_limit_s=${GV_BUILD_ROOT_SECONDS:-600}

build_root_make() { # root
    local mirror status log=$1.log alone=()
    [ ! -e "$1/complete" ] || return 0
    [ "$(id -u)" -eq 0 ] || { echo "making a root to build in needs root" && return 1; }
    [ "$(uname -m)" = x86_64 ] || { echo "roots can be made only on x86-64" && return 1; }
    command -v debootstrap >/dev/null || { echo "debootstrap is not installed" && return 1; }
    if [ -n "$(ls -A "$1" 2>/dev/null)" ] && [ ! -e "$1/unfinished" ]; then
        echo "$1 is not empty and no root of ours" && return 1
    fi
    # If debootstrap is killed, its root's /proc stays mounted: use a mount namespace.
    ! unshare --mount true 2>/dev/null || alone=(unshare --mount)
    for mirror in "${build_root_mirrors[@]}"; do
        rm -rf "$1"
        mkdir -p "$1"
        touch "$1/unfinished"
        status=0
        timeout "$build_root_limit_s" "${alone[@]}" debootstrap --force-check-gpg --variant=minbase \
            --include="$build_root_packages" "$build_root_suite" "$1" "$mirror" >"$log" 2>&1 || status=$?
        if [ "$status" -eq 0 ]; then
            rm -rf "$1"/var/cache/apt/archives/*.deb
            mv "$1/unfinished" "$1/complete"
            return 0
        fi
        [ "$status" -ne 124 ] || break # out of time
    done
    echo "debootstrap $build_root_suite: $(tail -n 1 "$log")"
    return 1
}

copy_sources() { # folder
    (cd "$checkout" && git ls-files -co --exclude-standard -z | xargs -0 ls -d 2>/dev/null |
        tar -cf - -T -) | tar -xf - -C "$1"
}

# Copies the sources, the CUDA headers and meson into the root.
build_root_fill() { # root
    local headers meson interpreter
    headers=$("$checkout/scripts/find-cuda-headers") || return 1
    headers=${headers%%$'\n'*}
    rm -rf "$1/src"
    mkdir -p "$1/src" "$1/meson" "$1/cuda"
    copy_sources "$1/src" || return 1
    [ -e "$1/cuda/include/cuda.h" ] || cp -rL "$headers" "$1/cuda/include" || return 1
    # Debian 11's meson is older than 1.0. Meson is Python, so this machine's runs there.
    meson=$(find_meson) || return 1
    interpreter=$(sed -n '1s/^#! *//p' "$meson")
    meson=$("$interpreter" -c 'import mesonbuild, os; print(os.path.dirname(mesonbuild.__file__))') ||
        return 1
    rm -rf "$1/meson/mesonbuild"
    cp -r "$meson" "$1/meson/mesonbuild"
    printf '#!/bin/sh\nexec python3 -m mesonbuild.mesonmain "$@"\n' >"$1/meson/meson"
    chmod +x "$1/meson/meson"
}

# Installs Debian packages in the root, unless it has them.
build_root_add() { # root, what they are for, packages...
    local log=$1.log
    [ "$(cat "$1/complete-$2" 2>/dev/null)" != "${*:3}" ] || return 0
    if build_root_chroot "$1" apt-get -q update >"$log" 2>&1 &&
        timeout "$build_root_limit_s" chroot "$1" /usr/bin/env DEBIAN_FRONTEND=noninteractive LC_ALL=C \
            apt-get -q -y --no-install-recommends install "${@:3}" >>"$log" 2>&1; then
        echo "${*:3}" >"$1/complete-$2"
        return 0
    fi
    echo "apt-get in $1: $(tail -n 1 "$log")"
    return 1
}

# Adds what builds for aarch64 in the root. Its qemu runs the built command, which prints its manual page.
build_root_add_aarch64() { # root
    local emulator package packages=(gcc-aarch64-linux-gnu g++-aarch64-linux-gnu)
    emulator=$(command -v qemu-aarch64-static) || { echo "qemu-aarch64-static is not installed" && return 1; }
    cp "$emulator" "$1/usr/bin/" || return 1
    for package in libc6-dev $build_root_libraries; do
        packages+=("$package:arm64")
    done
    build_root_chroot "$1" dpkg --add-architecture arm64 && build_root_add "$1" aarch64 "${packages[@]}"
}

# Builds the libunwind that archives and wheels contain, after build_root_fill.
build_root_add_libunwind() { # root, machine
    build_root_add "$1" libunwind make || return 1
    ! build_root_chroot "$1" /src/scripts/build-libunwind "/libunwind-$2" "$2" >"$1.log" 2>&1 || return 0
    echo "build-libunwind in $1: $(tail -n 1 "$1.log")"
    return 1
}

build_root_chroot() { # root, words...
    chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
        PYTHONPATH=/meson SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH-0}" "${@:2}"
}

build_root_meson() { # root, arguments...
    build_root_chroot "$1" python3 -m mesonbuild.mesonmain "${@:2}"
}

# Links ROOT/nvcc/NAME_<shared|static>_real from NAME.o, which nvcc made outside of the root. The static
# runtime is beside the shared one.
build_root_link() { # root, program, folder of the object, shared runtime
    local base=${2%_real} runtime
    case $base in
    *_static) runtime=$(dirname "$4")/libcudart_static.a ;;
    *) runtime=$4 ;;
    esac
    mkdir -p "$1/nvcc"
    cp -L "$3/${base%_*}.o" "$runtime" "$1/nvcc/" || return 1
    build_root_chroot "$1" g++ -static-libstdc++ -static-libgcc -o "/nvcc/$2" "/nvcc/${base%_*}.o" "/nvcc/$(basename "$runtime")" \
        -ldl -lpthread -lrt
}
