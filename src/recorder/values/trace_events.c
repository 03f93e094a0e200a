/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/x86_interpreter.h"
#include "base/alloc.h"
#include "event_read.h"
#include "recorder/kernel/kernel_argument.h"
#include "recorder/kernel/structures.h"
#include "recorder/says.h"
#include "recorder/watch/watch_put.h"
#include "trace/event_formats.h"
#include "trace/meta.h"

#ifdef UPTO_SMALL_TABLES
enum { EVENTS_MAX = 64, LABELS_MAX = 256 };
#else
enum { EVENTS_MAX = 8192, LABELS_MAX = 1 << 15 };
#endif

enum {
	TABLE_MAX = 8 << 20, /* of a table of the kernel's, in bytes */
	RECORD_MAX = 1 << 15,
	RESERVED = 256, /* records of a thread that are being made: an interrupt in between may make many */
	HEADER = 8,     /* struct trace_entry, include/linux/trace_events.h */
};

/* What is interpreted finds these where nothing of the guest's is. */
enum {
	OURS_FUNCTIONS = 0x1000, /* a list of struct tracepoint_func with one element, … */
	OURS_FILE = 0x2000,      /* … whose data is a struct trace_event_file with nothing set */
	OURS_RECORD = 0x10000,
};

/* include/linux/jump_label.h: places are seen from where they stand; the key's low bits are flags. */
struct jump_entry {
	int32_t code, target;
	int64_t key;
};

struct label {
	uint64_t code, target;
	uint32_t event;
	uint32_t next; /* of the same event: number + 1; 0: none. vCPUs read it without the lock */
};

struct trace_event {
	uint32_t number;
	uint64_t call; /* struct trace_event_call */
	uint64_t tracepoint, probe, iterator, static_call;
	struct event_names names;
	uint32_t labels; /* the last one that was found: number + 1; likewise */
	uint32_t type;   /* that META has; 0: none yet */
	uint64_t missing;
	char why[96];
};

static struct {
	const char *list;
	bool known;                 /* some kernel told where its events are */
	bool numbers_due;           /* those of system calls are yet to be told */
	bool twice;                 /* those that the guest has enabled are computed, too */
	bool *fit;                  /* by name of the list: some event had it */
	struct trace_event *events; /* of all kernels that booted; they stay where they are, as vCPUs read them */
	struct label *labels;
	size_t n_events, n_labels, more;
	size_t first;     /* the first event of this kernel */
	struct map at;    /* address of a jump label → its number + 1 */
	struct map calls; /* struct trace_event_call → number of its event + 1 */
	struct map keys;  /* static_key of a tracepoint of the kernel itself → likewise */
	struct event_enums enums;
	uint64_t reserve, commit, context; /* where these functions of the kernel begin; 0: it has none */
	uint64_t logs[2];                  /* those that write to its log; likewise */
} chosen;

/* What a vCPU is making. */
struct making {
	struct x86_interpreter *x;
	struct vcpu *v;
	const struct label *label;
	uint64_t length; /* of the record; 0: nothing is reserved yet */
	bool done;
};

struct reserved {
	uint64_t buffer; /* struct trace_event_buffer */
	uint64_t length;
};

static __thread struct making making;
static __thread struct reserved reserved[RESERVED];
static __thread unsigned n_reserved;

void trace_events_init(const char *list, bool twice)
{
	if (!list)
		return;
	chosen.twice = twice;
	chosen.list = xstrdup(list);
	chosen.fit = xcalloc(strlen(list) + 1, sizeof *chosen.fit);
	chosen.events = xcalloc(EVENTS_MAX, sizeof *chosen.events);
	chosen.labels = xcalloc(LABELS_MAX, sizeof *chosen.labels);
}

static void tell_format(struct vcpu *v, const struct trace_event *e, struct buf *lines)
{
	struct buf text = { 0 };

	event_text_put(v, e->call, &e->names, &chosen.enums, &text);
	event_format_tell(e->number, &text, lines);
}

