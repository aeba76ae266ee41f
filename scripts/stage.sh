# shellcheck shell=bash
#
# Builds what gpuverify installs, for other machines: what scripts/bundle, scripts/wheel and scripts/deb share.
# Sourced, not run. A failure ends the script.
#
# The variables that it sets are for the scripts that source it.
# shellcheck disable=SC2034

# shellcheck source=scripts/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
# shellcheck source=scripts/build-root.sh
. "$(dirname "${BASH_SOURCE[0]}")/build-root.sh"

stage_options=(--prefix=/usr --libdir=lib --mandir=share/man --buildtype=debugoptimized -Dwerror=false
    -Dtests=disabled -Dnvcc=disabled)
# Keeps the checkout's path out of what is built, so that the same sources make the same files anywhere.
stage_c_args=-ffile-prefix-map=$checkout=.

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# Sets $version, $commit, SOURCE_DATE_EPOCH and $work, a folder that is removed at the end.
stage_begin() { # output folder
    version=$(sed -n "s/^ *version: '\([^']*\)',$/\1/p" "$checkout/meson.build" | head -n 1)
    commit=$(git -C "$checkout" describe --always --dirty 2>/dev/null || echo unknown)
    SOURCE_DATE_EPOCH=$(git -C "$checkout" log -1 --format=%ct 2>/dev/null || echo 0)
    export SOURCE_DATE_EPOCH
    mkdir -p "$1" "$checkout/build/bundle"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
}

# The targets that `meson install` needs, and for the tests the suite's programs except those of nvcc.
stage_targets() { # build folder as ninja calls it, with tests; reads meson's introspection from stdin
    python3 -c '
import json, os, sys
folder, programs = sys.argv[1], sys.argv[2] == "yes"
for target in json.load(sys.stdin):
    paths = [os.path.relpath(name, folder) for name in target["filename"]]
    program = (target["type"] in ("executable", "shared module") and paths[0].startswith("kernels/") or
               target["name"] in ("bench_gpu_calls", "bench_eight_threads", "bare_cupti"))
    if target["installed"] or programs and program:
        print("\n".join(paths))
' "$1" "$2"
}

stage_here() { # with tests
    local folder=$checkout/build/bundle/host libunwind=$checkout/build/bundle/libunwind meson
    meson=$(find_meson)
    "$checkout/scripts/build-libunwind" "$libunwind" "$(uname -m)" || fail "could not build libunwind"
    configure "$folder" "${stage_options[@]}" "-Dpkg_config_path=$libunwind/lib/pkgconfig" \
        "-Dc_args=$stage_c_args" "-Dcpp_args=$stage_c_args"
    quietly ninja -C "$folder" build.ninja # otherwise meson reports outdated targets
    # shellcheck disable=SC2046
    quietly ninja -C "$folder" $("$meson" introspect --targets "$folder" | stage_targets "$folder" "$1")
    rm -rf "$folder/staged"
    quietly "$meson" install -C "$folder" --no-rebuild --strip --destdir "$folder/staged"
    built=$folder
    staged=$folder/staged/usr
}

stage_in_root() { # with tests, machine
    local folder=/build-$2 cross=()
    build_root_fill "$root" || fail "could not copy what $root needs"
    if [ "$2" != x86_64 ]; then
        why=$(build_root_add_aarch64 "$root") || fail "$why"
        cross=(--cross-file "/src/cross/$2-linux-gnu.ini")
    fi
    why=$(build_root_add_libunwind "$root" "$2") || fail "$why"
    [ -f "$root$folder/build.ninja" ] ||
        quietly build_root_meson "$root" setup "$folder" /src "${stage_options[@]}" "${cross[@]}" \
            -Dcuda-include=/cuda/include "-Dpkg_config_path=/libunwind-$2/lib/pkgconfig"
    quietly build_root_chroot "$root" ninja -C "$folder" build.ninja
    # shellcheck disable=SC2046
    quietly build_root_chroot "$root" ninja -C "$folder" \
        $(build_root_meson "$root" introspect --targets "$folder" | stage_targets "$folder" "$1")
    rm -rf "$root/staged"
    quietly build_root_meson "$root" install -C "$folder" --no-rebuild --strip --destdir /staged
    built=$root$folder
    staged=$root/staged/usr
}

# Where to build: on this machine (host), in a root of an old distribution (a folder), or there if that is
# possible (auto). Sets $root to the root or nothing, and $why to the reason why there is none.
stage_find_root() { # host, auto or a folder; machine
    root=
    why=
    exec 9>"$checkout/build/bundle/lock-$([ "$1" = host ] && echo host || echo root)"
    flock 9
    "$checkout/scripts/setup" build
    case $1 in
    host) ;;
    auto)
        if why=$(build_root_make "$checkout/build/bundle/root"); then
            root=$checkout/build/bundle/root
        elif [ "$2" != "$(uname -m)" ]; then
            fail "cannot build for $2: $why"
        fi
        ;;
    *)
        why=$(build_root_make "$1") || fail "$why"
        root=$1
        ;;
    esac
}

# Builds there. Sets $built and $staged to the folders with the results too, and $licences to what scripts/list-licences wrote.
stage_make() { # with tests: yes or no; host, auto or a folder; machine
    stage_find_root "$2" "${3:-$(uname -m)}"
    if [ -n "$root" ]; then
        stage_in_root "$1" "${3:-x86_64}"
    else
        stage_here "$1"
    fi
    licences=$work/licences
    "$checkout/scripts/list-licences" "$built" "${root:-/}" "$version" "$licences" || fail "what is linked is not known"
}

# Says what was built with, if it is not the old distribution.
stage_explain() {
    [ -z "$why" ] || echo "$(basename "$0"): built with this machine's own libraries, because: $why" >&2
}

# The newest version of glibc that any of the files needs.
needed_glibc() {
    readelf -V -W "$@" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -n 1
}

# Fails if the file needs a library other than libc's own: the target machine may lack it.
only_libc() { # file
    local foreign
    foreign=$(readelf -d -W "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        grep -vE '^(libc|libm|libdl|libpthread|librt)\.so\.[0-9]+$|^ld-linux' || true)
    [ -z "$foreign" ] || fail "$(basename "$1") needs $(echo "$foreign" | tr '\n' ' ')"
}
