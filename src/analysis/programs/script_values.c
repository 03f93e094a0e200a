/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What values a program's machine asks for at the moment at which a probe fires. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arch/syscall_args.h"
#include "arch/syscall_fields.h"
#include "script_fields.h"
#include "script_runner.h"
#include "trace/facts.h"

static const struct thread *thread_now(const struct script_runner *r)
{
	return r->now.stack ? threads_at(r->o->session->threads, r->now.stack->thread) : NULL;
}

static struct value number(uint64_t n)
{
	return (struct value){ .n = n };
}

static struct value text(const char *s)
{
	return (struct value){ .n = strlen(s), .p = (const uint8_t *)s };
}

/* The thread's name; before there are threads, and of CPUs' idle ones, what the kernel calls these. */
static const char *comm_now(const struct script_runner *r)
{
	const struct thread *t = thread_now(r);

	return t ? threads_comm(r->o->session->threads, t, r->now.ns) : "swapper/0";
}

/* The first thread of the parent's process, by what the thread was told last of that; NULL: it is not known. */
static const struct thread *parent_now(struct script_runner *r, const struct thread *t)
{
	const struct threads *all = r->o->session->threads;
	uint32_t *known = &r->parents[t - all->list];
	const struct thread *parent = *known ? &all->list[*known - 1] : NULL;

	if (parent && parent->pid == t->ppid && r->now.ns < parent->end_ns)
		return parent;
	*known = 0;
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].pid == t->ppid && all->list[i].start_ns <= r->now.ns)
			*known = (uint32_t)i + 1;
	return *known ? &all->list[*known - 1] : NULL;
}

static const char *parent_comm_now(struct script_runner *r)
{
	const struct thread *t = thread_now(r), *parent;

	if (!t || !t->ppid) /* of several that have this number, the first CPU's made all others */
		return "swapper/0";
	parent = parent_now(r, t);
	return parent ? threads_comm(r->o->session->threads, parent, r->now.ns) : "";
}

enum { NAME_EXITS = 1 << 20 }; /* in the number of a system call's tracepoint: its exit */

static bool is_pattern(const char *name)
{
	return name && strpbrk(name, "*?[");
}

/* By the number of its name. */
static void put_function(const struct script_runner *r, uint32_t name, struct buf *out)
{
	buf_printf(out, "%s", name_table_text(&r->names, name));
}

static void put_tracepoint(const struct script_runner *r, const struct place_asked *place, uint32_t id, struct buf *out)
{
	const struct syscall_abi *abi = &r->o->session->reader->arch->abis[0];
	const char *call;

	if (!script_is_syscall(place)) {
		buf_printf(out, "%s:%s", r->o->formats->list[id].system, r->o->formats->list[id].name);
		return;
	}
	buf_printf(out, "%s:%s", place->object, id & NAME_EXITS ? "sys_exit" : "sys_enter");
	call = strcmp(place->object, "syscalls") ? NULL : abi->call_name(id & (NAME_EXITS - 1));
	if (call)
		buf_printf(out, "_%s", syscall_tracepoint(call));
}

/* Of a pattern, what fits it: "kprobe:vfs_read" of "kprobe:vfs_*". */
static void put_probe(const struct script_runner *r, const struct place_asked *place, uint32_t id, struct buf *out)
{
	bool is_event = place->kind == PLACE_TRACEPOINT;
	bool is_function = place->kind == PLACE_ENTRY || place->kind == PLACE_RETURN || place->kind == PLACE_CALL ||
			   place->kind == PLACE_CALL_END || place->kind == PLACE_UPROBE ||
			   place->kind == PLACE_URETPROBE;

	if (!is_pattern(place->name) && !(is_event && is_pattern(place->object)))
		is_event = is_function = false;
	if (!is_event && !is_function) {
		buf_printf(out, "%s", place->text);
		return;
	}
	buf_printf(out, "%.*s:", (int)strcspn(place->text, ":"), place->text);
	if (is_event) {
		put_tracepoint(r, place, id, out);
		return;
	}
	if (place->kind == PLACE_UPROBE || place->kind == PLACE_URETPROBE)
		buf_printf(out, "%s:", place->object);
	put_function(r, id, out);
}

/* What a place has of the moment, if it is a pattern: the function's name, the event, the system call; else 0. */
static uint32_t probe_id(const struct script_runner *r, const struct place_asked *place)
{
	const struct moment *m = &r->now;
	uint32_t id = m->has_function ? r->name_of[m->id] : m->id | (m->exits ? NAME_EXITS : 0);

	if (script_is_syscall(place) && strcmp(place->object, "syscalls")) /* one for all calls */
		id &= NAME_EXITS;
	return is_pattern(place->name) ? id : 0;
}