static void add_event(struct vcpu *v, uint64_t call, bool is_tracepoint, struct map *keys, struct buf *lines)
{
	struct trace_event *e = &chosen.events[chosen.n_events];
	uint64_t class = structure_pointer(v, call, EVENT_CLASS);
	struct event_names names;

	if (!event_names_read(v, call, is_tracepoint, &names) ||
	    !event_is_meant(chosen.list, names.system, names.name, chosen.fit))
		return;
	if (chosen.n_events == EVENTS_MAX) {
		chosen.more++;
		return;
	}
	*e = (struct trace_event){ .number = event_number_new(), .call = call, .names = names };
	if (event_of(&e->names) != EVENT_OF_TRACEPOINT)
		__atomic_store_n(&chosen.numbers_due, true, __ATOMIC_RELEASE);
	/* those of all system calls are made of what is recorded of them */
	if (is_tracepoint && strcmp(e->names.system, "raw_syscalls")) {
		e->tracepoint = structure_pointer(v, call, EVENT_TRACEPOINT);
		e->probe = structure_pointer(v, class, CLASS_PROBE);
		e->iterator = structure_pointer(v, e->tracepoint, TRACEPOINT_ITERATOR);
		e->static_call = structure_pointer(v, e->tracepoint, TRACEPOINT_CALL);
		*map_put(keys, e->tracepoint + (uint64_t)structure_at(TRACEPOINT_KEY), 0) = chosen.n_events + 1;
	}
	e->type = event_type(v, call);
	tell_format(v, e, lines);
	*map_put(&chosen.calls, call, 0) = ++chosen.n_events;
}

static void add_label(const struct label *label)
{
	if (chosen.n_labels == LABELS_MAX) {
		chosen.more++;
		return;
	}
	chosen.labels[chosen.n_labels] = *label;
	chosen.labels[chosen.n_labels].next = chosen.events[label->event].labels;
	*map_put(&chosen.at, label->code, 0) = ++chosen.n_labels;
	__atomic_store_n(&chosen.events[label->event].labels, (uint32_t)chosen.n_labels, __ATOMIC_RELEASE);
}

/* The jump labels that stand for the tracepoints with these keys, or with the kernel's own, which modules pass, too. */
static void add_labels(struct vcpu *v, uint64_t table, uint64_t bytes, const struct map *keys)
{
	struct buf raw = { 0 };

	structure_block(v, table, bytes < TABLE_MAX ? bytes : TABLE_MAX, &raw);
	for (size_t at = 0; at + sizeof(struct jump_entry) <= raw.len; at += sizeof(struct jump_entry)) {
		struct jump_entry entry;
		const uint64_t *event;
		uint64_t key;

		memcpy(&entry, raw.data + at, sizeof entry);
		key = table + at + 8 + ((uint64_t)entry.key & ~UINT64_C(3));
		event = map_get(keys, key);
		event = event ? event : map_get(&chosen.keys, key);
		if (event)
			add_label(&(struct label){ .code = table + at + (uint64_t)(int64_t)entry.code,
						   .target = table + at + 4 + (uint64_t)(int64_t)entry.target,
						   .event = (uint32_t)*event - 1 });
	}
	buf_free(&raw);
}

/* Where tracepoints lie. */
static void find_tracepoints(struct vcpu *v, uint64_t table, uint64_t bytes, struct map *ret)
{
	struct buf raw = { 0 };

	structure_block(v, table, bytes < TABLE_MAX ? bytes : TABLE_MAX, &raw);
	for (size_t at = 0; at + 4 <= raw.len; at += 4) {
		int32_t offset;

		memcpy(&offset, raw.data + at, sizeof offset);
		*map_put(ret, table + at + (uint64_t)(int64_t)offset, 1) = 1;
	}
	buf_free(&raw);
}

/* Tables in guest memory, each from an address on, of so many bytes. */
struct tables {
	struct {
		uint64_t at, bytes;
	} events, enums, tracepoints, jumps;
};

