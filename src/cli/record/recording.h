/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs QEMU with the recorder, from the command line to the summary at the end. */
#ifndef UPTO_CLI_RECORD_RECORDING_H
#define UPTO_CLI_RECORD_RECORDING_H

#include <stdbool.h>

#include "beside.h"
#include "cli/command.h"
#include "cli/print/output_file.h"
#include "recording_choice.h"

struct recording {
	const char *output;
	const char *said;      /* file that gets what upto says; NULL: stderr does */
	const char *sysroot;   /* NULL: none named */
	const char *inside;    /* NULL: all that is known of this QEMU; else qemu_inside()'s `asked` */
	bool force;
	bool deterministic;
	/* QEMU's own log (qemu_replay.h), absolute, which is written, or, `replays`, read; NULL: none */
	const char *log;
	bool replays;
	const char *changed;   /* words that upto adds to the kernel's command line; NULL: none */
	bool quiet;
	bool thunks;           /* with what thunks do, step by step */
	bool costs;            /* say what reading the kernel's own structures took */
	/*
	 * it runs again what was recorded before: what it says nobody sees, disks stay as they are, and QEMU is ended
	 * behind the span of --stop
	 */
	bool again;
	struct beside *beside; /* NULL: nothing runs beside the guest. If it ends well, so does the guest */
	const struct args *args; /* of the command: what was chosen (recording_choice.h) */
	char **argv;           /* QEMU's command line, NULL-terminated */
};

/* The options of record and boot that set the members; of run, those that set all but the output. */
#define RECORDING_OUTPUT                                                                      \
	{ 'o', "output", "FILE", "the trace (default: trace.upto)" },                         \
	FORCE_OPTION("trace")
#define RECORDING_OPTIONS \
	{ 0, "deterministic", NULL, "the same guest gives the same events: adds -icount, -rtc and -seed" }, \
		RECORDING_MORE_OPTIONS
/* The options that also a replay of QEMU's log has. */
#define RECORDING_MORE_OPTIONS \
	{ 0, "symbols", "FILES", \
		  "more names: vmlinux, System.map; ELF files of firmware, boot loaders, other kernels: FILE or FILE@ADDRESS", \
		  ':' }, \
		{ 0, "types", "FILE", \
		  "where the kernel keeps things: BTF, an ELF file with BTF or debug information; \"learn\": the guest alone" }, \
		{ 0, "sysroot", "ROOTS", \
		  "where the guest's files are, for the names of their functions: folders, images of file systems, initramfs", \
		  ':' }, \
		{ 0, "qemu-inside", "LIST", \
		  "what to use of QEMU beside its interface: all, none, or clock,shutdown,suspend,values,registers,stores,turns", \
		  ',' }, \
		{ 0, "args", "NAMES", \
		  "what functions are given and give back: a,b; shell patterns: *open*; a program's: /lib/libc.so.6:open*", ',' }, \
		{ 0, "event", "NAMES", \
		  "trace events of the kernel, whether the guest has enabled them or not: sched:*,block_rq_issue", ',' }, \
		{ 0, "probe", "DEF", \
		  "values at any instruction of the kernel, as perf probe and kprobe_events say it: 'vfs_read count'", '\n' }, \
		{ 0, "debug", "FILES", \
		  "for --probe, --args: files with debug information, of the kernel (vmlinux), modules, programs", \
		  ':' }, \
		{ 0, "event-check", NULL, "with --event: also compute what the guest has enabled, so that both can be compared" }, \
		{ 0, "thunks", NULL, \
		  "also each step of what only passes calls and returns on, which top --thunks shows: a third more events" }, \
		{ 0, "costs", NULL, \
		  "at the end, what was read from the kernel's own structures, how often and how long that took" }, \
		{ 'q', "quiet", NULL, "no status line and no summary" }, RECORDING_CHOICE

/* Where QEMU's log of a recording goes: TRACE.replay, from whatever folder. The caller frees it. */
char *recording_log(const char *output);

void recording_args(const struct args *args, struct recording *ret);

/* Record. Returns QEMU's exit status (128 + signal if it was killed), or EXIT_FAILED / EXIT_USAGE with an error. */
int recording_run(const struct recording *rec, struct error *err);

#endif
