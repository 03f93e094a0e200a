/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "recording.h"

static int run(const struct args *args, struct error *err)
{
	cleanup_free char *log = realpath(args->operands[0], NULL);
	struct recording rec;

	if (!log)
		return error_set(err, "%s: %s", args->operands[0], strerror(errno)), EXIT_FAILED;
	recording_args(args, &rec);
	rec.log = log;
	rec.replays = true;
	return recording_run(&rec, err);
}

static const struct option options[] = {
	RECORDING_OUTPUT,
	RECORDING_MORE_OPTIONS,
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_replay = {
	.name = "replay",
	.operands = "LOG -- qemu-system-x86_64 ARGS…",
	.summary = "record a run that is over, from the log that QEMU kept of it",
	.description =
		"QEMU can log what comes into a guest from outside (-icount shift=0,rr=record,rrfile=LOG), and run the guest again as it ran. "
		"This records that: every call of a run that nobody traced, as often as wanted, with other probes and events each time. A run "
		"with the log alone costs less than half of what a recording in that mode does.\n"
		"ARGS are those of that run. Its disks have to hold what they held, and need a replay driver over each image and a filter at each "
		"network, as QEMU's manual of replay says; where the command line has none, they are put there, as 'upto record --replayable' "
		"does. Only QEMU of the same version reads the log.\n",
	.examples =
		"  qemu-system-x86_64 -icount shift=0,rr=record,rrfile=boot.replay -drive file=disk.img,if=none,snapshot=on,id=image \\\n"
		"      -drive driver=blkreplay,if=none,image=image,id=disk -device virtio-blk-pci,drive=disk -nic none …\n"
		"      a run with the log alone\n"
		"  upto replay boot.replay -o boot.upto -- qemu-system-x86_64 -drive file=disk.img,if=virtio -nic none …\n"
		"      its recording\n",
	.options = options,
	.min_operands = 1,
	.max_operands = 1,
	.rest = true,
	.run = run,
};