/* `keys` gets those of the tracepoints. */
static void add_tables(struct vcpu *v, const struct tables *t, struct map *keys, struct buf *lines)
{
	struct map tracepoints = { 0 };
	struct buf calls = { 0 };

	find_tracepoints(v, t->tracepoints.at, t->tracepoints.bytes, &tracepoints);
	event_enums_add(v, t->enums.at, t->enums.at + t->enums.bytes, &chosen.enums);
	structure_block(v, t->events.at, t->events.bytes < TABLE_MAX ? t->events.bytes : TABLE_MAX, &calls);
	for (size_t at = 0; at + 8 <= calls.len; at += 8) {
		uint64_t call;

		memcpy(&call, calls.data + at, sizeof call);
		add_event(v, call, map_get(&tracepoints, structure_pointer(v, call, EVENT_TRACEPOINT)), keys, lines);
	}
	add_labels(v, t->jumps.at, t->jumps.bytes, keys);
	buf_free(&calls);
	map_free(&tracepoints);
}

static bool structures_are_known(void)
{
	return STRUCTURES_KNOWN(EVENT_CLASS, EVENT_TRACEPOINT, EVENT_OUTPUT, EVENT_PRINT_FORMAT, OUTPUT_TYPE,
				CLASS_SYSTEM, CLASS_PROBE, CLASS_FIELDS, FIELD_TYPE, FIELD_NAME, FIELD_SIZE,
				FIELD_ALIGN, FIELD_SIGNED, TRACEPOINT_NAME, TRACEPOINT_KEY, TRACEPOINT_CALL,
				TRACEPOINT_ITERATOR, TRACEPOINT_FUNCTIONS, TRACEPOINT_DATA, EVENT_BUFFER_ENTRY,
				EVENT_BUFFER_FILE, EVENT_FILE_CALL);
}

void trace_events_found(struct vcpu *v, struct buf *lines)
{
	const struct kernel *k = &recorder.kernel;
	const uint64_t *data = k->data;

	if (!chosen.list || k->no_linux || guest_is_narrow() || !structures_are_known())
		return;
	chosen.known = chosen.known || data[DATA_EVENTS];
	chosen.first = chosen.n_events;
	map_free(&chosen.at);
	map_free(&chosen.calls);
	map_free(&chosen.keys);
	event_enums_deinit(&chosen.enums);
	event_strings_tell(v, data[DATA_EVENT_STRINGS], data[DATA_EVENT_STRINGS_END], lines);
	chosen.reserve = kernel_function_named(k, "trace_event_buffer_reserve");
	chosen.commit = kernel_function_named(k, "trace_event_buffer_commit");
	chosen.context = kernel_function_named(k, "tracing_gen_ctx_irq_test");
	chosen.logs[0] = kernel_function_named(k, "_printk");
	chosen.logs[1] = kernel_function_named(k, "_printk_deferred");
	add_tables(
		v,
		&(struct tables){
			.events = { data[DATA_EVENTS], data[DATA_EVENTS_END] - data[DATA_EVENTS] },
			.enums = { data[DATA_ENUMS], data[DATA_ENUMS_END] - data[DATA_ENUMS] },
			.tracepoints = { data[DATA_TRACEPOINTS], data[DATA_TRACEPOINTS_END] - data[DATA_TRACEPOINTS] },
			.jumps = { data[DATA_JUMPS], data[DATA_JUMPS_END] - data[DATA_JUMPS] },
		},
		&chosen.keys, lines);
}

static uint64_t module_count(struct vcpu *v, uint64_t module, enum member member, unsigned size)
{
	return (uint64_t)structure_read(v, module, member, 4) * size;
}

