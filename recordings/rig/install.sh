#!/bin/sh
# Installs what `cargo xtask record` needs, on Debian 12 or later, as root. QEMU 10 comes from backports on Debian 12.
# Only the host's own release is asked: a list of a newer release here would let apt replace the C library.
set -eu
. /etc/os-release
[ "${ID:-}" = debian ] || { echo "This is ${ID:-no known system}, not Debian: install the programs that 'cargo xtask record' names." >&2; exit 1; }
[ "$(id -u)" = 0 ] || { echo "Run this as root: it calls apt-get install." >&2; exit 1; }
list=$(mktemp)
trap 'rm -f "$list"' EXIT
[ -f /etc/apt/sources.list ] && cat /etc/apt/sources.list > "$list"
release=
if [ "$VERSION_CODENAME" = bookworm ]; then
    echo "deb http://deb.debian.org/debian bookworm-backports main" >> "$list"
    release="-t bookworm-backports"
fi
apt-get -o Dir::Etc::SourceList="$list" update
apt-get -o Dir::Etc::SourceList="$list" install -y --no-install-recommends $release ${SIMULATE:+-s} qemu-system-x86
apt-get install -y --no-install-recommends ${SIMULATE:+-s} busybox-static cpio gcc libc6-dev gzip python3 tar xz-utils zstd
