/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probes.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "base/alloc.h"
#include "kept_values.h"
#include "probe_events.h"
#include "probes/probe_compile.h"
#include "probes/probe_record.h"
#include "recorder/cpu.h"
#include "recorder/kernel/kernel_types.h"
#include "recorder/kernel/guest_address.h"
#include "recorder/kernel/structures.h"
#include "recorder/says.h"
#include "recorder/watch/watch_put.h"
#include "returns.h"
#include "trace/event_formats.h"
#include "trace/meta.h"

#ifdef UPTO_SMALL_TABLES
enum { PROBES_MAX = 64, KEPT = 64 };
#else
enum { PROBES_MAX = 4096, KEPT = 8192 };
#endif

enum {
	KEPT_NEAR = 16, /* places where what is kept of a call may be */
	GENERAL = 16,   /* registers */
};

/* A definition, and what became of it. */
struct asked {
	struct probe_definition d;
	size_t places; /* that were found */
	/* of a program: code around the place, all on one page, and how much of it is before; n_code 0: it is the
	 * kernel's */
	uint8_t code[64];
	size_t n_code, before;
	char *prototype; /* of a function whose arguments and result are asked for: its line; NULL: values are */
	char *why; /* the first place that could not be armed: why; NULL: none */
};

/* Where returns.h finds probes of programs, whose functions have no address of their own: no code is there. */
#define PROGRAM_KEY (UINT64_C(1) << 62)

struct armed {
	struct probe_values values;
	uint32_t event;             /* number of its records */
	uint32_t next;              /* at the same place: number + 1; 0: none. vCPUs read it without the lock */
	uint64_t address, function; /* of RETURNS only the latter */
	bool returns;
	bool keeps; /* only_keeps() */
	uint64_t args; /* the function's number in arguments.h, + 1; 0: values are asked for */
	const struct asked *program; /* that it is in; NULL: the kernel */
	uint64_t faults;             /* values that could not be read */
};

static struct {
	struct asked *asked;
	size_t count, more;
	bool narrow;
	struct armed *armed; /* of all kernels that booted; they stay where they are, as vCPUs read them */
	size_t n_armed;
	struct map at;      /* address → number of the first one + 1; where functions return: returns.h */
	size_t n_programs;  /* behind the last one that is in a program: all are among the first */
	struct map entries; /* begins of functions that registers are kept of */
} probes;

/* What registers were at the begin of a call that is under way. */
static struct {
	pthread_mutex_t lock;
	uint64_t clock;
	struct kept {
		uint64_t slot, function, task, when, registers[GENERAL];
	} * list;
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void want_symbols_of(const struct probe_arg *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct probe_arg *a = &list[i];

		if (a->base == PROBE_AT && a->text)
			kernel_want_symbol(&recorder.kernel, a->text);
		for (size_t k = 0; k < a->code.count; k++)
			if (a->code.steps[k].symbol)
				kernel_want_symbol(&recorder.kernel, a->code.steps[k].symbol);
		want_symbols_of(a->of, a->n_of);
	}
}

static void want_symbols(const struct probe_definition *d)
{
	want_symbols_of(d->args, d->n_args);
	kernel_want_symbol(&recorder.kernel, "_text");
}

static uint64_t place_of_text(void)
{
	return kernel_symbol(&recorder.kernel, "_text");
}

/* Symbols' addresses are known by now: they become numbers. One that is not known stays, and gives no value. */
static void resolve_symbols(struct probe_values *v)
{
	for (size_t i = 0; i < v->count; i++)
		for (size_t k = 0; k < v->list[i].code.count; k++) {
			struct probe_step_code *s = &v->list[i].code.steps[k];
			uint64_t addr = s->symbol ? kernel_symbol(&recorder.kernel, s->symbol) : 0;

			if (!addr)
				continue;
			free(s->symbol);
			*s = (struct probe_step_code){ .op = PROBE_OP_NUMBER,
						       .operand = (int64_t)(addr + (uint64_t)s->operand) };
		}
}

