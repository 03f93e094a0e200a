#!/bin/sh
# Build a kernel as people build theirs: few options, its own tree, nothing of a distribution.
# usage: guest-built-kernel.sh VARIANT[,VARIANT…] DIR
#   VARIANT  names guest/kernels/VARIANT.config, which goes on top of tinyconfig and small.config
#   DIR      becomes the build tree: vmlinux, System.map, arch/x86/boot/bzImage; its modules go to DIR/root/lib/modules,
#            its release to DIR/release (and DIR/root/release, for guest-initrd.sh). The source is unpacked once, beside it
set -eu
# below another make, the kernel's prints which folders it enters, and that would become a part of the release
unset MAKEFLAGS MFLAGS MAKELEVEL
top=$(cd "$(dirname "$0")/.." && pwd)
variants=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
source=$(dirname "$dir")/source
package=linux-source-6.12

[ -s "$dir/release" ] && [ -s "$dir/arch/x86/boot/bzImage" ] && exit 0
rm -f "$dir/release"

fetch_source() {
	tmp=$(mktemp -d "$(dirname "$source")/tmp.XXXXXX")
	chmod 755 "$tmp"
	(cd "$tmp" && apt-get download -q $package >apt.log 2>&1) || { cat "$tmp/apt.log" >&2; rm -rf "$tmp"; exit 1; }
	dpkg-deb -x "$tmp"/*.deb "$tmp/root"
	mkdir "$tmp/source"
	tar -xJf "$tmp/root/usr/src/$package.tar.xz" -C "$tmp/source" --strip-components=1
	mv "$tmp/source" "$source"
	rm -rf "$tmp"
}

(
	flock 9
	[ -d "$source" ] || fetch_source
) 9>"$source.lock"

# clang's kernels are built by LLVM as a whole
tools=
case ,$variants, in *,clang,*) tools=LLVM=${LLVM:--19} ;; esac
if [ -z "$tools" ] && command -v ccache >/dev/null 2>&1; then
	tools="CC=ccache\ gcc"
fi
# what a build tells of its maker must not differ between two builds
run_make() {
	eval KBUILD_BUILD_TIMESTAMP=2020-01-01 KBUILD_BUILD_USER=upto KBUILD_BUILD_HOST=guest \
		make -s -C '"$source"' O='"$dir"' $tools -j"$(nproc)" "$@"
}

exec 8>"$dir/log"
run_make tinyconfig >&8 2>&1
cat "$top/guest/kernels/small.config" >>"$dir/.config"
for variant in $(echo "$variants" | tr ',' ' '); do
	[ "$variant" = small ] || cat "$top/guest/kernels/$variant.config" >>"$dir/.config"
done
{
	run_make olddefconfig
	run_make bzImage
	! grep -q '^CONFIG_MODULES=y' "$dir/.config" || { run_make modules && run_make modules_install INSTALL_MOD_PATH=root; }
	run_make kernelrelease >"$dir/release.new"
} >&8 2>&1 || { tail -n 20 "$dir/log" >&2; exit 1; }
mkdir -p "$dir/root/lib/modules/$(cat "$dir/release.new")"
cp "$dir/release.new" "$dir/root/release"
mv "$dir/release.new" "$dir/release"
