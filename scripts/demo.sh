#!/bin/sh
# From nothing to answers: a guest, its recording, what it was up to, why that took as long as it did, which files it opened,
# and, of the run that is over, what nobody had asked for.
# KERNEL=… INITRD=… record the user's own.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
upto=$top/build/release/src/cli/upto
guest=$top/build/guest
trace=$top/build/demo.upto

if [ -n "${KERNEL:-}" ]; then
	kernel=$KERNEL initrd=${INITRD:-}
else
	# Debian 12's newer one, else what the release (Debian, then Ubuntu) offers, else this machine's own
	"$top/scripts/guest-kernel.sh" linux-image-6.12-amd64,linux-image-amd64,linux-image-generic "$guest/stock"
	initrd=$guest/demo.img
	[ "$initrd" -nt "$top/guest/demo.init" ] || "$top/scripts/guest-initrd.sh" "$guest/stock" "$top/guest/demo.init" "$initrd"
	kernel=$guest/stock/boot/vmlinuz-$(cat "$guest/stock/release")
fi

run() {
	echo
	printf '$ upto'
	for word; do
		case $word in *[\ \$\;\>]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
	done | sed "s|$top/||g"
	echo
	"$upto" "$@"
}
run boot --force -o "$trace" --deterministic --probe 'open=do_sys_openat2 filename:string' --probe 'opened=do_sys_openat2%return $retval:s32' \
	--memory 512M "$kernel" ${initrd:+"$initrd"} </dev/null
run top -n 20 "$trace"
run first -n 20 "$trace"
run syscalls -n 20 "$trace"
run why -n 12 "$trace"
run timeline "$trace"
run events --pair open,opened -n 20 "$trace"
run probe -n 3 "$trace" 'read=vfs_read file=file->f_path.dentry->d_iname:string count'
run events -e read --sum comm,file --value count -n 10 "$trace"
run run -e 'kprobe:vfs_* { @[probe] = count(); }' "$trace"
# and what is no guest: a program that was compiled for it, and, where root and tracefs are, this kernel
if command -v gcc >/dev/null; then
	words=$top/build/words
	printf '\n$ cc -g -O2 -finstrument-functions -o build/words tests/programs/words.c\n'
	gcc -g -O2 -finstrument-functions -o "$words" "$top/tests/programs/words.c"
	head -c 12000 "$top/COPYING" >"$words.txt"
	run exec --force -o "$words.upto" -- "$words" "$words.txt"
fi
if [ -w /sys/kernel/tracing/current_tracer ] && grep -q function_graph /sys/kernel/tracing/available_tracers; then
	run host record --force -o "$top/build/host.upto" --functions 'vfs_*' -- sleep 2
	run top -n 10 "$top/build/host.upto"
fi
# all of it to look at; where Node.js was not there to build the page with, a line says so
run report --force -o "${trace%.upto}.html" "$trace" || true
