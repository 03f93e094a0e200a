#!/bin/sh
# Bring QEMU's own qemu-plugin.h, which Debian packages only as source (39 MB): for the test that holds
# src/recorder/qemu/qemu_interface.h against it. Nothing is built with it.
# usage: qemu-plugin-header.sh DIR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$1
[ -s "$dir/qemu-plugin.h" ] && exit 0
mkdir -p "$dir"
conf=$("$here/suite-apt.sh" trixie "$dir/apt" "deb deb-src")
tmp=$(mktemp -d "$dir/tmp.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
chmod 755 "$tmp"
# without --tar-only the download fails on a file that is not there
(cd "$tmp" && apt-get -c "$conf" -q source --tar-only --download-only qemu >apt.log 2>&1) || { tail -n 3 "$tmp/apt.log" >&2; exit 1; }
tar -xJf "$tmp"/qemu_*.orig.tar.xz -C "$tmp" --wildcards --strip-components=3 '*/include/qemu/qemu-plugin.h'
mv "$tmp/qemu-plugin.h" "$dir/qemu-plugin.h"