static bool asks_entry(const struct probe_values *v)
{
	for (size_t i = 0; i < v->count; i++)
		if (probe_code_asks_entry(&v->list[i].code))
			return true;
	return false;
}

/* Those at one place are told in the order of their definitions: one may keep what the next one asks for. */
static void put_in_place(struct armed *a)
{
	uint32_t number = (uint32_t)(a - probes.armed) + 1, first;
	uint64_t *at = a->returns ? NULL : map_put(&probes.at, a->address, 0);

	a->next = 0;
	first = a->returns ? returns_probe(a->function) : (uint32_t)*at;
	if (!first) {
		if (a->returns)
			returns_choose_probe(a->function, number);
		else
			*at = number;
		return;
	}
	while (probes.armed[first - 1].next)
		first = probes.armed[first - 1].next;
	__atomic_store_n(&probes.armed[first - 1].next, number, __ATOMIC_RELEASE);
}

/* It has no record: it hands addresses to others. */
static bool only_keeps(const struct probe_definition *d)
{
	for (size_t i = 0; i < d->n_args; i++)
		if (d->args[i].base != PROBE_KEEP)
			return false;
	return d->n_args;
}

/* Where it begins and where it returns are two, one behind the other. */
static uint64_t number_of_prototype(const struct asked *q, struct buf *lines)
{
	const struct armed *before = probes.n_armed ? &probes.armed[probes.n_armed - 1] : NULL;

	return before && before->args && q->d.returns ? before->args : arguments_choose(q->prototype, lines);
}

static bool is_program(const struct asked *q)
{
	return q->n_code;
}

/* `begin`: of the function that the place is in; 0: none. */
static void arm(struct asked *q, const struct btf_prototypes *types, const char *module, const char *function,
		uint64_t begin, uint64_t address, struct buf *lines)
{
	struct armed *a = &probes.armed[probes.n_armed];
	struct error err;

	if (probes.n_armed == PROBES_MAX) {
		probes.more++;
		q->places++;
		return;
	}
	*a = (struct armed){ .address = address, .function = begin, .returns = q->d.returns };
	if (probe_compile(&a->values, &q->d, function, types, &err) < 0) {
		probe_values_deinit(&a->values);
		if (!q->why)
			q->why = xstrdup(err.text);
		return;
	}
	resolve_symbols(&a->values);
	if (begin && asks_entry(&a->values))
		*map_put(&probes.entries, begin, 1) = 1;
	a->keeps = only_keeps(&q->d);
	if (q->prototype) {
		a->args = number_of_prototype(q, lines);
	} else if (!a->keeps) {
		a->event = probe_event(&(struct probed_place){ &q->d, module, function, a->returns }, &a->values,
				       lines);
	}
	if (is_program(q)) {
		a->program = q;
		probes.n_programs = probes.n_armed + 1;
		if (a->returns)
			returns_choose_probe(PROGRAM_KEY + probes.n_armed, (uint32_t)probes.n_armed + 1);
	} else {
		put_in_place(a);
	}
	probes.n_armed++;
	q->places++;
}

/* The first instruction of a function that begins there or later; `offset`, too, if its code cannot be read. */
static uint64_t instruction_at(struct registers *regs, uint64_t begin, uint64_t offset)
{
	uint64_t at = 0;

	while (at < offset) {
		uint8_t code[CODE_MAX] = { 0 };
		unsigned length = guest_read(regs, begin + at, code, sizeof code) ? recorder.cpu->length(code) : 0;

		if (!length)
			return offset;
		at += length;
	}
	return at;
}

/* In the middle of an instruction nothing ever stops. */
static bool begins_instruction(struct asked *q, struct registers *regs, const char *name, uint64_t begin)
{
	uint64_t next = instruction_at(regs, begin, q->d.offset);

	if (next != q->d.offset && !q->why)
		q->why = xasprintf("%s: no instruction begins there; the next one is %s+%" PRIu64, q->d.text, name,
				   next);
	return next == q->d.offset;
}

