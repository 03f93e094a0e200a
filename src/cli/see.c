/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "see.h"

#include <inttypes.h>

#include "terminal.h"

/* To the nanosecond: another one may be another thread's. */
static void put_time(struct buf *out, const char *option, uint64_t ns)
{
	buf_printf(out, " --%s %" PRIu64 ".%09us", option, ns / 1000000000, (unsigned)(ns % 1000000000));
}

static void put_rest(struct buf *out, const struct trace_arg *t, const struct thread *thread)
{
	if (thread && thread->pid > 0)
		buf_printf(out, " --pid %d", thread->pid);
	buf_put_u8(out, ' ');
	terminal_escape(out, t->reader->path);
}

void see_stack(struct buf *out, const struct trace_arg *t, uint64_t ns, const struct thread *thread)
{
	buf_printf(out, "upto stack");
	put_time(out, "at", ns);
	put_rest(out, t, thread);
}

void see_top(struct buf *out, const struct trace_arg *t, uint64_t from_ns, uint64_t to_ns, const struct thread *thread, int cpu)
{
	buf_printf(out, "upto top");
	put_time(out, "from", from_ns);
	put_time(out, "to", to_ns);
	if (cpu >= 0)
		buf_printf(out, " --cpu %d", cpu);
	put_rest(out, t, thread);
}