void trace_events_module(struct vcpu *v, uint64_t module)
{
	struct map keys = { 0 };
	struct buf lines = { 0 };

	if (!chosen.list || !chosen.commit || guest_is_narrow())
		return;
	pthread_mutex_lock(&recorder.lock);
	add_tables(v,
		   &(struct tables){
			   .events = { structure_pointer(v, module, MODULE_EVENTS),
				       module_count(v, module, MODULE_N_EVENTS, 8) },
			   .enums = { structure_pointer(v, module, MODULE_ENUMS),
				      module_count(v, module, MODULE_N_ENUMS, 8) },
			   .tracepoints = { structure_pointer(v, module, MODULE_TRACEPOINTS),
					    module_count(v, module, MODULE_N_TRACEPOINTS, 4) },
			   .jumps = { structure_pointer(v, module, MODULE_JUMPS),
				      module_count(v, module, MODULE_N_JUMPS, sizeof(struct jump_entry)) },
		   },
		   &keys, &lines);
	pthread_mutex_unlock(&recorder.lock);
	map_free(&keys);
	if (lines.len)
		drain_put(CHUNK_META, &lines);
	buf_free(&lines);
}

size_t trace_events_label_count(void)
{
	return chosen.n_labels;
}

uint32_t trace_events_at(uint64_t addr)
{
	const uint64_t *number = chosen.at.count ? map_get(&chosen.at, addr) : NULL;

	return number ? (uint32_t)*number : 0;
}

void trace_events_syscall(struct vcpu *v)
{
	struct buf lines = { 0 };
	char key[48];

	if (!__atomic_load_n(&chosen.numbers_due, __ATOMIC_RELAXED) ||
	    !__atomic_exchange_n(&chosen.numbers_due, false, __ATOMIC_ACQ_REL))
		return;
	pthread_mutex_lock(&recorder.lock);
	for (size_t i = chosen.first; i < chosen.n_events; i++) {
		const struct trace_event *e = &chosen.events[i];
		int32_t number;

		if (event_of(&e->names) == EVENT_OF_TRACEPOINT || (number = event_syscall_number(v, e->call)) < 0)
			continue;
		snprintf(key, sizeof key, "event.%u.syscall", e->number);
		meta_put_u64(&lines, key, (uint64_t)number);
		tell_format(v, e, &lines);
	}
	pthread_mutex_unlock(&recorder.lock);
	if (lines.len)
		drain_put(CHUNK_META, &lines);
	buf_free(&lines);
}

/* Records' numbers are given out late in the boot, and the kernel then knows its print formats better. */
static void heed_type(struct vcpu *v, struct trace_event *e)
{
	uint32_t type = event_type(v, e->call);
	struct buf lines = { 0 };

	if (!type || e->type == type)
		return;
	pthread_mutex_lock(&recorder.lock);
	e->type = type;
	tell_format(v, e, &lines);
	pthread_mutex_unlock(&recorder.lock);
	drain_put(CHUNK_META, &lines);
	buf_free(&lines);
}

static void tell(struct vcpu *v, struct trace_event *e, const uint8_t *record, size_t length, bool computed,
		 uint64_t behind)
{
	heed_type(v, e);
	watch_tell_within(v,
			  &(struct fact){
				  .kind = FACT_EVENT,
				  .n_numbers = 2,
				  .numbers = { e->number, computed },
				  .n_texts = 1,
				  .texts = { (const char *)record },
				  .lens = { length },
			  },
			  behind);
}

/* Events of the guest's own: how long the record is, is told where room is made for it. */
static void watch_reserve(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	(void)data;
	reserved[n_reserved++ % RESERVED] = (struct reserved){
		.buffer = kernel_argument(&v->regs, 0),
		.length = kernel_argument(&v->regs, 2),
	};
}

static uint64_t length_of(uint64_t buffer)
{
	for (unsigned i = 1; i <= RESERVED && i <= n_reserved; i++)
		if (reserved[(n_reserved - i) % RESERVED].buffer == buffer)
			return reserved[(n_reserved - i) % RESERVED].length;
	return 0;
}

static struct trace_event *event_of_call(uint64_t call)
{
	const uint64_t *number;
	struct trace_event *e;

