#!/bin/sh
# Find out what upto's building and testing lacks on this machine, and install it where there is Debian's apt.
# usage: deps.sh [--look] [build|demo|check|kernels|bench]…   (default: build demo)
#   build  what is built with        demo   and what brings a guest and records it
#   check  and what tests want       bench  and what the bench wants
#   kernels  and what all the kernels that tests build want
#   --look  only look: say everything that is missing at once, and fail
# Silent when nothing is missing, on any distribution. Installing needs root or sudo.
set -eu
here=$(dirname "$0")
PATH=$PATH:/usr/sbin:/sbin
min_qemu=9.2

# SET  HOW  NAME  DEBIAN'S PACKAGE
#   program   a command                    version   a command of at least a version: NAME>=VERSION
#   static    a command that needs no library
#   module    a name that pkg-config knows
#   header    a header of a library without a pkg-config file, HEADER:LIBRARY; it may be in a folder of the library's name
#   library   a shared library that is loaded when it is asked for
#   flags     what the compiler can do     python    a module of Python      script    one of the system's own Python
#   optional  a command that tests can do without, and file a file: they are skipped then
wanted() {
	cat <<-END
	build program cc gcc
	build program pkg-config pkg-config
	build version meson>=1.0 meson
	build program ninja ninja-build
	build module glib-2.0 libglib2.0-dev
	build module libelf libelf-dev
	build module libdw libdw-dev
	build module libbpf libbpf-dev
	build module libzstd libzstd-dev
	build module zlib zlib1g-dev
	build module libmicrohttpd libmicrohttpd-dev
	build module libarchive libarchive-dev
	build module smartcols libsmartcols-dev
	build module ext2fs libext2fs-dev
	build module blkid libblkid-dev
	build module libtraceevent libtraceevent-dev
	build module libtracecmd libtracecmd-dev
	build module libtracefs libtracefs-dev
	build header Zydis/Zydis.h:Zydis libzydis-dev
	build header demangle.h:iberty libiberty-dev
	demo version qemu-system-x86_64>=$min_qemu qemu-system-x86
	demo static busybox busybox-static
	demo program cpio cpio
	demo program gzip gzip
	demo program xz xz-utils
	demo program zstd zstd
	demo program modprobe kmod
	check flags -fsanitize=address,undefined libc6-dev
	check program gcc gcc
	check program objcopy binutils
	check program python3 python3
	check python pytest python3-pytest
	check python xdist python3-pytest-xdist
	check program mke2fs e2fsprogs
	check program mksquashfs squashfs-tools
	check program mkfs.erofs erofs-utils
	check program mkfs.btrfs btrfs-progs
	check optional strace strace
	check optional trace-cmd trace-cmd
	check optional uftrace uftrace
	check optional babeltrace2 babeltrace2
	check optional callgrind_annotate valgrind
	check optional xmllint libxml2-utils
	check optional protoc protobuf-compiler
	check file /usr/share/gocode/src/github.com/google/pprof/proto/profile.proto golang-github-google-pprof-dev
	check optional chromium chromium
	check optional npm npm
	check optional groff groff-base
	check optional man man-db
	check optional clang clang
	check optional zsh zsh
	check optional fish fish
	check library libdebuginfod.so.1 libdebuginfod1
	kernels program gdb gdb
	kernels program perf linux-perf
	check optional flex flex
	check optional bison bison
	check optional bc bc
	check file /usr/share/OVMF/OVMF_CODE_4M.fd ovmf
	kernels optional bpftrace bpftrace
	check optional qemu-img qemu-utils
	kernels optional clang-19 clang-19
	kernels optional ld.lld-19 lld-19
	kernels optional llvm-ar-19 llvm-19
	kernels optional libguestfs-test-tool libguestfs-tools
	kernels script argcomplete python3-argcomplete
	kernels script pkg_resources python3-pkg-resources
	kernels script requests python3-requests
	kernels file /lib/systemd/systemd-udevd udev
	bench program debootstrap debootstrap
	END
}

have() { command -v "$1" >/dev/null 2>&1; }

# at_least VERSION MINIMUM, both of numbers with dots
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# The first number with dots that a program says of itself.
version_of() { "$1" --version 2>/dev/null | sed -n 's/^[^0-9]*\([0-9][0-9.]*[0-9]\).*/\1/p' | head -n 1; }

