/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the guest ended, for headings and closing lines. */
#ifndef UPTO_CLI_PRINT_ENDING_NOTE_H
#define UPTO_CLI_PRINT_ENDING_NOTE_H

#include "analysis/ending/ending.h"
#include "base/json.h"
#include "cli/args/open_trace.h"

/*
 * "powered off by poweroff (55), at 3.057000 s; on the way 1 oops". Nothing if nothing tells. Names in it are escaped.
 * Returns the moment whose stacks tell why, as --at takes it ("panic", "end"); NULL: none does.
 */
const char *ending_note(const struct trace_arg *t, const struct facts *facts, struct buf *out);

/* Append "\n# ended: " and that, and the command that shows more; nothing if nothing tells. */
void ending_note_put(const struct trace_arg *t, const struct facts *facts, struct buf *out);

/* "ending":{…},"troubles":[…]: see ENDING_TERMS. */
void ending_note_json(struct json *j, const struct trace_arg *t, const struct facts *facts);

#define ENDING_TERMS \
	{ \
		"ending", \
		"how the guest's life ended: how (power-off, restart, halt, panic; stopped: it ran on until QEMU ended; asked: until upto was told " \
		"to end it; outside: behind the part of a recording that the trace has; cut: the trace has no end; unknown), ns (when), quiet_ns (of stopped, asked and cut: no process ran from then on; null: one did, or it is not known), lockups (likewise: vCPUs that run on in the kernel and take no interrupt since since_ns, who runs and in which function), pid and comm (whose deed; null: nobody's, or not known), text (the kernel's line; null: none)" \
	}, \
	{ \
		"troubles", \
			"what the kernel complained of: kind (panic, oops, bug, warning, soft lockup, hard lockup, hung task, stall, out of memory), ns, " \
			"pid and comm (who ran), text" \
	}

#endif
