# shellcheck shell=bash
#
# Shared by the other scripts: the checkout's folder, and which meson to use. Sourced, not run.

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Prints the first meson of at least 1.0, or nothing. Ubuntu 22.04 has an older one, so scripts/setup
# may have installed one into .venv.
find_meson() {
    local candidate version
    for candidate in "$checkout/.venv/bin/meson" meson; do
        version=$("$candidate" --version 2>/dev/null) || continue
        if [ "${version%%.*}" -ge 1 ]; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

# Runs a command and shows its output only if it fails.
quietly() {
    local log status=0
    log=$(mktemp)
    "$@" >"$log" 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then
        grep -Ev '^(\[[0-9]+/[0-9]+\] |ninja: Entering)' "$log" >&2 || true
        echo "failed: $*" >&2
    fi
    rm -f "$log"
    return "$status"
}

# Configures a build directory once. Later, ninja notices changed build files by itself.
configure() { # directory, options...
    local directory=$1 meson
    shift
    meson=$(find_meson)
    if [ ! -f "$directory/build.ninja" ]; then
        quietly "$meson" setup "$directory" "$checkout" "$@"
    fi
}
