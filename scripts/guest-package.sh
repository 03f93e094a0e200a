#!/bin/sh
# Bring a program of another Debian suite than the host's, or of its own: unpacked below a folder, never installed on the host.
# usage: guest-package.sh SUITE PACKAGE PROGRAM DIR
#   DIR  gets usr/bin/PROGRAM, and usr/lib/python3/dist-packages for PYTHONPATH, if the package has that
set -eu
here=$(cd "$(dirname "$0")" && pwd)
suite=$1 package=$2 program=$3
mkdir -p "$4"
dir=$(cd "$4" && pwd)
[ -x "$dir/usr/bin/$program" ] && exit 0

conf=$("$here/suite-apt.sh" "$suite" "$(dirname "$dir")/apt-$suite")
tmp=$(mktemp -d "$dir/tmp.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
(cd "$tmp" && apt-get -c "$conf" -q download "$package" >apt.log 2>&1) || { tail -n 3 "$tmp/apt.log" >&2; exit 1; }
dpkg-deb -x "$tmp"/*.deb "$tmp/root"
mv "$tmp/root/usr" "$dir/usr"