	pthread_mutex_lock(&recorder.lock); /* a module that is loaded adds to it */
	number = map_get(&chosen.calls, call);
	e = number ? &chosen.events[*number - 1] : NULL;
	pthread_mutex_unlock(&recorder.lock);
	return e;
}

static void count_missing(struct trace_event *e, const char *why)
{
	pthread_mutex_lock(&recorder.lock);
	e->missing++;
	snprintf(e->why, sizeof e->why, "%s", why);
	pthread_mutex_unlock(&recorder.lock);
}

static void watch_commit(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t buffer = kernel_argument(&v->regs, 0), entry = structure_pointer(v, buffer, EVENT_BUFFER_ENTRY);
	uint64_t file = structure_pointer(v, buffer, EVENT_BUFFER_FILE), length = length_of(buffer);
	struct trace_event *e = event_of_call(structure_pointer(v, file, EVENT_FILE_CALL));
	static __thread uint8_t record[RECORD_MAX];

	(void)data;
	if (!e)
		return;
	if (length && length <= sizeof record && guest_read(&v->regs, entry, record, length))
		tell(v, e, record, length, false, 0);
	else
		count_missing(e, "the guest's own record could not be read");
}

qemu_plugin_vcpu_udata_cb_t trace_events_at_entry(uint64_t addr)
{
	if (!chosen.commit)
		return NULL;
	return addr == chosen.reserve ? watch_reserve : addr == chosen.commit ? watch_commit : NULL;
}

static bool read_guest(void *context, uint64_t addr, void *data, size_t n)
{
	struct making *m = context;

	return addr_is_kernel(addr) && guest_read(&m->v->regs, addr, data, n);
}

/* trace_event_buffer_reserve(buffer, file, length): there is room for each. */
static enum x86_answer reserve(struct making *m, struct x86_state *state)
{
	if (state->registers[X86_RSI] != X86_SCRATCH + OURS_FILE) { /* another event's, which is not made */
		state->registers[X86_RAX] = 0;
		return X86_RETURN;
	}
	m->length = state->registers[X86_RDX];
	if (m->length > RECORD_MAX)
		return X86_STOP;
	state->registers[X86_RAX] = X86_SCRATCH + OURS_RECORD;
	return X86_RETURN;
}

static enum x86_answer called(void *context, struct x86_interpreter *x, uint64_t target)
{
	struct making *m = context;
	struct x86_state *state = x86_interpreter_state(x);
	const struct trace_event *e = &chosen.events[m->label->event];

	if (target == e->static_call || target == e->iterator || target == e->probe) {
		state->registers[X86_RDI] = X86_SCRATCH + OURS_FILE;
		state->rip = e->probe;
	} else if (target == chosen.reserve) {
		return reserve(m, state);
	} else if (target == chosen.commit) {
		m->done = m->length;
		return X86_STOP;
	} else if (target && (target == chosen.logs[0] || target == chosen.logs[1])) {
		/*
		 * What asks whether any of the scheduler's statistics is enabled complains once that they are not
		 * gathered. Nothing of a record comes of that, but thousands of instructions each time.
		 */
		state->registers[X86_RAX] = 0;
		return X86_RETURN;
	}
	return X86_GO;
}

/* What tells whether the event is enabled may stand around what makes it, too. */
static uint64_t passes_label(void *context, struct x86_interpreter *x, uint64_t addr)
{
	const struct making *m = context;
	uint32_t number = __atomic_load_n(&chosen.events[m->label->event].labels, __ATOMIC_ACQUIRE);

	(void)x;
	while (number && chosen.labels[number - 1].code != addr)
		number = chosen.labels[number - 1].next;
	if (!number)
		return 0;
	return addr == m->label->code ? 1 : chosen.labels[number - 1].target;
}

static struct x86_state state_of(struct vcpu *v)
{
	struct x86_state state = {
		.gs_base = registers_read(&v->regs, GUEST_GS_BASE),
		.flags = registers_read(&v->regs, GUEST_EFLAGS),
	};

