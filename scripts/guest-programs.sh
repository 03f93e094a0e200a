#!/bin/sh
# Bring programs for a guest of another architecture than the host's: unpacked below a folder, never installed.
# usage: guest-programs.sh DIR SUITE ARCHITECTURE PACKAGE…
#   DIR      gets the packages' files
#   PACKAGE  such as trace-cmd; what it depends on is to be named, too
set -eu
dir=$1 suite=$2 arch=$3
shift 3
[ -e "$dir/done" ] && exit 0
mkdir -p "$dir"
APT_CONFIG=$("$(dirname "$0")/suite-apt.sh" "$suite" "$(dirname "$dir")/apt/$suite-$arch" deb "$arch")
export APT_CONFIG
tmp=$(mktemp -d "$dir/tmp.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
chmod 755 "$tmp"
(cd "$tmp" && apt-get download -q "$@" >apt.log 2>&1) || { cat "$tmp/apt.log" >&2; exit 1; }
for deb in "$tmp"/*.deb; do dpkg-deb -x "$deb" "$dir"; done
touch "$dir/done"
