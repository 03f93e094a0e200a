#!/bin/sh
# Install what upto is built and tested with, from Debian's packages; quick when all is there.
# usage: deps.sh [build|check|bench]…   (default: build)
# Without root or sudo: says what is missing and fails.
set -eu
build="gcc pkg-config meson ninja-build xz-utils libglib2.0-dev libelf-dev libdw-dev libbpf-dev libzstd-dev libarchive-dev libsmartcols-dev libext2fs-dev libblkid-dev libiberty-dev"
guest="busybox-static cpio kmod"
check="python3 strace libdebuginfod1"
bench="debootstrap e2fsprogs"
min_qemu=9.2

packages="$build $guest"
for set in "$@"; do
	case $set in
	build) ;;
	check) packages="$packages $check" ;;
	bench) packages="$packages $check $bench" ;;
	*) echo "deps.sh: $set: build, check or bench" >&2; exit 2 ;;
	esac
done

missing=
for p in $packages; do
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing="$missing $p"
done

qemu_is_new_enough() {
	version=$(qemu-system-x86_64 --version 2>/dev/null | sed -n 's/^QEMU emulator version \([0-9.]*\).*/\1/p')
	[ -n "$version" ] && dpkg --compare-versions "$version" ge "$min_qemu"
}
qemu_is_new_enough || missing="$missing qemu-system-x86(>=$min_qemu,bookworm-backports)"
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ]; then
	as_root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
	as_root="sudo -n"
else
	echo "upto: these packages are missing, and installing them needs root or sudo:" >&2
	for p in $missing; do echo "  $p" >&2; done
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends "$@"; }

apt update
plain=$(echo "$missing" | tr ' ' '\n' | grep -v '^qemu-system-x86' | tr '\n' ' ')
# shellcheck disable=SC2086
[ -z "${plain# }" ] || apt install $plain
if ! qemu_is_new_enough; then
	"$(dirname "$0")/backports.sh"
	release=$(. /etc/os-release && echo "$VERSION_CODENAME")
	candidate=$(apt-cache policy qemu-system-x86 | awk '$1 == "Candidate:" { print $2 }')
	if dpkg --compare-versions "${candidate#*:}" ge "$min_qemu"; then
		apt install qemu-system-x86
	else
		apt install -t "$release-backports" qemu-system-x86
	fi
fi
qemu_is_new_enough || { echo "upto: no QEMU >= $min_qemu could be installed" >&2; exit 1; }