/* In a table of symbols whose addresses lie `slide` lower than where they are. */
static void arm_in(struct asked *q, struct registers *regs, const struct btf_prototypes *types, const char *module,
		   const struct symtab *tab, uint64_t slide, struct buf *lines)
{
	bool pattern = strpbrk(q->d.function, "*?[");

	for (size_t i = 0; i < tab->count; i++) {
		const char *name = symtab_name(tab, (long)i);
		uint64_t begin = tab->symbols[i].addr + slide;

		if (pattern ? fnmatch(q->d.function, name, 0) : strcmp(q->d.function, name))
			continue;
		if (q->d.offset < tab->symbols[i].end - tab->symbols[i].addr &&
		    begins_instruction(q, regs, name, begin))
			arm(q, types, module, name, begin, begin + q->d.offset, lines);
	}
}

/* "_text+0x1234": the name of the function there is not the only one of its kind. */
static void arm_behind_text(struct asked *q, struct buf *lines)
{
	uint64_t address = place_of_text() + q->d.offset, begin = 0, end;
	long function = kernel_function(&recorder.kernel, address);

	if (function != SYMTAB_NONE)
		kernel_bounds(&recorder.kernel, function, &begin, &end);
	if (place_of_text())
		arm(q, kernel_types(), "", "", begin, address, lines);
}

static bool is_behind_text(const struct probe_definition *d)
{
	return !strcmp(d->function, "_text");
}

static void read_code(const struct meta *config, struct asked *q)
{
	char key[40];
	const char *text;
	unsigned byte;

	snprintf(key, sizeof key, "probe.%zu.before", probes.count);
	q->before = meta_get_u64(config, key, 0);
	snprintf(key, sizeof key, "probe.%zu.code", probes.count);
	text = meta_get(config, key);
	snprintf(key, sizeof key, "probe.%zu.args", probes.count);
	q->prototype = meta_get(config, key) ? xstrdup(meta_get(config, key)) : NULL;
	for (; text && q->n_code < sizeof q->code && sscanf(text, "%2x", &byte) == 1; text += 2)
		q->code[q->n_code++] = (uint8_t)byte;
}

int probes_init(const struct meta *config, struct error *err)
{
	const char *text;
	char key[32];

	for (; snprintf(key, sizeof key, "probe.%zu", probes.count), (text = meta_get(config, key)); probes.count++) {
		probes.asked = xreallocarray(probes.asked, probes.count + 1, sizeof *probes.asked);
		probes.asked[probes.count] = (struct asked){ 0 };
		if (probe_definition_parse(text, &probes.asked[probes.count].d, err) < 0)
			return -1;
		read_code(config, &probes.asked[probes.count]);
	}
	if (!probes.count)
		return 0;
	probes.armed = xcalloc(PROBES_MAX, sizeof *probes.armed);
	kept.list = xcalloc(KEPT, sizeof *kept.list);
	kernel_types_want();
	return 0;
}

static bool asks_symbol(const struct probe_arg *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if ((list[i].base == PROBE_AT && list[i].text) || asks_symbol(list[i].of, list[i].n_of))
			return true;
		for (size_t k = 0; k < list[i].code.count; k++)
			if (list[i].code.steps[k].symbol)
				return true;
	}
	return false;
}

/* What is by the kernel's types or symbols waits for the kernel. Another one that comes later finds it there. */
static void arm_at_addresses(bool found, const struct btf_prototypes *types, struct buf *lines)
{
	for (size_t i = 0; i < probes.count; i++) {
		struct asked *q = &probes.asked[i];
		bool waits = probe_compile_needs_types(&q->d) || asks_symbol(q->d.args, q->d.n_args);

		if (q->d.place == PROBE_ADDRESS && waits == found && !q->places && !q->why)
			arm(q, types, "", "", 0, q->d.address, lines);
	}
}

/* Other places that are known by their address alone are armed from the first instruction on. */
void probes_begin(void)
{
	struct buf lines = { 0 };

	for (size_t i = 0; i < probes.count; i++)
		want_symbols(&probes.asked[i].d);
	arm_at_addresses(false, NULL, &lines);
	if (lines.len)
		drain_put(CHUNK_META, &lines);
	buf_free(&lines);
}

