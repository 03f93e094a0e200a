#!/bin/sh
# Bring Debian 12's mkosi: unpacked below a folder, never installed on the host.
# usage: guest-mkosi.sh DIR
#   DIR  gets usr/bin/mkosi, and usr/lib/python3/dist-packages for PYTHONPATH
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
dir=$(cd "$1" && pwd)
[ -x "$dir/usr/bin/mkosi" ] && exit 0

conf=$("$here/suite-apt.sh" bookworm "$(dirname "$dir")/apt-bookworm")
tmp=$(mktemp -d "$dir/tmp.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
(cd "$tmp" && apt-get -c "$conf" -q download mkosi >apt.log 2>&1) || { tail -n 3 "$tmp/apt.log" >&2; exit 1; }
dpkg-deb -x "$tmp"/*.deb "$tmp/root"
mv "$tmp/root/usr" "$dir/usr"
