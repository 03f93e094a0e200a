/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "arch/x86_syscalls.h"
#include "arch/x86_vectors.h"
#include "base/alloc.h"
#include "commands.h"
#include "terminal.h"
#include "trace_arg.h"

/* What decides on what an address is called: when, and in which address space. */
struct scene {
	const struct names *names;
	uint64_t ns;
	uint32_t version;
};

static void put_place(struct buf *out, const struct scene *scene, const char *before, uint64_t addr)
{
	buf_printf(out, "%s", before);
	names_address(scene->names, addr, scene->ns, scene->version, out);
}

static void put_interrupt(struct buf *out, const struct scene *scene, const struct event *e)
{
	/* firmware uses the low vectors for its own calls */
	const char *name = e->ns >= scene->names->kernel_ns ? x86_vector_name(e->args[0]) : NULL;

	if (name)
		buf_printf(out, " %s", name);
	else
		buf_printf(out, " vector %" PRIu64, e->args[0]);
	put_place(out, scene, " at ", e->from);
	put_place(out, scene, " -> ", e->target);
	if (e->args[1])
		buf_printf(out, " error 0x%" PRIx64, e->args[1]);
}

static void put_syscall(struct buf *out, const struct event *e)
{
	const char *name = x86_syscall_name(e->args[0]);

	if (name)
		buf_printf(out, " %s(", name);
	else
		buf_printf(out, " %" PRIu64 "(", e->args[0]);
	for (int i = 1; i < 7; i++)
		buf_printf(out, "%s0x%" PRIx64, i > 1 ? ", " : "", e->args[i]);
	buf_printf(out, ")");
}

static void put_details(struct buf *out, const struct scene *scene, const struct event *e)
{
	switch (e->kind) {
	case EVENT_CALL:
	case EVENT_CALL_INDIRECT:
		put_place(out, scene, " ", e->target);
		put_place(out, scene, " from ", e->from);
		buf_printf(out, " slot 0x%" PRIx64, e->slot);
		break;
	case EVENT_RETURN:
		put_place(out, scene, " to ", e->target);
		buf_printf(out, " slot 0x%" PRIx64, e->slot);
		break;
	case EVENT_JUMP:
	case EVENT_JUMP_INDIRECT:
		put_place(out, scene, " ", e->target);
		put_place(out, scene, " from ", e->from);
		break;
	case EVENT_ARRIVE:
		put_place(out, scene, " ", e->target);
		break;
	case EVENT_INTERRUPT_RETURN:
		put_place(out, scene, " to ", e->target);
		buf_printf(out, " cs 0x%" PRIx64 " slot 0x%" PRIx64, e->args[0], e->slot);
		break;
	case EVENT_INTERRUPT:
		put_interrupt(out, scene, e);
		break;
	case EVENT_SYSCALL:
		put_syscall(out, e);
		break;
	case EVENT_SYSCALL_RETURN:
		buf_printf(out, " = %" PRId64, (int64_t)e->args[0]);
		put_place(out, scene, " to ", e->target);
		break;
	case EVENT_TASK_SWITCH:
		buf_printf(out, " 0x%" PRIx64 " -> 0x%" PRIx64, e->args[0], e->args[1]);
		break;
	case EVENT_ADDRESS_SPACE:
		buf_printf(out, " 0x%" PRIx64, e->args[0]);
		break;
	case EVENT_GAP:
		buf_printf(out, " %" PRIu64 " events lost", e->args[0]);
		break;
	default:
		break;
	}
}

static void put_json(struct buf *out, const struct scene *scene, const struct event *e, unsigned cpu)
{
	buf_printf(out, "{\"ns\":%" PRIu64 ",\"insns\":%" PRIu64 ",\"cpu\":%u,\"kind\":\"%s\"", e->ns, e->insns, cpu,
		   event_kind_name(e->kind));
	if (e->slot)
		buf_printf(out, ",\"slot\":%" PRIu64, e->slot);
	if (e->from)
		buf_printf(out, ",\"from\":%" PRIu64, e->from);
	if (e->target) {
		buf_printf(out, ",\"target\":%" PRIu64 ",\"place\":\"", e->target);
		names_address(scene->names, e->target, scene->ns, scene->version, out);
		buf_put_u8(out, '"');
	}
	for (unsigned i = 0; i < event_n_args(e->kind); i++)
		buf_printf(out, "%s%" PRIu64, i ? "," : ",\"args\":[", e->args[i]);
	buf_printf(out, event_n_args(e->kind) ? "]}\n" : "}\n");
}

