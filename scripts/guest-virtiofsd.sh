#!/bin/sh
# Bring Debian 12's virtiofsd, of QEMU 7.2: unpacked below a folder, never installed on the host.
# usage: guest-virtiofsd.sh DIR
#   DIR  gets virtiofsd
set -eu
mkdir -p "$1"
dir=$(cd "$1" && pwd)
[ -x "$dir/virtiofsd" ] && exit 0

version=$(apt-cache madison qemu-system-common | awk '$3 ~ /:7\.2/ { print $3; exit }')
[ -n "$version" ] || { echo "no QEMU 7.2 to be had" >&2; exit 1; }
tmp=$(mktemp -d "$dir/tmp.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
(cd "$tmp" && apt-get -q download "qemu-system-common=$version" >apt.log 2>&1) || { tail -n 3 "$tmp/apt.log" >&2; exit 1; }
dpkg-deb -x "$tmp"/*.deb "$tmp/root"
mv "$tmp/root/usr/lib/qemu/virtiofsd" "$dir/virtiofsd"
