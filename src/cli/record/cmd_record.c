/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "base/alloc.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "cli/commands/run_script.h"
#include "cli/print/output_file.h"
#include "recording.h"
#include "recording_script.h"

static int run(const struct args *args, struct error *err)
{
	struct recording rec;

	cleanup_free char *log = NULL;

	recording_args(args, &rec);
	rec.said = arg(args, "said");
	if (arg(args, "replayable")) {
		log = recording_log(rec.output);
		/* it may be that of another trace, which had this name before */
		if (output_file_check(log, OUTPUT_TRACE, rec.force, NULL, err) < 0)
			return EXIT_FAILED;
		rec.log = log;
		fprintf(stderr, "upto: %s: QEMU's log of what comes from outside; disks stay as they are\n", log);
	}
	return recording_script_run(&rec, err);
}

static const struct option options[] = {
	RECORDING_OUTPUT,
	SCRIPT_OPTION,
	{ 0, "replayable", NULL,
	  "guests with disks and networks repeat, too: QEMU logs what comes from outside, to TRACE.replay" },
	{ 0, "said", "FILE",
	  "what upto says goes to the end of this file, so that what the guest's starter reads is QEMU's alone" },
	RECORDING_OPTIONS,
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_record = {
	.name = "record",
	.operands = "-- qemu-system-x86_64 ARGS…",
	.summary = "record every function call of a guest, from reset to power-off",
	.description =
		"Runs the QEMU command line behind -- with the recorder added. The guest needs no preparation. "
		"Kernel symbols come from the kernel given with -kernel, or out of guest memory. --symbols takes files with colons between them. "
		"With FILE@ADDRESS the file's .text lies at that address; what was relocated is found without one.\n"
		"Ctrl-C, or a signal to upto, ends guest and trace in order. QEMU's exit status is passed on; it is 1 if the trace was cut short though QEMU ended well.\n"
		"With --start little is watched until the condition holds, and after --stop. " SELECT_WHOSE
		"If the kernel has none of the name, all is recorded from when it is known; with MODULE:FUNCTION or PROGRAM:FUNCTION from when "
		"that is loaded. Names that the kernel given with -kernel does not have are told while it boots; kernel:FUNCTION that it does not "
		"have is an error at once. With --before what is recorded stays in memory, and is forgotten when it is older than that; with --every, again "
		"behind each --stop.\n"
		"--replayable has QEMU log what comes into the guest from outside (its record/replay): one vCPU, a counter of instructions, a "
		"replay driver over each disk, which stays as it is, and a filter at each network. 'upto probe TRACE' then runs the guest again.\n"
		"--kfi takes configurations of KFI and KFT as they are. A trace has no log that fills up, so that logentries and overwrite limit "
		"nothing ('upto thin --limit N --keep last' does); untimed has no meaning, since each entry and exit has its time; and for watch "
		"stack and watch worst-stack nothing has to be asked for: 'upto ps --stack-watch' and 'upto stack --deepest' show what stacks were "
		"used; autorepeat repeats nothing in a run without both triggers. That is said as recording begins.\n",
	.examples =
		"  upto record -- qemu-system-x86_64 -m 1G -kernel vmlinuz -initrd initrd.img\n      record a boot\n"
		"  upto record -o disk.upto -- qemu-system-x86_64 -m 1G -drive file=disk.img\n"
		"      a kernel from a disk: its symbols are read from memory\n"
		"  upto record --symbols out/rom.o:out/rom16.o -- qemu-system-x86_64 -bios out/bios.bin -kernel vmlinuz …\n"
		"      SeaBIOS and Linux, both by name\n"
		"  upto record --deterministic -- qemu-system-x86_64 -kernel vmlinuz\n"
		"      twice the same events when run twice\n"
		"  upto record --start entry:ext4_fill_super --stop exit:ext4_fill_super -- qemu-system-x86_64 …\n"
		"      only a span; the guest runs at its usual speed before and after it\n"
		"  upto record -e 'kprobe:path_mount { printf(\"%d %s\\n\", nsecs, comm); }' -- qemu-system-x86_64 …\n"
		"      a program in handlers: what it prints comes while the guest runs, and exit() ends both\n"
		"  upto record --start 'log:BUG:' --before 2s -- qemu-system-x86_64 …\n"
		"      a flight recorder: two seconds up to the first such line of the kernel's log, and what follows it\n",
	.options = options,
	.rest = true,
	.prepare = recording_script_prepare,
	.run = run,
};