version_is_there() {
	have "${1%%>=*}" || return 1
	version=$(version_of "${1%%>=*}")
	[ -n "$version" ] && at_least "$version" "${1#*>=}"
}

# The compiler says nothing here: what it lacks is told with all the rest.
links() { echo "$1" | cc -x c -o /dev/null - $2 >/dev/null 2>&1; }

is_there() {
	case $1 in
	program | optional) have "$2" ;;
	version) version_is_there "$2" ;;
	file) [ -f "$2" ] ;;
	module) have pkg-config && pkg-config --exists "$2" ;;
	header) links "#include <${2%:*}>
int main(void) { return 0; }" "-idirafter /usr/include/lib${2#*:} -l${2#*:}" ;;
	flags) links 'int main(void) { return 0; }' "$2" ;;
	python) python3 -c "import $2" 2>/dev/null || /usr/bin/python3 -c "import $2" 2>/dev/null ;;
	script) /usr/bin/python3 -c "import $2" 2>/dev/null ;;
	library) ldconfig -p 2>/dev/null | grep -q "^[[:space:]]*$2 " ;;
	static) have "$2" && ! ldd "$(command -v "$2")" 2>/dev/null | grep -q '=>' ;;
	esac
}

# Lines of "wanted" for what is not there; --look leaves out what tests can do without.
missing() {
	wanted | while read -r set how name package; do
		case " $sets " in *" $set "*) ;; *) continue ;; esac
		case $how in optional | file) [ -n "$look" ] && continue ;; esac
		is_there "$how" "$name" || echo "$how $name $package"
	done
}

say_missing() {
	echo "upto: this is missing:"
	while read -r how name package; do
		case $how in
		version) how=program name="${name%%>=*} (>= ${name#*>=})" ;;
		header) name="${name%:*} and lib${name#*:}" ;;
		flags) how=compiler name="cc $name" ;;
		static) how=program name="$name (static)" ;;
		module) how=pkg-config ;;
		esac
		printf '  %-10s  %-36s  Debian: %s\n' "$how" "$name" "$package"
	done
}

has_apt() { [ -f /etc/debian_version ] && have apt-get; }

# How to become root, empty if this is root; fails if there is no way.
as_root() {
	[ "$(id -u)" = 0 ] && return
	have sudo && sudo -n true 2>/dev/null && echo "sudo -n"
}

install_packages() {
	root=$(as_root)
	apt="$root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends"
	packages=$(echo "$1" | awk '{ print $3 }' | sort -u)
	$apt update
	plain=$(echo "$packages" | grep -vx qemu-system-x86 | tr '\n' ' ')
	# shellcheck disable=SC2086
	[ -z "${plain% }" ] || $apt install $plain
	echo "$packages" | grep -qx qemu-system-x86 || return 0
	# the release's own QEMU, or its backports'
	candidate=$(apt-cache policy qemu-system-x86 | sed -n 's/^ *Candidate: \([0-9]*:\)\{0,1\}//p')
	suite=
	if ! at_least "$candidate" $min_qemu; then
		"$here/backports.sh"
		suite="-t $(. /etc/os-release && echo "$VERSION_CODENAME")-backports"
	fi
	# shellcheck disable=SC2086
	$apt install $suite qemu-system-x86
}

look= sets=
for word in "$@"; do
	case $word in
	--look) look=1 ;;
	build | demo) sets="$sets $word" ;;
	check) sets="$sets build demo check" ;;
	kernels) sets="$sets build demo check kernels" ;;
	bench) sets="$sets build demo check bench" ;;
	*) echo "deps.sh: $word: build, demo, check, kernels or bench" >&2; exit 2 ;;
	esac
done
sets=${sets:-build demo}

list=$(missing)
[ -z "$list" ] && exit 0
if [ -z "$look" ] && has_apt && as_root >/dev/null; then
	install_packages "$list"
	look=1 list=$(missing)
	[ -z "$list" ] && exit 0
fi
echo "$list" | say_missing >&2
if [ -n "$look" ] && has_apt; then
	echo "'make deps' installs it, as root or with sudo." >&2
elif has_apt; then
	echo "Installing it needs root or sudo." >&2
else
	echo "README.md names the packages of other distributions." >&2
fi
exit 1