/* What is there is numbered alike only at places of one kind. Is what fires called the same at both places? */
static bool is_same_probe(const struct script_runner *r, const struct place_asked *a, const struct place_asked *b)
{
	struct buf x = { 0 }, y = { 0 };
	bool same;

	if ((is_pattern(a->name) || is_pattern(b->name)) &&
	    (a->kind != b->kind || script_is_syscall(a) != script_is_syscall(b)))
		return false;
	put_probe(r, a, probe_id(r, a), &x);
	put_probe(r, b, probe_id(r, b), &y);
	same = x.len == y.len && !memcmp(x.data, y.data, x.len);
	buf_free(&x);
	buf_free(&y);
	return same;
}

/* Of several places where a probe is called the same, the first stands for all: a name has one number. */
static uint64_t first_probe(const struct script_runner *r, const struct place_asked *asked)
{
	const struct script *p = r->o->script;
	uint64_t place = 0;

	for (size_t h = 0; h < p->n_handlers; h++)
		for (size_t i = 0; i < p->handlers[h].n_places; i++) {
			const struct place_asked *other = &p->handlers[h].places[i];

			place++;
			if (other == asked || is_same_probe(r, other, asked))
				return place << 32 | probe_id(r, other);
		}
	return 0;
}

/* The place, from 1 on, and what it is of those that fit a pattern. */
static uint64_t probe_name(struct script_runner *r)
{
	const struct script_place *at = &r->now.at;
	const struct place_asked *asked = &r->o->script->handlers[at->handler].places[at->place];
	uint64_t own = (uint64_t)(asked->at - r->o->script->source) << 32 | probe_id(r, asked);
	uint64_t *ret = map_put(&r->probe_names, own, 0);

	if (!*ret)
		*ret = first_probe(r, asked);
	return *ret;
}

/* "kprobe" of "kprobe:vfs_read" */
static struct value probe_type(const struct script_runner *r)
{
	const struct moment *m = &r->now;
	const struct place_asked *place = &r->o->script->handlers[m->at.handler].places[m->at.place];
	const char *text = place->kind == PLACE_BEGIN || place->kind == PLACE_END ? "special" : place->text;

	return (struct value){ .n = strcspn(text, ":"), .p = (const uint8_t *)text };
}

static uint64_t function_name(const struct script_runner *r)
{
	const struct moment *m = &r->now;

	if (m->has_function)
		return r->name_of[m->function] + 1;
	return m->stack && m->stack->depth ? r->name_of[m->stack->frames[m->stack->depth - 1].function] + 1 : 0;
}

/* Where control is; or, of what cut into it, was. */
static bool runs_user_code(const struct script_runner *r)
{
	const struct stack *stack = r->now.stack;
	size_t depth = stack ? stack->depth : 0;

	if (r->now.faults && depth)
		depth--;
	return depth && names_is_user(r->o->session->names, stack->frames[depth - 1].function);
}

static struct value builtin(void *state, enum builtin b)
{
	struct script_runner *r = state;
	const struct moment *m = &r->now;
	const struct thread *t;

	switch (b) {
	case BUILTIN_COMM:
		return text(comm_now(r));
	case BUILTIN_PCOMM:
		return text(parent_comm_now(r));
	case BUILTIN_PID:
	case BUILTIN_TID:
	case BUILTIN_PPID:
		t = thread_now(r);
		return number(!t ? 0 : (uint64_t)(b == BUILTIN_PID ? t->tgid : b == BUILTIN_TID ? t->pid : t->ppid));
	case BUILTIN_PROBE_TYPE:
		return probe_type(r);
	case BUILTIN_USER_MODE:
		return number(runs_user_code(r));
	case BUILTIN_CPU:
		return number(m->cpu);
	case BUILTIN_NSECS:
		return number(m->ns);
	case BUILTIN_ELAPSED:
		return number(m->ns - r->o->from_ns);
	case BUILTIN_CURTASK:
		t = thread_now(r);
		return number(t ? t->task : 0);
	case BUILTIN_RAND:
		r->random = r->random * 6364136223846793005u + 1442695040888963407u;
		return number(r->random >> 32);
	case BUILTIN_FUNC:
		return number(function_name(r));
	case BUILTIN_PROBE:
		return number(probe_name(r));
	case BUILTIN_NCPUS:
		return number(r->vcpus);
	case BUILTIN_INSNS:
		return number(m->ends ? m->duration_insns : m->insns);
	case BUILTIN_DURATION:
		return number(m->duration_ns);
	case BUILTIN_SELF_NS:
		return number(m->self_ns);
	case BUILTIN_SELF_INSNS:
		return number(m->self_insns);
	case BUILTIN_DEPTH:
		return number(m->stack ? m->stack->depth : 0);
	default:
		return number(0);
	}
}

