#!/bin/sh
# Make an initramfs: busybox, an init, and kernel modules with everything that they depend on.
# usage: guest-initrd.sh KERNEL-DIR INIT OUT [-m MODULE]… [FILE=PATH-IN-GUEST]…
#   KERNEL-DIR  as guest-kernel.sh leaves it
#   INIT        the script that becomes /init; "#modules: a b c" in it names modules to pack
set -eu
kernel=$1 init=$2 out=$3
shift 3
release=$(cat "$kernel/release")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/mnt" "$root/tmp" "$root/modules"
if [ -x "$kernel/bin/busybox" ]; then
	cp "$kernel/bin/busybox" "$root/bin/busybox"
else
	cp "$(command -v busybox)" "$root/bin/busybox"
fi
ln -s busybox "$root/bin/sh"
cp "$init" "$root/init"
chmod 755 "$root/init"

# modules go in uncompressed and listed in load order, so that plain insmod serves
for module in $(sed -n 's/^#modules: //p' "$init"); do
	PATH=$PATH:/sbin:/usr/sbin modprobe -d "$kernel" -S "$release" --show-depends "$module"
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
	name=$(basename "$file" | sed 's/\.ko\..*/.ko/')
	case $file in
	*.gz) gzip -dc "$file" ;;
	*.xz) xz -dc "$file" ;;
	*.zst) zstd -qdc "$file" ;;
	*) cat "$file" ;;
	esac >"$root/modules/$name"
	echo "$name" >>"$root/modules/order"
done

for add in "$@"; do
	file=${add%%=*} path=${add#*=}
	mkdir -p "$root/$(dirname "$path")"
	cp -L "$file" "$root/$path"
done

(cd "$root" && find . | LC_ALL=C sort | cpio --quiet -o -H newc --reproducible --owner 0:0) | gzip -1n >"$out.tmp"
mv "$out.tmp" "$out"
