/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ending_note.h"

#include <string.h>

#include "see.h"
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
	ending_find_hang(&t->session, &e, &ignored); /* what cannot be read is not known */
	if (e.how)
		ending_put(&e, &t->session, &text);
	ending_put_troubles(&e, &troubles);
	if (troubles.len)
		buf_printf(&text, "%son the way %.*s", text.len ? "; " : "", (int)troubles.len, (char *)troubles.data);
	buf_put_u8(&text, 0);
	terminal_escape(out, (char *)text.data);
	moment = e.how == ENDED_PANIC ? "panic" : e.quiet_ns != UINT64_MAX || e.lockups.count ? "end" : NULL;
	ending_deinit(&e);
	kernel_log_deinit(&log);
	buf_free(&troubles);
	buf_free(&text);
	return moment;
}

void ending_note_put(const struct trace_arg *t, const struct facts *facts, struct buf *out)
{
	struct buf text = { 0 };
	const char *moment = ending_note(t, facts, &text);

	if (text.len)
		buf_printf(out, "\n# ended: %.*s", (int)text.len, (char *)text.data);
	if (moment) {
		buf_printf(out, "\n#   see: upto stack --at %s ", moment);
		see_path(out, t->reader->path);
	}
	buf_free(&text);
}

static void put_who(struct json *j, const struct trace_arg *t, uint64_t task, uint64_t ns)
{
	const struct task_record *r = task ? threads_record(&t->threads, task, ns) : NULL;

	if (r && r->pid != TASK_PID_UNKNOWN) {
		json_signed(j, "pid", r->pid);
		json_text(j, "comm", r->comm);
	} else {
		json_null(j, "pid");
		json_null(j, "comm");
	}
}

static void put_trouble(struct json *j, const struct trace_arg *t, const struct trouble *trouble)
{
	json_object(j, NULL);
	json_text(j, "kind", trouble_name(trouble->kind));
	json_number(j, "ns", trouble->ns);
	put_who(j, t, trouble->task, trouble->ns);
	json_text(j, "text", trouble->text);
	json_close(j);
}

static void put_lockups(struct json *j, const struct trace_arg *t, const struct lockups *lockups)
{
	const char *function;

	json_array(j, "lockups");
	for (size_t i = 0; i < lockups->count; i++) {
		const struct lockup *l = &lockups->list[i];

		json_object(j, NULL);
		json_number(j, "cpu", l->cpu);
		json_number(j, "since_ns", l->since_ns);
		put_who(j, t, l->task, l->since_ns);
		function = names_function(&t->names, names_place(&t->names, l->place, l->since_ns, 0).function);
		json_text(j, "function", function);
		json_close(j);
	}
	json_close(j);
}

void ending_note_json(struct json *j, const struct trace_arg *t, const struct facts *facts)
{
	struct kernel_log log;
	struct error ignored;
	struct ending e;

	kernel_log_init(&log, facts, &t->reader->boots);
	ending_find(t->reader, &log, &e);
	ending_find_hang(&t->session, &e, &ignored);
	json_object(j, "ending");
	json_text(j, "how", ending_how_name(e.how));
	json_number(j, "ns", e.ns);
	json_known(j, "quiet_ns", e.quiet_ns != UINT64_MAX, e.quiet_ns);
	put_lockups(j, t, &e.lockups);
	put_who(j, t, e.task, e.ns);
	json_text(j, "text", e.text);
	json_close(j);
	json_array(j, "troubles");
	for (size_t i = 0; i < e.n_troubles; i++)
		put_trouble(j, t, &e.troubles[i]);
	json_close(j);
	ending_deinit(&e);
	kernel_log_deinit(&log);
}