	for (int i = 0; i < X86_REGISTERS; i++)
		state.registers[i] = registers_read(&v->regs, (enum reg)i);
	return state;
}

static void miss(struct trace_event *e, enum x86_end end, struct x86_interpreter *x)
{
	static const char *const words[] = {
		[X86_STOPPED] = "its record was not made",
		[X86_LEFT] = "it was left before the record was made",
		[X86_NOT_UNDERSTOOD] = "an instruction that is not interpreted",
		[X86_NOT_READ] = "memory that is not there",
		[X86_TOO_LONG] = "too many instructions",
	};
	unsigned long long at = x86_interpreter_state(x)->rip;
	const char *insn = x86_interpreter_mnemonic(x);
	char why[sizeof e->why];

	if (!strcmp(insn, "int3")) /* for a moment: arch/x86/kernel/alternative.c */
		snprintf(why, sizeof why, "the guest was changing the code at 0x%llx", at);
	else
		snprintf(why, sizeof why, "%s, at 0x%llx (%s)", words[end], at, insn);
	count_missing(e, why);
}

/*
 * Type, flags, preempt_count and pid, as tracing_generic_entry_update() writes them: kernel/trace/trace.c. False: the
 * kernel's own function for the flags is not there, or cannot be interpreted.
 */
static bool fill_header(struct making *m, struct trace_event *e, struct x86_state *state, uint8_t *record)
{
	enum { IRQS_OFF = 1, INTERRUPT_FLAG = 1 << 9 };
	uint16_t type = (uint16_t)event_type(m->v, e->call);
	/* behind a switch of stacks, the kernel takes the one before for the current task, for a moment */
	uint64_t task = structure_current(m->v, state->gs_base);
	int32_t pid = (int32_t)structure_read(m->v, task ? task : m->v->task, TASK_PID, 4);
	uint32_t context;

	if (!chosen.context)
		return false;
	state->registers[X86_RDI] = state->flags & INTERRUPT_FLAG ? 0 : IRQS_OFF;
	state->registers[X86_RSP] -= 8;
	state->rip = chosen.context;
	x86_interpreter_begin(m->x, state, 0, m);
	if (x86_interpreter_run(m->x) != X86_LEFT)
		return false;
	context = (uint32_t)x86_interpreter_state(m->x)->registers[X86_RAX];
	memcpy(record, &type, sizeof type);
	record[2] = (uint8_t)(context >> 16);
	record[3] = (uint8_t)context;
	memcpy(record + 4, &pid, sizeof pid);
	return true;
}

/* Interpret what is behind the jump label, up to where the record is made. */
static void make(struct making *m, struct trace_event *e, uint64_t back, uint64_t behind)
{
	static __thread uint8_t record[RECORD_MAX];
	struct x86_state state = state_of(m->v), begin = state;
	uint64_t functions = X86_SCRATCH + OURS_FUNCTIONS, file = X86_SCRATCH + OURS_FILE;
	enum x86_end end;

	begin.rip = m->label->target;
	x86_interpreter_begin(m->x, &begin, back, m);
	x86_interpreter_store(m->x, e->tracepoint + (uint64_t)structure_at(TRACEPOINT_FUNCTIONS), &functions, 8);
	x86_interpreter_store(m->x, functions + (uint64_t)structure_at(TRACEPOINT_DATA), &file, 8);
	m->length = 0;
	m->done = false;
	end = x86_interpreter_run(m->x);
	if (!m->done) {
		/* the event has a condition of its own, which does not hold; or its helper makes none this time */
		if (end != X86_LEFT && !(end == X86_STOPPED && !m->length))
			miss(e, end, m->x);
		return;
	}
	if (x86_interpreter_has_guessed(m->x))
		count_missing(e, "it depends on the time stamp counter");
	else if (m->length < HEADER || !x86_interpreter_load(m->x, X86_SCRATCH + OURS_RECORD, record, m->length))
		count_missing(e, "its record is shorter than each is, or longer than there is room for");
	else if (!fill_header(m, e, &state, record))
		count_missing(e, "tracing_gen_ctx_irq_test(), which tells flags, is not there or not understood");
	else
		tell(m->v, e, record, m->length, true, behind);
}