/* What is at an address of the kernel's; one that the trace does not have stays an address. */
static const char *text_at(struct script_runner *r, uint64_t addr)
{
	const char *found = event_strings_find(&r->o->formats->strings, addr);

	if (found || !addr)
		return found ? found : "";
	r->text.len = 0;
	buf_printf(&r->text, "0x%" PRIx64, addr);
	buf_put_u8(&r->text, 0);
	return (char *)r->text.data;
}

static struct value event_field_now(struct script_runner *r, size_t field)
{
	const struct event_record *record = r->now.record;
	long n = r->fields[field * r->o->formats->count + record->event];
	bool own = event_is_of_program(&r->o->formats->list[record->event]);
	int64_t element = own ? -1 : script_field_element(r->o->code->types.fields[field].text);
	struct event_value v;

	if (n < 0)
		return (struct value){ 0 };
	if (r->o->code->types.fields[field].type.is_bytes) {
		size_t size;
		const uint8_t *bytes = event_field_bytes(r->o->decoder, record, (size_t)n, &size);

		return (struct value){ .n = size, .p = bytes };
	}
	v = element < 0 ? event_value(r->o->decoder, record, (size_t)n, &r->text)
			: event_element(r->o->decoder, record, (size_t)n, (uint64_t)element);
	if (r->o->code->types.fields[field].type.kind == TYPE_TEXT)
		return text(v.kind == EVENT_TEXT ? v.text : v.kind == EVENT_NOTHING ? "" : text_at(r, v.number));
	return number(v.kind == EVENT_TEXT || v.kind == EVENT_NOTHING ? 0 : v.number);
}

static struct value given_text(const struct script_runner *r, int arg)
{
	const struct text *t = texts_find(r->o->texts, r->now.cpu, r->now.text_insns, (unsigned)arg);

	return t ? (struct value){ .n = strnlen(t->bytes, t->len), .p = t->bytes } : text("");
}

/* A program's arguments, each with a NUL behind it; of a call that began none, the name of the file. */
static struct value given_arguments(const struct script_runner *r, const struct syscall_abi *abi)
{
	const struct syscall_record *c = syscalls_find(r->o->calls, r->now.cpu, r->now.text_insns, r->now.ns);
	const struct fact *f = c ? syscall_arguments(c, r->o->facts) : NULL;
	int name = script_syscall_field(abi, r->now.id, "filename");

	if (!f)
		return name < 0 ? text("") : given_text(r, name);
	return (struct value){ .n = f->lens[0] && !f->texts[0][f->lens[0] - 1] ? f->lens[0] - 1 : f->lens[0],
			       .p = (const uint8_t *)f->texts[0] };
}

static struct value syscall_text(struct script_runner *r, const struct syscall_abi *abi, int arg)
{
	const char *kinds = abi->call_args(r->now.id);

	if (arg < 0 || !r->o->texts)
		return text("");
	if (r->o->calls && kinds && (size_t)arg < strlen(kinds) && kinds[arg] == ARG_ARGUMENTS)
		return given_arguments(r, abi);
	return given_text(r, arg);
}

/* The register, as wide as the kernel takes it. */
static uint64_t argument_now(const struct script_runner *r, const struct syscall_abi *abi, int arg)
{
	const char *kinds = abi->call_args(r->now.id);
	char kind = kinds && (size_t)arg < strlen(kinds) ? kinds[arg] : ARG_LONG;
	uint64_t value = r->now.args[arg];

	return kind == ARG_INT || kind == ARG_FD || kind == ARG_FOLDER ? (uint64_t)(int32_t)value : value;
}

static struct value syscall_field_now(struct script_runner *r, const struct field_asked *f)
{
	const struct syscall_abi *abi = &r->o->session->reader->arch->abis[0];
	bool is_text = f->type.kind == TYPE_TEXT;
	bool is_raw;
	unsigned index;
	int arg;

	if (!strcmp(f->text, "ret"))
		return number(r->now.result);
	if (!strcmp(f->text, "id") || !strcmp(f->text, "__syscall_nr"))
		return number((uint64_t)(int32_t)r->now.id);
	if (!r->now.args)
		return is_text ? text("") : number(0);
	is_raw = sscanf(f->text, "args[%1u]", &index) == 1;
	if (is_raw)
		arg = index < 6 ? (int)index : -1;
	else
		arg = script_syscall_field(abi, r->now.id, f->text);
	if (is_text)
		return syscall_text(r, abi, arg);
	return number(arg < 0 ? 0 : is_raw ? r->now.args[arg] : argument_now(r, abi, arg));
}

