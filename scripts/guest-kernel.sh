#!/bin/sh
# Bring a stock kernel with its modules: unpacked below a folder, never installed on the host.
# usage: guest-kernel.sh META-PACKAGE[,META-PACKAGE]… DIR [SUITE [ARCHITECTURE]]
#   META-PACKAGE  such as linux-image-6.12-amd64: the first that apt offers. APT_CONFIG may name another apt's configuration.
#                 A pattern such as 'linux-image-6.18.*[0-9]-amd64' stands for the newest package that it fits.
#   DIR           gets boot/vmlinuz-RELEASE, lib/modules/RELEASE and the file "release"
#   SUITE         a Debian suite, which an apt of its own beside DIR is asked for: sid, trixie-backports, bullseye …
#   ARCHITECTURE  such as i386; then DIR also gets bin/busybox, for programs of the host do not run in such a guest
# Where there is no apt, or it offers none of them, the newest kernel that is installed on this machine serves, unless a
# suite was named.
set -euf
metas=$1 dir=$2 suite=${3:-} arch=${4:-}
PATH=$PATH:/usr/sbin:/sbin
[ -s "$dir/release" ] && exit 0

# Packages of one kernel, the one that is named and what it depends on: up to Linux 6 the image holds everything,
# later ones are split into linux-image, linux-binary, linux-modules and linux-base, and Ubuntu's into image and modules.
packages_of() {
	apt-cache depends "$1" 2>/dev/null | sed -n 's/^[ |]*Depends: \(linux-\(image\|binary\|modules\|base\)-.*\)/\1/p' |
		while read -r package; do
			echo "$package"
			packages_of "$package"
		done
}

newest() {
	apt-cache pkgnames linux-image- | sort -V | while read -r package; do
		# shellcheck disable=SC2254
		case $package in $1) echo "$package" ;; esac
	done | tail -n 1
}

offered() {
	command -v apt-cache >/dev/null || return 1
	for meta in $(echo "$metas" | tr ',' ' '); do
		case $meta in
		*'*'*) meta=$(newest "$meta") && found=$(echo "$meta"; packages_of "$meta") ;;
		*) found=$(packages_of "$meta" | sort -u) ;;
		esac
		[ -n "$found" ] && echo "$found" && return
	done
	return 1
}

unpack() {
	tmp=$(mktemp -d "$dir/tmp.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	chmod 755 "$tmp"
	# shellcheck disable=SC2086
	(cd "$tmp" && apt-get download -q $1 >apt.log 2>&1) || { cat "$tmp/apt.log" >&2; exit 1; }
	set +f
	if [ -n "$arch" ]; then
		mkdir -p "$dir/bin"
		(cd "$tmp" && apt-get download -q busybox-static >>apt.log 2>&1) || { cat "$tmp/apt.log" >&2; exit 1; }
		dpkg-deb --fsys-tarfile "$tmp"/busybox-static*.deb | tar -xO ./bin/busybox >"$dir/bin/busybox"
		chmod 755 "$dir/bin/busybox"
		rm "$tmp"/busybox-static*.deb
	fi
	for deb in "$tmp"/*.deb; do dpkg-deb -x "$deb" "$tmp/root"; done
	rm -rf "${dir:?}/boot" "${dir:?}/lib"
	mkdir -p "$dir/lib" "$tmp/root/boot"
	mv "$tmp/root/boot" "$dir/boot"
	# with a merged /usr the package's own paths are under usr/lib
	for modules in "$tmp/root/usr/lib/modules" "$tmp/root/lib/modules"; do
		[ -d "$modules" ] && mv "$modules" "$dir/lib/modules" && break
	done
	release=$(ls "$dir/lib/modules")
	# Debian's since 7.0 have the image beside the modules, and copy it when they are installed
	[ -e "$dir/boot/vmlinuz-$release" ] || ln "$dir/lib/modules/$release/vmlinuz" "$dir/boot/vmlinuz-$release"
	depmod -b "$dir" "$release"
}

# The modules stay where they are; the kernel is in /boot, or beside its modules as Fedora has it.
use_own() {
	for release in $(ls /lib/modules 2>/dev/null | sort -rV); do
		for image in "/lib/modules/$release/vmlinuz" "/boot/vmlinuz-$release"; do
			if [ -r "$image" ] && [ -f "/lib/modules/$release/modules.dep" ]; then
				mkdir -p "$dir/boot" "$dir/lib/modules"
				ln -sfn "$image" "$dir/boot/vmlinuz-$release"
				ln -sfn "/lib/modules/$release" "$dir/lib/modules/$release"
				return
			fi
		done
	done
	echo "guest-kernel.sh: apt offers no $metas ('apt-get update' as root makes it know), and this machine has no kernel of its own" \
		"that can be read" >&2
	exit 1
}

mkdir -p "$dir"
if [ -n "$suite" ]; then
	APT_CONFIG=$("$(dirname "$0")/suite-apt.sh" "$suite" "$(dirname "$dir")/apt/$suite${arch:+-$arch}" deb ${arch:+"$arch"})
	export APT_CONFIG
fi
if packages=$(offered); then
	unpack "$packages"
elif [ -n "$suite" ]; then
	echo "guest-kernel.sh: $suite offers no $metas" >&2
	exit 1
else
	use_own
fi
echo "$release" >"$dir/release"