static void put_text(struct buf *out, const struct scene *scene, const struct event *e, unsigned cpu)
{
	buf_printf(out, "%4" PRIu64 ".%09" PRIu64 " %12" PRIu64 " [%u] %s", e->ns / 1000000000, e->ns % 1000000000,
		   e->insns, cpu, event_kind_name(e->kind));
	put_details(out, scene, e);
	buf_put_u8(out, '\n');
}

/* --kind call,return,…: a bit for each kind. */
static int kinds_arg(const struct args *args, uint32_t *ret, struct error *err)
{
	const char *list = arg(args, "kind");
	uint32_t kinds = 0;

	while (list && *list) {
		size_t len = strcspn(list, ",");
		int k = 1;

		while (k < EVENT_KINDS && (strlen(event_kind_name((enum event_kind)k)) != len ||
					   strncmp(event_kind_name((enum event_kind)k), list, len)))
			k++;
		if (k == EVENT_KINDS)
			return error_set(err, "--kind %.*s: no such kind of event; 'upto info TRACE' lists them", (int)len,
					 list);
		kinds |= 1u << k;
		list += len + (list[len] == ',');
	}
	*ret = kinds ? kinds : UINT32_MAX;
	return 0;
}

static bool enters(struct name_cache *cache, struct space_view *view, uint64_t task, const struct event *e,
		   const bool *functions)
{
	struct place place;

	if (!e->target)
		return false;
	place = name_cache_place(cache, view, task, e->target, e->ns);
	return place.at & AT_START && functions[place.function];
}

static int dump(const struct args *args, const struct trace_arg *t, const struct span *span, uint32_t kinds,
		const bool *functions, uint64_t left, struct error *err)
{
	struct merged *m = merged_new(t->reader, span);
	struct name_cache *cache = xmalloc(sizeof *cache);
	struct space_view view = { 0 };
	struct scene scene = { .names = &t->names };
	bool json = arg(args, "json");
	struct buf line = { 0 };
	const struct event *e;
	unsigned cpu;
	int r = 0;

	name_cache_init(cache, &t->names);
	t->reader->progress = NULL; /* its output is progress enough */
	if (!left)
		left = UINT64_MAX;
	while (r >= 0 && left && (r = merged_next(m, &e, &cpu, err)) > 0) {
		if (!(kinds >> e->kind & 1) || (functions && !enters(cache, &view, merged_task(m, cpu), e, functions)))
			continue;
		left--;
		line.len = 0;
		scene.ns = e->ns;
		scene.version = spaces_at(&t->names.spaces, &view, merged_task(m, cpu), e->ns);
		if (json)
			put_json(&line, &scene, e, cpu);
		else
			put_text(&line, &scene, e, cpu);
		if (fwrite(line.data, 1, line.len, stdout) != line.len)
			break; /* main says why */
	}
	buf_free(&line);
	free(cache);
	merged_free(m);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int run(const struct args *args, struct error *err)
{
	struct trace_arg t;
	struct span span;
	uint64_t left = 0;
	bool *functions = NULL;
	uint32_t kinds = 0;
	int r = EXIT_FAILED;

	if (span_arg(args, &span, err) < 0 || kinds_arg(args, &kinds, err) < 0 || arg_u64(args, "lines", &left, err) < 0)
		return EXIT_USAGE;
	if (trace_arg_open(args->operands[0], &t, err) < 0)
		return EXIT_FAILED;
	if (functions_arg(arg(args, "function"), &t.names, &functions, err) == 0) {
		if (!arg(args, "json"))
			terminal_start_pager();
		r = dump(args, &t, &span, kinds, functions, left, err);
		free(functions);
	}
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 0, "json", NULL, "print one JSON object a line" },
	{ 'n', "lines", "N", "stop after N events; 0: all (default)" },
	{ 'F', "function", "NAMES", "only what leads to the first instruction of these functions" },
	{ 'k', "kind", "KINDS", "only events of these kinds, e.g. interrupt,syscall" },
	SPAN_OPTIONS,
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_dump = {
	.name = "dump",
	.operands = "TRACE",
	.summary = "print every event as text, a line each",
	.description = "A line has guest time, instructions retired, [vCPU], the event's kind and what it is about. "
		       "Streams: the first line comes at once however long the trace.\n",
	.examples = "  upto dump -n 100 trace.upto\n      the first events after reset\n"
		    "  upto dump --from 1.2s --to 1.201s trace.upto\n      all that happened in a millisecond\n"
		    "  upto dump --kind interrupt trace.upto\n      the interrupts and exceptions\n",
	.options = options,
	.min_operands = 1, .max_operands = 1,
	.run = run,
};