static struct value span_field(struct script_runner *r, enum script_own own)
{
	const struct span_of *s = r->now.span;

	switch (own) {
	case OWN_NAME:
		return text(s->name && *s->name           ? s->name
			    : s->function != HISTORY_NONE ? names_function(r->o->session->names, s->function)
							  : "");
	case OWN_KIND:
		return text(span_kind_name(s->kind));
	default:
		return number(s->start_ns);
	}
}

static struct value away_field(struct script_runner *r, enum script_own own)
{
	const struct away *a = r->now.away;
	const struct thread *t;

	switch (own) {
	case OWN_KIND:
		return text(wait_kind_name(a->kind));
	case OWN_WHAT:
		return text(a->function == HISTORY_NONE ? "" : names_function(r->o->session->names, a->function));
	case OWN_WAKER:
		t = a->waker == HISTORY_NONE ? NULL : threads_at(r->o->session->threads, a->waker);
		return text(t ? threads_comm(r->o->session->threads, t, r->now.ns) : "");
	default:
		return number(a->start_ns);
	}
}

static struct value own_field(struct script_runner *r, const struct place_asked *place, const char *name)
{
	int own = script_own_field(place->kind, name);

	if (own < 0)
		return (struct value){ 0 };
	if (r->now.line)
		return own == OWN_LEVEL ? number(r->now.line->numbers[1])
					: (struct value){ .n = r->now.line->lens[0],
							  .p = (const uint8_t *)fact_text(r->now.line, 0) };
	return r->now.span ? span_field(r, (enum script_own)own) : away_field(r, (enum script_own)own);
}

static struct value field(void *state, size_t number_of_field)
{
	struct script_runner *r = state;
	const struct field_asked *f = &r->o->code->types.fields[number_of_field];
	const struct place_asked *place = &r->o->script->handlers[r->now.at.handler].places[r->now.at.place];

	if (r->now.record)
		return event_field_now(r, number_of_field);
	if (r->now.line || r->now.span || r->now.away)
		return own_field(r, place, f->text);
	return script_is_syscall(place) ? syscall_field_now(r, f) : (struct value){ 0 };
}

static uint64_t stack(void *state, bool user, uint64_t frames)
{
	struct script_runner *r = state;

	return script_stacks_put(&r->stacks, r->now.stack, r->now.ns, user, frames);
}

static void put_name(void *state, uint64_t n, struct buf *out)
{
	const struct script_runner *r = state;
	const struct script *p = r->o->script;
	uint64_t place = n >> 32;

	if (!place) {
		if (n && n <= r->names.count)
			put_function(r, (uint32_t)n - 1, out);
		return;
	}
	place--;
	for (size_t h = 0; h < p->n_handlers; h++) {
		if (place < p->handlers[h].n_places) {
			put_probe(r, &p->handlers[h].places[place], (uint32_t)n, out);
			return;
		}
		place -= p->handlers[h].n_places;
	}
}

static void put_stack(void *state, uint64_t n, unsigned indent, struct buf *out)
{
	script_stacks_text(&((struct script_runner *)state)->stacks, n, indent, out);
}

uint32_t script_function_at(const struct script_runner *r, uint64_t address, bool user)
{
	const struct names *names = r->o->session->names;
	struct space_view view = { 0 };
	const struct thread *t = thread_now(r);
	uint32_t version = user && t ? spaces_at(&names->spaces, &view, t->task, r->now.ns) : 0;

	return names_place(names, address, r->now.ns, version).function;
}

static void put_symbol(void *state, uint64_t address, bool user, struct buf *out)
{
	const struct script_runner *r = state;
	uint32_t function = script_function_at(r, address, user);

	if (names_is_group(r->o->session->names, function))
		buf_printf(out, "%#llx", (unsigned long long)address);
	else
		put_function(r, r->name_of[function], out);
}

static uint64_t address(void *state, const char *function)
{
	const struct script_runner *r = state;
	uint32_t f = names_find(r->o->session->names, function);
	uint64_t ret;

	return f != UINT32_MAX && names_own_address(r->o->session->names, f, &ret) ? ret : 0;
}

static bool is_enough(void *state)
{
	const struct script_run_options *o = ((struct script_runner *)state)->o;

	return o->is_enough && o->is_enough(o->enough_context);
}

struct machine_host script_host(struct script_runner *r)
{
	return (struct machine_host){
		.builtin = builtin,
		.field = field,
		.stack = stack,
		.put_name = put_name,
		.put_stack = put_stack,
		.put_symbol = put_symbol,
		.address = address,
		.is_enough = is_enough,
		.began_ns = r->o->began_ns,
		.context = r,
	};
}