/* Those at addresses stay. */
static void forget(void)
{
	map_free(&probes.at);
	map_free(&probes.entries);
	for (size_t i = 0; i < probes.n_armed; i++)
		if (probes.armed[i].returns && !probes.armed[i].program)
			returns_choose_probe(probes.armed[i].function, 0);
		else if (!probes.armed[i].function && !probes.armed[i].program)
			put_in_place(&probes.armed[i]);
}

void probes_found(struct buf *lines)
{
	const struct kernel *k = &recorder.kernel;

	probes.narrow = guest_is_narrow();
	if (!probes.count || probes.narrow)
		return;
	forget();
	probe_events_begin();
	arm_at_addresses(true, kernel_types(), lines);
	for (size_t i = 0; i < probes.count; i++) {
		struct asked *q = &probes.asked[i];

		if (q->d.place != PROBE_FUNCTION || q->d.target)
			continue;
		if (is_behind_text(&q->d))
			arm_behind_text(q, lines);
		else
			arm_in(q, &recorder.translate_regs, kernel_types(), "", &k->tab, k->slide, lines);
	}
}

/* Another module may have been there. */
static void forget_at(const struct symtab *tab)
{
	for (size_t i = 0; i < probes.n_armed; i++) {
		struct armed *a = &probes.armed[i];

		if (!a->function || !symtab_section_of(tab, a->function))
			continue;
		*map_put(&probes.at, a->address, 0) = 0;
		if (a->returns)
			returns_choose_probe(a->function, 0);
		*map_put(&probes.entries, a->function, 0) = 0;
	}
}

/* The kernel writes '_' where files have '-'. */
static bool is_module(const char *asked, const char *name)
{
	for (; *asked && (*asked == *name || (*asked == '-' && *name == '_')); asked++)
		name++;
	return !*asked && !*name;
}

void probes_module(struct vcpu *v, const struct btf_prototypes *types, const char *module, const struct symtab *tab)
{
	struct buf lines = { 0 };

	if (!probes.count || guest_is_narrow())
		return;
	pthread_mutex_lock(&recorder.lock);
	forget_at(tab);
	probe_events_begin();
	for (size_t i = 0; i < probes.count; i++) {
		struct asked *q = &probes.asked[i];

		if (q->d.place == PROBE_FUNCTION && (!q->d.target || is_module(q->d.target, module)))
			arm_in(q, &v->regs, types, module, tab, 0, &lines);
	}
	pthread_mutex_unlock(&recorder.lock);
	if (lines.len)
		drain_put(CHUNK_META, &lines);
	buf_free(&lines);
}

static uint32_t number_at(const struct map *map, uint64_t addr)
{
	const uint64_t *number = map->count ? map_get(map, addr) : NULL;

	return number ? (uint32_t)*number : 0;
}

uint32_t probes_at(uint64_t addr)
{
	return number_at(&probes.at, addr);
}

uint32_t probes_in_program(uint64_t addr, uint32_t from)
{
	enum { PAGE = 4096 };

	for (uint32_t i = from; i < probes.n_programs; i++) {
		const struct armed *a = &probes.armed[i];
		const struct asked *p = a->program;
		uint8_t code[sizeof p->code];

		if (p && (a->address ^ addr) % PAGE == 0 &&
		    guest_read(&recorder.translate_regs, addr - p->before, code, p->n_code) &&
		    !memcmp(code, p->code, p->n_code))
			return i + 1;
	}
	return 0;
}

bool probes_watch_programs(void)
{
	return probes.n_programs;
}

bool probe_returns(uint32_t number)
{
	return probes.armed[number - 1].returns;
}

bool probes_want_entry(uint64_t function)
{
	return number_at(&probes.entries, function);
}

/* Where what is kept of a call may be, whose return address is there. */
static struct kept *kept_at(uint64_t slot, unsigned i)
{
	return &kept.list[(hash64(slot) + i) % KEPT];
}

