/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "cli/args/select_arg.h"
#include "cli/args/trace_arg.h"
#include "cli/args/trace_has.h"
#include "cli/args/trace_lacks.h"
#include "cli/commands.h"
#include "cli/print/empty.h"
#include "cli/print/json_output.h"
#include "cli/print/terminal.h"

/* What decides on what an address is called: when, and in which address space. */
struct scene {
	const struct arch *arch;
	const struct names *names;
	const struct threads *threads;
	uint64_t ns;
	uint32_t version;
	struct buf *scratch; /* for names as they are */
	bool no_insns;       /* the trace has none */
};

/* The address's name as it is, which lasts until the next. */
static const char *raw_name(const struct scene *scene, uint64_t addr)
{
	scene->scratch->len = 0;
	names_address(scene->names, addr, scene->ns, scene->version, scene->scratch);
	buf_put_u8(scene->scratch, 0);
	return (char *)scene->scratch->data;
}

static void put_place(struct buf *out, const struct scene *scene, const char *before, uint64_t addr)
{
	buf_printf(out, "%s", before);
	terminal_escape(out, raw_name(scene, addr));
}

static void put_interrupt(struct buf *out, const struct scene *scene, const struct event *e)
{
	/* firmware uses the low vectors for its own calls */
	const char *name =
		names_before_kernel(scene->names, e->ns) ? NULL : scene->arch->interrupt_name(e->args[0]);

	if (name)
		buf_printf(out, " %s", name);
	else
		buf_printf(out, " vector %" PRIu64, e->args[0]);
	put_place(out, scene, " at ", e->from);
	put_place(out, scene, " -> ", e->target);
	if (e->args[1])
		buf_printf(out, " error 0x%" PRIx64, e->args[1]);
}

static void put_syscall(struct buf *out, const struct scene *scene, const struct event *e)
{
	const struct syscall_abi *abi = arch_abi(scene->arch, e->args[7]);
	const char *name = abi->call_name(e->args[0]);

	if (name)
		buf_printf(out, " %s(", name);
	else
		buf_printf(out, " %" PRIu64 "(", e->args[0]);
	for (int i = 1; i < 7; i++)
		buf_printf(out, "%s0x%" PRIx64, i > 1 ? ", " : "", e->args[i]);
	buf_printf(out, abi == scene->arch->abis ? ")" : ") by %s", abi->name);
}

/* Who has that task_struct. NULL: not known. */
static const struct thread *thread_of(const struct scene *scene, uint64_t task)
{
	long i = task ? threads_find(scene->threads, task, scene->ns) : THREAD_NONE;

	return i == THREAD_NONE ? NULL : &scene->threads->list[i];
}

/* PID and name; of a task that the trace tells nothing of, its address. */
static void put_task(struct buf *out, const struct scene *scene, uint64_t task)
{
	const struct thread *t = thread_of(scene, task);

	if (!t) {
		buf_printf(out, "0x%" PRIx64, task);
		return;
	}
	buf_printf(out, "%d ", t->pid);
	terminal_escape(out, threads_comm(scene->threads, t, scene->ns));
}

static void put_task_json(struct json *j, const struct scene *scene, const char *key, uint64_t task)
{
	const struct thread *t = thread_of(scene, task);

	if (!t) {
		json_null(j, key);
		return;
	}
	json_object(j, key);
	json_signed(j, "pid", t->pid);
	json_text(j, "comm", threads_comm(scene->threads, t, scene->ns));
	json_close(j);
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
		put_syscall(out, scene, e);
		break;
	case EVENT_SYSCALL_RETURN:
		buf_printf(out, " = %" PRId64, (int64_t)e->args[0]);
		put_place(out, scene, " to ", e->target);
		break;
	case EVENT_TASK_SWITCH:
		buf_put_u8(out, ' ');
		put_task(out, scene, e->args[0]);
		buf_printf(out, " -> ");
		put_task(out, scene, e->args[1]);
		break;
	case EVENT_ADDRESS_SPACE:
		buf_printf(out, " 0x%" PRIx64, e->args[0]);
		break;
	case EVENT_GAP:
		if (e->args[GAP_REASON] == GAP_NOT_ASKED)
			buf_printf(out, " not asked for");
		else
			buf_printf(out, " %" PRIu64 " events lost", e->args[GAP_LOST]);
		put_place(out, scene, " now in ", e->args[GAP_PLACE]);
		break;
	default:
		break;
	}
}

