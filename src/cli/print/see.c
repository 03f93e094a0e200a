/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "see.h"

#include <inttypes.h>
#include <string.h>

#include "terminal.h"

/* To the nanosecond: another one may be another thread's. */
static void put_time(struct buf *out, const char *option, uint64_t ns)
{
	buf_printf(out, " --%s %" PRIu64 ".%09us", option, ns / 1000000000, (unsigned)(ns % 1000000000));
}

static bool is_plain_word(const char *path)
{
	return *path && *path != '-' &&
	       !path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+,:@%=-")];
}

void see_path(struct buf *out, const char *path)
{
	struct buf quoted = { 0 };

	if (is_plain_word(path)) {
		buf_printf(out, "%s", path);
		return;
	}
	/* also where it begins with a '-', of which no quotes take the meaning */
	buf_printf(&quoted, *path == '-' ? "'./" : "'");
	for (; *path; path++) {
		if (*path == '\'')
			buf_printf(&quoted, "'\\''");
		else
			buf_put_u8(&quoted, (uint8_t)*path);
	}
	buf_put_u8(&quoted, '\'');
	buf_put_u8(&quoted, 0);
	terminal_escape(out, (const char *)quoted.data);
	buf_free(&quoted);
}

char *see_path_text(const char *path)
{
	struct buf text = { 0 };

	see_path(&text, path);
	buf_put_u8(&text, 0);
	return (char *)text.data;
}

static void put_rest(struct buf *out, const struct trace_arg *t, const struct thread *thread)
{
	if (thread && thread->pid > 0)
		buf_printf(out, " --pid %d", thread->pid);
	buf_put_u8(out, ' ');
	see_path(out, t->reader->path);
}

void see_stack(struct buf *out, const struct trace_arg *t, uint64_t ns, const struct thread *thread)
{
	buf_printf(out, "upto stack");
	put_time(out, "at", ns);
	put_rest(out, t, thread);
}

void see_top(struct buf *out, const struct trace_arg *t, uint64_t from_ns, uint64_t to_ns, const struct thread *thread,
	     int cpu)
{
	buf_printf(out, "upto top");
	put_time(out, "from", from_ns);
	put_time(out, "to", to_ns);
	if (cpu >= 0)
		buf_printf(out, " --cpu %d", cpu);
	put_rest(out, t, thread);
}