void watch_probe_entry(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t slot = registers_read(&v->regs, REG_SP);
	struct kept *to = kept_at(slot, 0);

	pthread_mutex_lock(&kept.lock);
	for (unsigned i = 0; i < KEPT_NEAR && to->slot != slot; i++) {
		struct kept *other = kept_at(slot, i);

		if (other->slot == slot || other->when < to->when)
			to = other;
	}
	to->slot = slot;
	to->function = (uintptr_t)data;
	to->task = v->task;
	to->when = ++kept.clock;
	for (int i = 0; i < GENERAL; i++)
		to->registers[i] = registers_read(&v->regs, (enum reg)i);
	pthread_mutex_unlock(&kept.lock);
}

struct hit {
	struct vcpu *v;
	const struct armed *a;
	uint64_t address;
	size_t not_kept; /* so many values asked for what nobody had kept, which is no fault: the program knows */
};

/* Of the call that is under way: one that began unseen has none. */
static bool read_entry(void *context, uint64_t slot, unsigned number, uint64_t *ret)
{
	const struct hit *h = context;
	bool found = false;

	pthread_mutex_lock(&kept.lock);
	for (unsigned i = 0; i < KEPT_NEAR && !found; i++) {
		const struct kept *k = kept_at(slot, i);

		found = k->slot == slot && k->function == h->a->function && k->task == h->v->task && number < GENERAL;
		if (found)
			*ret = k->registers[number];
	}
	pthread_mutex_unlock(&kept.lock);
	return found;
}

static uint64_t read_register(void *context, unsigned number)
{
	const struct hit *h = context;

	/* in the middle of a block QEMU does not have it */
	return number == PROBE_RIP ? h->address : registers_read(&h->v->regs, (enum reg)number);
}

static bool read_memory(void *context, uint64_t addr, void *data, size_t n)
{
	const struct hit *h = context;

	return guest_read(&h->v->regs, addr, data, n);
}

static void keep_value(void *context, uint64_t key, uint64_t value)
{
	(void)context;
	kept_values_put(key, value);
}

static bool kept_value(void *context, uint64_t key, uint64_t *ret)
{
	struct hit *h = context;
	bool found = kept_values_get(key, ret);

	h->not_kept += !found;
	return found;
}

static bool wants_comm(const struct probe_values *v)
{
	for (size_t i = 0; i < v->count; i++)
		if (v->list[i].is_comm)
			return true;
	return false;
}

/* `address`: of the probe, or of the function that returns, at run time. */
static void tell(struct vcpu *v, struct armed *a, uint64_t address, uint64_t behind)
{
	static __thread struct buf record;
	struct hit h = { .v = v, .a = a, .address = address };
	struct probe_guest guest = {
		.reg = read_register,
		.entry = read_entry,
		.read = read_memory,
		.keep = keep_value,
		.kept = kept_value,
		.current = v->task,
		.context = &h,
	};
	char comm[PROBE_COMM_LEN + 1] = "";
	struct probe_hit hit = {
		.pid = (int32_t)structure_read(v, v->task, TASK_PID, 4),
		.address = address,
		.returns = a->returns,
		.comm = comm,
	};
	size_t faults;

	if (v->task && wants_comm(&a->values) && structure_at(TASK_COMM) != MEMBER_UNKNOWN)
		structure_text(v, v->task + (uint64_t)structure_at(TASK_COMM), comm, PROBE_COMM_LEN);
	if (a->returns)
		hit.returns_to = structure_pointer_at(v, registers_read(&v->regs, REG_SP));
	record.len = 0;
	faults = probe_record_put(&a->values, &hit, &guest, &record);
	if (a->keeps)
		return;
	if (faults > h.not_kept)
		__atomic_add_fetch(&a->faults, faults - h.not_kept, __ATOMIC_RELAXED);
	watch_tell_within(v,
			  &(struct fact){
				  .kind = FACT_EVENT,
				  .n_numbers = 2,
				  .numbers = { a->event, 1 },
				  .n_texts = 1,
				  .texts = { (const char *)record.data },
				  .lens = { record.len },
			  },
			  behind);
}