static void put_json(struct json *j, const struct scene *scene, const struct event *e, unsigned cpu)
{
	json_object(j, NULL);
	json_number(j, "ns", e->ns);
	json_known(j, "insns", !scene->no_insns, e->insns);
	json_number(j, "cpu", cpu);
	json_text(j, "kind", event_kind_name(e->kind));
	if (e->slot)
		json_address(j, "slot", e->slot);
	if (e->from)
		json_address(j, "from", e->from);
	if (e->target) {
		json_address(j, "target", e->target);
		json_text(j, "place", raw_name(scene, e->target));
	}
	if (e->kind == EVENT_TASK_SWITCH) {
		put_task_json(j, scene, "previous", e->args[0]);
		put_task_json(j, scene, "next", e->args[1]);
	}
	if (event_n_args(e->kind))
		json_array(j, "args");
	for (unsigned i = 0; i < event_n_args(e->kind); i++)
		json_address(j, NULL, e->args[i]);
	if (event_n_args(e->kind))
		json_close(j);
	if (e->kind == EVENT_SYSCALL)
		json_text(j, "abi", arch_abi(scene->arch, e->args[7])->name);
	json_close(j);
}

static void put_text(struct buf *out, const struct scene *scene, const struct event *e, unsigned cpu)
{
	buf_printf(out, "%4" PRIu64 ".%09" PRIu64, e->ns / 1000000000, e->ns % 1000000000);
	if (!scene->no_insns)
		buf_printf(out, " %12" PRIu64, e->insns);
	buf_printf(out, " [%u] %s", cpu, event_kind_name(e->kind));
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
			return error_set(err, "--kind %.*s: no such kind of event; 'upto info TRACE' lists them",
					 (int)len, list);
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

/* Does the event belong to one of the threads? A switch does to both. */
static bool is_of_threads(const bool *marks, const struct threads *threads, uint64_t task, const struct event *e)
{
	bool is_switch = e->kind == EVENT_TASK_SWITCH;

	for (int i = 0; i < (is_switch ? 2 : 1); i++) {
		uint64_t who = is_switch ? e->args[i] : task;
		long thread = who ? threads_find(threads, who, e->ns) : THREAD_NONE;

		if (thread != THREAD_NONE && marks[thread])
			return true;
	}
	return false;
}

static int dump(const struct args *args, const struct trace_arg *t, const struct span *span, uint32_t kinds,
		const bool *functions, uint64_t left, struct error *err)
{
	struct merged *m = merged_new(t->reader, span);
	struct name_cache *cache = xmalloc(sizeof *cache);
	struct space_view view = { 0 };
	struct buf line = { 0 }, scratch = { 0 };
	struct scene scene = { .arch = t->reader->arch, .names = &t->names, .threads = &t->threads, .scratch = &scratch,
			       .no_insns = trace_lacks(t, "instructions") };
	bool json = arg(args, "json");
	const struct event *e;
	struct json j;
	bool *threads = trace_chosen_threads(args, t);
	unsigned cpu;
	size_t columns = json || arg(args, "wide") ? 0 : terminal_columns();
	bool any = false;
	int r = 0;

	json_output_begin(&j);
	name_cache_init(cache, &t->names);
	t->reader->progress = NULL; /* its output is progress enough */
	if (!left)
		left = UINT64_MAX;
	while (r >= 0 && left && (r = merged_next(m, &e, &cpu, err)) > 0) {
		if (!(kinds >> e->kind & 1) || (functions && !enters(cache, &view, merged_task(m, cpu), e, functions)))
			continue;
		if (threads && !is_of_threads(threads, &t->threads, merged_task(m, cpu), e))
			continue;
		left--;
		any = true;
		scene.ns = e->ns;
		scene.version = spaces_at(&t->names.spaces, &view, merged_task(m, cpu), e->ns);
		if (json) {
			put_json(&j, &scene, e, cpu);
		} else {
			line.len = 0;
			put_text(&line, &scene, e, cpu);
			terminal_print(&line, columns);
		}
		if (ferror(stdout))
			break; /* main says why */
	}
	json_output_end(&j);
	if (r >= 0 && !any)
		empty_say(args, t, "events");
	buf_free(&line);
	buf_free(&scratch);
	free(cache);
	free(threads);
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

	if (span_arg(args, &span, err) < 0 || kinds_arg(args, &kinds, err) < 0 ||
	    arg_u64(args, "lines", &left, err) < 0)
		return EXIT_USAGE;
	if (trace_arg_open(args, &t, err) < 0)
		return EXIT_FAILED;
	if (functions_arg(args, &t.names, &functions, err) == 0) {
		if (!arg(args, "json"))
			terminal_start_pager();
		r = dump(args, &t, &span, kinds, functions, left, err);
		free(functions);
	}
	trace_arg_close(&t);
	return r;
}

static const struct option options[] = {
	{ 0, "wide", NULL, "do not cut what is wider than the terminal" },
	{ 0, "json", NULL, "print one JSON object a line" },
	{ 'n', "lines", "N", "stop after N events; 0: all (default)" },
	FUNCTION_OPTION("only what leads to the first instruction of these functions"),
	{ 'k', "kind", "KINDS", "only events of these kinds, e.g. interrupt,syscall", ',' },
	SPAN_OPTIONS,
	SELECT_SPANS,
	SELECT_RING,
	SELECT_MIN_DURATION,
	SELECT_NO_INTERRUPTS,
	SELECT_CALLS,
	SELECT_DEPTH,
	SELECT_PID,
	SELECT_COMM,
	SELECT_CODE,
	HELP_OPTION,
	{ 0 },
};

static const struct term terms[] = {
	{ "ns, insns, cpu", "guest time, and the vCPU with the instructions that it had retired" },
	{ "kind", "call, call-indirect, return, …; 'upto info' lists them" },
	{ "slot", "stack address of the return address; addresses are strings" },
	{ "from", "where the call or jump came from: of a call, where it returns to" },
	{ "target", "where it went" },
	{ "place", "what that address is called" },
	{ "previous, next", "of a task-switch: who ran and who runs then, with pid and comm" },
	{ "abi", "of a syscall: the interface that it was made by" },
	{ "args",
	  "what else the event tells, as strings: of an interrupt vector, error code and the code segment that it cut into, of a syscall number and "
	  "arguments, of a syscall-return the result, of a task-switch both task_structs, of an address-space its page table" },
	{ 0 },
};

static const struct legend legends[] = { { "json, a line an event", NULL, terms }, { 0 } };

const struct command cmd_dump = {
	.name = "dump",
	.operands = "TRACE [FUNCTION…]",
	.summary = "print every event as text, a line each",
	.description =
		"A line has guest time, instructions retired, [vCPU], the event's kind and what it is about; of task switches who "
		"ran and who runs then, each with PID and name at that time. "
		"Streams: the first line comes at once however long the trace.\n",
	.examples = "  upto dump -n 100 trace.upto\n      the first events after reset\n"
		    "  upto dump --from 1.2s --to 1.201s trace.upto\n      all that happened in a millisecond\n"
		    "  upto dump --kind interrupt trace.upto\n      the interrupts and exceptions\n",
	.options = options,
	.reads_all = true,
	.legends = legends,
	.min_operands = 1,
	.max_operands = OPERANDS_MAX,
	.run = run,
};
