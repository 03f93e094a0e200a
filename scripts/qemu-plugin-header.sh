#!/bin/sh
# Bring qemu-plugin.h, which Debian packages only as source.
# usage: qemu-plugin-header.sh DIR
set -eu
dir=$1
[ -s "$dir/qemu-plugin.h" ] && exit 0
for installed in /usr/include/qemu-plugin.h /usr/local/include/qemu-plugin.h; do
	[ -s "$installed" ] && { mkdir -p "$dir"; cp "$installed" "$dir/"; exit 0; }
done
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
if ! apt-get indextargets --format '$(CREATED_BY) $(CODENAME)' | grep -q "^Sources $release-backports$"; then
	if [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; then
		"$(dirname "$0")/backports.sh"
	else
		echo "upto: qemu-plugin.h comes with QEMU's source: add a deb-src entry for $release-backports" >&2
		exit 1
	fi
fi
mkdir -p "$dir"
tmp=$(mktemp -d "$dir/tmp.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
chmod 755 "$tmp"
# without --tar-only the download fails on a file that is not there
(cd "$tmp" && apt-get -q source --tar-only --download-only "qemu/$release-backports" >apt.log 2>&1) ||
	{ cat "$tmp/apt.log" >&2; exit 1; }
tar -xJf "$tmp"/qemu_*.orig.tar.xz -C "$tmp" --wildcards --strip-components=3 '*/include/qemu/qemu-plugin.h'
mv "$tmp/qemu-plugin.h" "$dir/qemu-plugin.h"
