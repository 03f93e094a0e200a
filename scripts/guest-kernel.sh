#!/bin/sh
# Bring a stock Debian kernel: unpacked below a folder, never installed on the host.
# usage: guest-kernel.sh META-PACKAGE DIR
#   META-PACKAGE  linux-image-amd64 (6.1) or linux-image-6.12-amd64
#   DIR           gets boot/vmlinuz-RELEASE, lib/modules/RELEASE and the file "release"
set -eu
meta=$1 dir=$2
[ -s "$dir/release" ] && exit 0

package=$(apt-cache depends "$meta" 2>/dev/null | awk '$1 == "Depends:" { print $2; exit }')
if [ -z "$package" ]; then
	echo "guest-kernel.sh: $meta: no such package known to apt; run 'apt-get update' as root first" >&2
	exit 1
fi
mkdir -p "$dir"
tmp=$(mktemp -d "$dir/tmp.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
chmod 755 "$tmp"
(cd "$tmp" && apt-get download -q "$package" >apt.log 2>&1) || { cat "$tmp/apt.log" >&2; exit 1; }
dpkg-deb -x "$tmp"/*.deb "$tmp/root"
rm -rf "$dir/boot" "$dir/lib"
mv "$tmp/root/boot" "$dir/boot"
# with a merged /usr the package's own paths may be under usr/lib
if [ -d "$tmp/root/usr/lib/modules" ]; then
	mv "$tmp/root/usr/lib" "$dir/lib"
else
	mv "$tmp/root/lib" "$dir/lib"
fi
release=$(ls "$dir/lib/modules")
depmod -b "$dir" "$release" 2>/dev/null || /sbin/depmod -b "$dir" "$release"
echo "$release" >"$dir/release"
