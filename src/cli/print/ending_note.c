/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ending_note.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "terminal.h"

const char *ending_note(const struct trace_arg *t, const struct facts *facts, struct buf *out)
{
	struct buf text = { 0 }, troubles = { 0 };
	const char *moment;
	struct kernel_log log;
	struct error ignored;
	struct ending e;

	kernel_log_init(&log, facts, &t->reader->boots);
	ending_find(t->reader, &log, &e);
	ending_find_quiet(&t->session, &e, &ignored); /* what cannot be read is not known */
	if (e.how)
		ending_put(&e, &t->threads, &text);
	ending_put_troubles(&e, &troubles);
	if (troubles.len)
		buf_printf(&text, "%son the way %.*s", text.len ? "; " : "", (int)troubles.len, (char *)troubles.data);
	buf_put_u8(&text, 0);
	terminal_escape(out, (char *)text.data);
	moment = e.how == ENDED_PANIC ? "panic" : e.quiet_ns != UINT64_MAX ? "end" : NULL;
	ending_deinit(&e);
	kernel_log_deinit(&log);
	buf_free(&troubles);
	buf_free(&text);
	return moment;
}

static void put_who(const struct trace_arg *t, uint64_t task, uint64_t ns)
{
	const struct task_record *r = task ? threads_record(&t->threads, task, ns) : NULL;

	if (r && r->pid != TASK_PID_UNKNOWN)
		printf(",\"pid\":%d,\"comm\":", r->pid);
	else
		printf(",\"pid\":null,\"comm\":");
	if (r && r->pid != TASK_PID_UNKNOWN)
		json_string(stdout, r->comm);
	else
		printf("null");
}

static void put_text(const char *text)
{
	printf(",\"text\":");
	if (text)
		json_string(stdout, text);
	else
		printf("null");
	putchar('}');
}

void ending_note_json(const struct trace_arg *t, const struct facts *facts)
{
	struct kernel_log log;
	struct error ignored;
	struct ending e;

	kernel_log_init(&log, facts, &t->reader->boots);
	ending_find(t->reader, &log, &e);
	ending_find_quiet(&t->session, &e, &ignored);
	printf("\"ending\":{\"how\":\"%s\",\"ns\":%" PRIu64, ending_how_name(e.how), e.ns);
	if (e.quiet_ns == UINT64_MAX)
		printf(",\"quiet_ns\":null");
	else
		printf(",\"quiet_ns\":%" PRIu64, e.quiet_ns);
	put_who(t, e.task, e.ns);
	put_text(e.text);
	printf(",\"troubles\":[");
	for (size_t i = 0; i < e.n_troubles; i++) {
		printf("%s{\"kind\":\"%s\",\"ns\":%" PRIu64, i ? "," : "", trouble_name(e.troubles[i].kind),
		       e.troubles[i].ns);
		put_who(t, e.troubles[i].task, e.troubles[i].ns);
		put_text(e.troubles[i].text);
	}
	putchar(']');
	ending_deinit(&e);
	kernel_log_deinit(&log);
}