/* What is at a jump label: arch/x86/include/asm/jump_label.h. */
enum label_code { LABEL_NONE, LABEL_CHANGES, LABEL_OFF, LABEL_ON };

/* `length`: of the instruction. NONE: other code is there, as where a module was unloaded. */
static enum label_code label_code(struct vcpu *v, const struct label *label, unsigned *length)
{
	static const uint8_t nop[] = { 0x0f, 0x1f, 0x44, 0, 0 }, short_nop[] = { 0x66, 0x90 };
	enum { JUMP = 0xe9, JUMP_SHORT = 0xeb, INT3 = 0xcc };
	uint8_t bytes[sizeof nop] = { 0 };

	*length = sizeof nop;
	if (!guest_read(&v->regs, label->code, bytes, sizeof short_nop))
		return LABEL_NONE;
	guest_read(&v->regs, label->code, bytes, sizeof bytes);
	if (!memcmp(bytes, nop, sizeof nop))
		return LABEL_OFF;
	if (*bytes == JUMP)
		return LABEL_ON;
	if (*bytes == INT3) /* for a moment */
		return LABEL_CHANGES;
	*length = sizeof short_nop;
	return *bytes == JUMP_SHORT ? LABEL_ON : memcmp(bytes, short_nop, sizeof short_nop) ? LABEL_NONE : LABEL_OFF;
}

void watch_event_label(unsigned cpu, void *data)
{
	static const struct x86_interpreter_calls calls = { .read = read_guest, .call = called, .nop = passes_label };
	const struct label *label = &chosen.labels[site_of(data)];
	enum label_code code;
	unsigned length;

	making.v = vcpu_get(cpu);
	making.label = label;
	code = label_code(making.v, label, &length);
	/* which of both it does, the guest's handler of int3 decides */
	if (code == LABEL_CHANGES && !chosen.twice)
		count_missing(&chosen.events[label->event], "the guest was changing the code at its jump label");
	/* the guest makes it itself where it has enabled it */
	if (code == LABEL_NONE || (code != LABEL_OFF && !chosen.twice))
		return;
	if (!making.x)
		making.x = x86_interpreter_new(&calls);
	make(&making, &chosen.events[label->event], label->code + length, above(data));
}

static void say_what_lacks(void)
{
	if (!chosen.known) {
		recorder_says(
			"--event: no kernel was found that tells where its trace events are: it needs BTF and all symbols "
			"(CONFIG_DEBUG_INFO_BTF, CONFIG_KALLSYMS_ALL)");
		return;
	}
	if (chosen.more)
		recorder_says("--event: there was no room for %zu events and places of events more", chosen.more);
	for (size_t i = 0, n; *chosen.list; i++, chosen.list += n + (chosen.list[n] == ',')) {
		n = strcspn(chosen.list, ",");
		if (!chosen.fit[i])
			recorder_says("--event: the kernel and the modules that were loaded have no event %.*s", (int)n,
				      chosen.list);
	}
}

void trace_events_finish(void)
{
	struct buf lines = { 0 };
	char key[48];

	for (size_t i = 0; i < chosen.n_events; i++) {
		const struct trace_event *e = &chosen.events[i];

		if (!e->missing)
			continue;
		snprintf(key, sizeof key, "event.%u.missing", e->number);
		meta_put_u64(&lines, key, e->missing);
		snprintf(key, sizeof key, "event.%u.why", e->number);
		meta_put(&lines, key, e->why);
	}
	if (lines.len)
		drain_put(CHUNK_META, &lines);
	buf_free(&lines);
	if (chosen.list)
		say_what_lacks();
}
