/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script_places.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/syscall_fields.h"
#include "base/alloc.h"
#include "base/map.h"
#include "base/near.h"

/* Pairs of a number and a handler's place, from which an index is made. */
struct pairs {
	struct pair {
		uint32_t number;
		struct script_place at;
	} * list;
	size_t count, cap;
};

struct finding {
	const struct script_run_options *o;
	struct script_places *ret;
	struct pairs entries, returns, events, calls, results, others;
	struct script_place at; /* that is being looked for */
	const struct place_asked *asked;
	size_t found;
};

static void add(struct finding *f, struct pairs *to, size_t number)
{
	to->list = array_grow(to->list, to->count, &to->cap, sizeof *to->list);
	to->list[to->count++] = (struct pair){ (uint32_t)number, f->at };
	f->found++;
}

/* In the order of numbers; of one, in the program's. */
static void make_index(struct pairs *p, size_t count, struct script_index *ret)
{
	ret->first = xcalloc(count + 1, sizeof *ret->first);
	ret->list = xcalloc(p->count + 1, sizeof *ret->list);
	ret->count = count;
	for (size_t i = 0; i < p->count; i++)
		ret->first[p->list[i].number + 1]++;
	for (size_t i = 0; i < count; i++)
		ret->first[i + 1] += ret->first[i];
	for (size_t i = 0; i < p->count; i++)
		ret->list[ret->first[p->list[i].number]++] = p->list[i].at;
	for (size_t i = count; i > 0; i--)
		ret->first[i] = ret->first[i - 1];
	ret->first[0] = 0;
	free(p->list);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool fits(const struct names *n, uint32_t function, const char *pattern)
{
	size_t len;
	const char *name = names_alone(n, function, &len);
	const bool is_pattern = strpbrk(pattern, "*?[");

	if (!is_pattern)
		return !strncmp(name, pattern, len) && !pattern[len];
	cleanup_free char *alone = xstrndup(name, len);

	return !fnmatch(pattern, alone, 0);
}

/* bpftrace's patterns leave out what the compiler cut off of functions, unless they say so. */
static bool is_part_meant(const char *name, const char *pattern)
{
	return !strpbrk(pattern, "*?[") || !strstr(name, ".part.") || strstr(pattern, ".part");
}

/* uprobe:libc:malloc means the library whose file is libc.so.6, or libc-2.36.so. */
static bool is_library(const char *object, const char *name)
{
	size_t n = strlen(object);

	if (strncmp(name, object, n))
		return false;
	return !strncmp(name + n, ".so", 3) || (name[n] == '-' && isdigit((unsigned char)name[n + 1]) && strstr(name, ".so"));
}

static bool is_meant(const struct finding *f, uint32_t function)
{
	const struct names *n = f->o->session->names;
	const struct place_asked *a = f->asked;
	bool kernel = a->kind == PLACE_ENTRY || a->kind == PLACE_RETURN,
	     any = a->kind == PLACE_CALL || a->kind == PLACE_CALL_END;

	if (names_is_group(n, function) || (kernel && !names_is_kernel(n, function)) ||
	    (!kernel && !any && !names_is_user(n, function)))
		return false;
	if (a->object && strcmp(a->object, "vmlinux") && fnmatch(base_name(a->object), names_object(n, function), 0) &&
	    (kernel || !is_library(a->object, names_object(n, function))))
		return false;
	if (a->object && !strcmp(a->object, "vmlinux") && *names_object(n, function))
		return false;
	return fits(n, function, a->name) && (!kernel || is_part_meant(names_function(n, function), a->name));
}

static int no_function(const struct finding *f, struct error *err)
{
	const struct names *n = f->o->session->names;
	const char **list = xcalloc(names_count(n) + 1, sizeof *list), *near;
	size_t count = 0;

	for (uint32_t i = 0; i < names_count(n); i++)
		if (!names_is_group(n, i))
			list[count++] = names_function(n, i);
	near = near_best(f->asked->name, strlen(f->asked->name), list);
	script_error(f->o->script, f->asked->at, f->asked->len, err, "the trace has no function %s%s%s%s%s",
		     f->asked->name, f->asked->object ? " in " : "", f->asked->object ? f->asked->object : "",
		     near ? ": did you mean " : "", near ? near : "");
	free(list);
	return -1;
}

static int find_functions(struct finding *f, bool returns, struct error *err)
{
	size_t count = names_count(f->o->session->names);

	for (uint32_t i = 0; i < count; i++)
		if (is_meant(f, i))
			add(f, returns ? &f->returns : &f->entries, i);
	return f->found ? 0 : no_function(f, err);
}

/* Is it a member on the way to the value: f_mode of "((file*)$arg1)->f_mode:auto"? */
static bool leads_by(const char *text, const char *member, size_t n)
{
	for (const char *at = text; (at = strpbrk(at, ">.")); at++)
		if (!strncmp(at + 1, member, n) && (!at[1 + n] || strchr(":-.[)", at[1 + n])))
			return true;
	return false;
}

/* The value that the handler reads and the message names: "struct file has no member 'f_mod'"; NULL: none. */
static const struct node *value_named(const struct finding *f, const char *why)
{
	const struct types *types = &f->o->code->types;
	const char *name = strchr(why, '\''), *end = name ? strchr(name + 1, '\'') : NULL;

	for (size_t i = 0; end && i < types->n_fields; i++)
		if (types->fields[i].handler == f->at.handler &&
		    leads_by(types->fields[i].text, name + 1, (size_t)(end - name - 1)))
			return types->fields[i].at;
	return NULL;
}

/* It was asked for, and could not be probed in the guest. */
static int say_nowhere(const struct finding *f, const char *why, struct error *err)
{
	const struct node *value = value_named(f, why);

	if (!*why)
		return script_error(f->o->script, f->asked->at, f->asked->len, err, "%s is nowhere in the guest",
				    f->asked->text);
	return script_error(f->o->script, value ? value->at : f->asked->at, value ? value->len : f->asked->len, err, "%s",
			    why);
}

/* The events that stand for the place, by what was recorded for it. */
static int find_needed(struct finding *f, const struct script_need *need, struct error *err)
{
	const struct event_formats *formats = f->o->formats;
	struct map names = { 0 };

	for (size_t i = 0; formats && i < formats->count; i++) {
		const struct event_format *e = &formats->list[i];

		if (!script_need_is(need, f->asked, e))
			continue;
		add(f, &f->events, i);
		*map_put(&names, hash_text(hash_text(0, e->system), e->name), 0) = 1;
	}
	/* each kernel that booted told of its own */
	f->found = names.count;
	map_free(&names);
	if (f->found)
		return 0;
	if (formats && event_nowhere(formats, need->text))
		return say_nowhere(f, event_nowhere(formats, need->text), err);
	return script_error(f->o->script, f->asked->at, f->asked->len, err,
			    "the trace has nothing of it: upto record -e records what a program asks for%s%s",
			    need->is_event ? ", or --event " : "", need->is_event ? need->text : "");
}

static int find_syscalls(struct finding *f, struct error *err)
{
	const struct arch *arch = f->o->session->reader->arch;
	bool enters = !fnmatch(f->asked->name, "sys_enter", 0), exits = !fnmatch(f->asked->name, "sys_exit", 0);
	bool raw = !strcmp(f->asked->object, "raw_syscalls");
	const char *pattern = f->asked->name;

	if (!raw && arch == &arch_i386)
		return script_error(f->o->script, f->asked->at, f->asked->len, err,
				    "the kernel is one of 32 bits: its calls are at tracepoint:raw_syscalls:sys_enter and sys_exit");
	for (size_t nr = 0; nr < SCRIPT_SYSCALLS; nr++) {
		const char *call = nr < SCRIPT_OTHER_SYSCALL ? arch->abis[0].call_name(nr) : NULL;

		for (int way = 0; way < 2; way++) {
			cleanup_free char *name = xasprintf("%s_%s", way ? "sys_exit" : "sys_enter",
							    call ? syscall_tracepoint(call) : "?");

			if (raw ? (way ? exits : enters) : call && !fnmatch(pattern, name, 0))
				add(f, way ? &f->results : &f->calls, nr);
		}
	}
	if (f->found && raw) /* one tracepoint for all of them */
		f->found = (size_t)(enters + exits);
	if (f->found)
		return 0;
	return script_error(f->o->script, f->asked->at, f->asked->len, err, "no system call has such a tracepoint");
}

static int find_software(struct finding *f, struct error *err)
{
	static const struct {
		const char *name;
		enum script_other other;
	} known[] = {
		{ "page-faults", OTHER_FAULT },
		{ "faults", OTHER_FAULT },
		{ "context-switches", OTHER_SWITCH },
		{ "cs", OTHER_SWITCH },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(known[i].name, f->asked->name)) {
			add(f, &f->others, known[i].other);
			return 0;
		}
	return script_error(f->o->script, f->asked->at, f->asked->len, err,
			    "expected software:page-faults or software:context-switches");
}

static void add_timer(struct finding *f)
{
	struct script_places *p = f->ret;
	uint64_t first;

	if (__builtin_add_overflow(f->o->from_ns, f->asked->ns, &first))
		first = UINT64_MAX;
	p->timers = xreallocarray(p->timers, p->n_timers + 1, sizeof *p->timers);
	p->timers[p->n_timers++] = (struct script_timer){
		.at = f->at,
		.ns = f->asked->ns,
		.next_ns = first,
		.each_cpu = f->asked->kind == PLACE_PROFILE,
	};
	f->found++;
}

static const char *span_name(int kind)
{
	return kind < SPAN_KINDS ? span_kind_name((enum span_kind)kind) : NULL;
}

static const char *wait_name(int kind)
{
	return kind < WAIT_KINDS ? wait_kind_name((enum wait_kind)kind) : NULL;
}

/* span:KIND, wait:KIND; patterns, too. Those of which a trace has none are there all the same. */
static int find_kind(struct finding *f, enum script_other other, const char *(*name)(int kind), struct error *err)
{
	const char *names[SPAN_KINDS + WAIT_KINDS + 1] = { NULL }, *near;
	bool fits = !f->asked->name;

	for (int i = 0; (names[i] = name(i)); i++)
		fits |= f->asked->name && !fnmatch(f->asked->name, names[i], 0);
	if (fits) {
		add(f, &f->others, other);
		return 0;
	}
	near = near_best(f->asked->name, strlen(f->asked->name), names);
	return script_error(f->o->script, f->asked->at, f->asked->len, err, "there is no kind %s%s%s", f->asked->name,
			    near ? ": did you mean " : "", near ? near : "");
}

static int find_place(struct finding *f, struct error *err)
{
	const struct script_need *need = script_needs_of(f->o->needs, f->at.handler, f->at.place);

	if (need)
		return find_needed(f, need, err);
	switch (f->asked->kind) {
	case PLACE_ENTRY:
	case PLACE_CALL:
	case PLACE_UPROBE:
		return find_functions(f, false, err);
	case PLACE_RETURN:
	case PLACE_CALL_END:
	case PLACE_URETPROBE:
		return find_functions(f, true, err);
	case PLACE_TRACEPOINT:
		return find_syscalls(f, err);
	case PLACE_SOFTWARE:
		return find_software(f, err);
	case PLACE_PROFILE:
	case PLACE_INTERVAL:
		add_timer(f);
		return 0;
	case PLACE_BEGIN:
	case PLACE_END:
		add(f, &f->others, f->asked->kind == PLACE_BEGIN ? OTHER_BEGIN : OTHER_END);
		return 0;
	case PLACE_LOG:
		add(f, &f->others, OTHER_LOG);
		return 0;
	case PLACE_SPAN:
		return find_kind(f, OTHER_SPAN, span_name, err);
	default: /* PLACE_WAIT */
		return find_kind(f, OTHER_WAIT, wait_name, err);
	}
}

/* What is said of a place that is nowhere, where others of its handler are. */
static void pass_over(struct finding *f, const struct error *why)
{
	buf_printf(&f->ret->passed_over, "%.*s: passed over\n", (int)strcspn(why->text, "\n"), why->text);
}

/* As with bpftrace, of several places some may be nowhere: functions of another kernel. An error: all of them are. */
static int find_handler(struct finding *f, uint32_t number, struct error *err)
{
	const struct handler *h = &f->o->script->handlers[number];
	struct error first = { .text = "" }, why;
	size_t there = 0;

	for (uint32_t i = 0; i < h->n_places; i++) {
		f->at = (struct script_place){ number, i };
		f->asked = &h->places[i];
		f->found = 0;
		if (find_place(f, &why) == 0) {
			there++;
		} else if (!f->o->grows) { /* what is nowhere so far may come */
			pass_over(f, &why);
			if (!first.text[0])
				first = why;
		}
		f->ret->probes += f->found;
	}
	if (there || f->o->grows || !h->n_places)
		return 0;
	*err = first;
	return -1;
}

static int find_all(struct finding *f, struct error *err)
{
	for (size_t h = 0; h < f->o->script->n_handlers; h++)
		if (find_handler(f, (uint32_t)h, err) < 0)
			return -1;
	return 0;
}

/*
 * A function of that name, with the tracepoint's behind it, calls what hangs on one, in kernels from 5.10 on
 * (include/linux/tracepoint.h).
 */
static const char *const passes = "__traceiter_";

/* Those of system calls, and of ftrace itself, are no tracepoints of their own. */
static bool is_own_tracepoint(const struct place_asked *a)
{
	return a->kind == PLACE_TRACEPOINT && !strpbrk(a->name, "*?[") &&
	       (!a->object || (strcmp(a->object, "syscalls") && strcmp(a->object, "ftrace") &&
			       !strpbrk(a->object, "*?[")));
}

/* The names of the kernel's tracepoints, as far as functions tell of them, up to a NULL. The caller frees the list. */
static const char **known_tracepoints(const struct names *n)
{
	const char **list = xcalloc(names_count(n) + 1, sizeof *list);
	size_t count = 0;

	for (uint32_t i = 0; i < names_count(n); i++)
		if (names_is_kernel(n, i) && !strncmp(names_function(n, i), passes, strlen(passes)))
			list[count++] = names_function(n, i) + strlen(passes);
	return list;
}

/* A module's have that behind their names: "ext4_da_write_end [ext4]". */
static bool has_tracepoint(const char *const *tracepoints, const char *name)
{
	size_t n = strlen(name);

	while (*tracepoints && (strncmp(*tracepoints, name, n) || ((*tracepoints)[n] && (*tracepoints)[n] != ' ')))
		tracepoints++;
	return *tracepoints;
}

static const char *near_tracepoint(const struct finding *f, const char *const *tracepoints)
{
	return near_best(f->asked->name, strlen(f->asked->name), tracepoints);
}

/*
 * Is the place of the handler there, as far as names tell? Those of a module may not be known: a tracepoint is taken to
 * be wrong only where a similar one is there.
 */
static bool may_be_there(struct finding *f, const char *const *tracepoints)
{
	uint32_t count = (uint32_t)names_count(f->o->session->names);

	if (is_own_tracepoint(f->asked))
		return has_tracepoint(tracepoints, f->asked->name) || !near_tracepoint(f, tracepoints);
	if (f->asked->kind != PLACE_ENTRY && f->asked->kind != PLACE_RETURN)
		return true;
	for (uint32_t function = 0; function < count; function++)
		if (is_meant(f, function))
			return true;
	return false;
}

/* … one of them, or none was asked for? Else the last is f->asked. */
static bool has_place(struct finding *f, const struct handler *h, const char *const *tracepoints)
{
	for (size_t i = 0; i < h->n_places; i++) {
		f->asked = &h->places[i];
		if (may_be_there(f, tracepoints))
			return true;
	}
	return !h->n_places;
}

static int no_tracepoint(const struct finding *f, const char *const *tracepoints, struct error *err)
{
	return script_error(f->o->script, f->asked->at, f->asked->len, err,
			    "the kernel has no tracepoint %s: did you mean %s", f->asked->name,
			    near_tracepoint(f, tracepoints));
}

int script_places_check(const struct session *session, struct script *script, struct error *err)
{
	const struct script_run_options o = { .session = session, .script = script };
	struct finding f = { .o = &o };
	cleanup_free const char **tracepoints = known_tracepoints(session->names);

	for (size_t h = 0; h < script->n_handlers; h++)
		if (!has_place(&f, &script->handlers[h], tracepoints))
			return is_own_tracepoint(f.asked) ? no_tracepoint(&f, tracepoints, err) : no_function(&f, err);
	return 0;
}

int script_places_find(const struct script_run_options *o, struct script_places *ret, struct error *err)
{
	struct finding f = { .o = o, .ret = ret };
	size_t functions = names_count(o->session->names);
	int r;

	*ret = (struct script_places){ 0 };
	r = find_all(&f, err);
	make_index(&f.entries, functions, &ret->entries);
	make_index(&f.returns, functions, &ret->returns);
	make_index(&f.events, o->formats ? o->formats->count : 0, &ret->events);
	make_index(&f.calls, SCRIPT_SYSCALLS, &ret->calls);
	make_index(&f.results, SCRIPT_SYSCALLS, &ret->results);
	make_index(&f.others, OTHERS, &ret->others);
	return r;
}

void script_places_deinit(struct script_places *p)
{
	struct script_index *all[] = { &p->entries, &p->returns, &p->events, &p->calls, &p->results, &p->others };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		free(all[i]->first);
		free(all[i]->list);
	}
	free(p->timers);
	buf_free(&p->passed_over);
}
