#!/bin/sh
# Bring what modules for a guest's kernel are built with: unpacked beside it, never installed on the host.
# usage: guest-headers.sh DIR
#   DIR  as guest-kernel.sh leaves it; gets headers/, of which headers/build is what "make -C" wants
set -eu
dir=$(cd "$1" && pwd -P)
release=$(cat "$dir/release")
out=$dir/headers
# they name the folder that they are in: where that was moved, they are unpacked anew
grep -qsF "$out/usr/src" "$out/build/Makefile" && exit 0

packages_of() {
	apt-cache depends "$1" 2>/dev/null | sed -n 's/^[ |]*Depends: \(linux-\(headers\|kbuild\)-.*\)/\1/p'
}

command -v apt-cache >/dev/null || { echo "guest-headers.sh: no apt to ask for linux-headers-$release" >&2; exit 1; }
packages=$(packages_of "linux-headers-$release")
[ -n "$packages" ] || { echo "guest-headers.sh: apt offers no linux-headers-$release" >&2; exit 1; }
tmp=$(mktemp -d "$dir/tmp.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
chmod 755 "$tmp"
# shellcheck disable=SC2086
(cd "$tmp" && apt-get download -q "linux-headers-$release" $packages >apt.log 2>&1) || { cat "$tmp/apt.log" >&2; exit 1; }
for deb in "$tmp"/*.deb; do dpkg-deb -x "$deb" "$tmp/root"; done
rm -rf "$out"
mv "$tmp/root" "$out"
# the packages know where they are to be installed
grep -rlI -e '/usr/src/linux-headers' -e '/usr/lib/linux-kbuild' --include=Makefile --include='*.mk' --include=.kernelvariables "$out/usr/src" |
	xargs -r sed -i "s#/usr/\\(src/linux-headers\\|lib/linux-kbuild\\)#$out/usr/\\1#g"
find "$out/usr" -type l | while read -r link; do
	case $(readlink "$link") in
	/usr/*) ln -sfn "$out$(readlink "$link")" "$link" ;;
	esac
done
ln -sfn "usr/src/linux-headers-$release" "$out/build"
