#!/bin/sh
# From nothing to three answers: a guest, its recording, and what it was up to.
# KERNEL=… INITRD=… record the user's own.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
upto=$top/build/release/src/cli/upto
guest=$top/build/guest
trace=$top/build/demo.upto

if [ -n "${KERNEL:-}" ]; then
	kernel=$KERNEL initrd=${INITRD:-}
else
	"$top/scripts/guest-kernel.sh" linux-image-6.12-amd64 "$guest/6.12"
	initrd=$guest/demo.img
	[ "$initrd" -nt "$top/guest/demo.init" ] || "$top/scripts/guest-initrd.sh" "$guest/6.12" "$top/guest/demo.init" "$initrd"
	kernel=$guest/6.12/boot/vmlinuz-$(cat "$guest/6.12/release")
fi

run() {
	echo
	echo "\$ upto $*" | sed "s|$top/||g"
	"$upto" "$@"
}
run boot --force -o "$trace" --memory 512M "$kernel" ${initrd:+"$initrd"} </dev/null
run top -n 20 "$trace"
run first -n 20 "$trace"
run syscalls -n 20 "$trace"