static void tell_call(struct vcpu *v, const struct armed *a, uint64_t behind)
{
	if (a->args && a->returns)
		arguments_returns(v, a->args - 1);
	else if (a->args)
		arguments_enters(v, a->args - 1, behind);
}

void probes_hit(struct vcpu *v, uint32_t number, uint64_t entry, uint64_t behind)
{
	for (; number; number = probes.armed[number - 1].next) {
		struct armed *a = &probes.armed[number - 1];

		if (a->program && a->program->prototype) {
			tell_call(v, a, behind);
			continue;
		}
		tell(v, a, entry ? entry : a->returns ? a->function : a->address, behind);
	}
}

/* The place's address at run time: code that many share is not at the same one for all. */
static uint64_t place_of(const struct vcpu *v, const void *data)
{
	return v->rip + (above(data) >> WATCH_PROBE_OFFSET);
}

void watch_program_probe(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	probes_hit(v, site_of(data), place_of(v, data), above(data) & ((1 << WATCH_PROBE_OFFSET) - 1));
}

void watch_program_enters(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	returns_await(v, PROGRAM_KEY + site_of(data) - 1, place_of(v, data));
}

void watch_probe(unsigned cpu, void *data)
{
	probes_hit(vcpu_get(cpu), site_of(data), 0, above(data));
}

#define NARROW "a kernel of 32 bits has none"

static void say_what_lacks(void)
{
	for (size_t i = 0; i < probes.count; i++) {
		const struct asked *q = &probes.asked[i];

		/* whoever has the program says that, where it is in there */
		if (q->d.group && !strcmp(q->d.group, EVENTS_OF_PROGRAMS))
			continue;
		if (q->why)
			recorder_says("--probe %s", q->why);
		else if (!q->places && probes.narrow)
			recorder_says("--probe: %s", NARROW);
		else if (!q->places)
			recorder_says("--probe %s: %s%s has no such place", q->d.text, q->d.target ? "module " : "",
				      q->d.target ? q->d.target : "the kernel, with the modules that were loaded,");
	}
	if (probes.more)
		recorder_says("--probe: %zu places more have such a name; the first %d are probed", probes.more,
			      PROBES_MAX);
}

/* Those that have no place, or one that could not be probed, so that nobody waits for their records; and why. */
static void put_nowhere(struct buf *lines)
{
	size_t n = 0;
	char key[48];

	for (size_t i = 0; i < probes.count; i++) {
		const struct asked *q = &probes.asked[i];
		size_t length = strlen(q->d.text);
		cleanup_free char *text = NULL;

		if (!q->why && q->places)
			continue;
		if (q->why && !strncmp(q->why, q->d.text, length) && !strncmp(q->why + length, ": ", 2))
			text = xasprintf("%s\n%s", q->d.text, q->why + length + 2);
		else if (probes.narrow)
			text = xasprintf("%s\n%s", q->d.text, NARROW);
		snprintf(key, sizeof key, "nowhere.%zu", n++);
		meta_put(lines, key, text ? text : q->d.text);
	}
}

void probes_finish(void)
{
	struct buf lines = { 0 };
	struct map faults = { 0 }; /* by the number of records, which several that were armed may have */
	uint64_t number, count;
	char key[48];

	for (size_t i = 0; i < probes.n_armed; i++)
		if (!probes.armed[i].keeps)
			*map_put(&faults, probes.armed[i].event, 0) += probes.armed[i].faults;
	for (size_t at = 0; map_next(&faults, &at, &number, &count);) {
		snprintf(key, sizeof key, "event.%u.faults", (unsigned)number);
		if (count)
			meta_put_u64(&lines, key, count);
	}
	map_free(&faults);
	put_nowhere(&lines);
	if (lines.len)
		drain_put(CHUNK_META, &lines);
	buf_free(&lines);
	say_what_lacks();
}
