/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the recorder reads of a running kernel, from memory that a hostile guest
 * wrote: structures that point at each other in circles, at nothing, and at
 * lengths that are not there. The input is that memory, over and over again,
 * with holes. What comes of it must be a trace that can be read.
 */
#include "fuzz.h"

#include "base/alloc.h"
#include "recorder/boot.h"
#include "recorder/code/contents.h"
#include "recorder/code/guest_code.h"
#include "recorder/code/module_image.h"
#include "recorder/cpu.h"
#include "recorder/kernel/fact_readers.h"
#include "recorder/kernel/structures.h"
#include "recorder/kernel/syscalls.h"
#include "recorder/kernel/tasks.h"
#include "recorder/qemu/guest_time.h"
#include "recorder/spans/snapshot.h"
#include "recorder/spans/waiting.h"
#include "recorder/values/arguments.h"
#include "recorder/values/probes.h"
#include "recorder/values/returns.h"
#include "recorder/values/trace_events.h"
#include "recorder/watch/watch.h"
#include "recorder/x86/entry_call.h"
#include "trace/code_records.h"
#include "trace/content.h"
#include "trace/stack_records.h"
#include "trace/task_records.h"

enum {
	MEMORY_MAX = 1 << 16,
	MEMORY_PAGE = 4096,
	HOLES = 8,
	CALLS = 336,
	OUT_OF_LINE = 2 /* PERF_RECORD_KSYMBOL_TYPE_OOL */
};

#define IMAGE 0xffffffff81000000u

static int vector(struct vcpu *v, uint64_t handler)
{
	enum idt_kind kind;

	return idts_handler(&recorder.tables.idts, &v->regs, handler, &kind);
}

static uint64_t syscall_entry(const struct vcpu *v, uint64_t function)
{
	return v->cpu.lstar <= function ? v->cpu.lstar : 0;
}

static unsigned length(const uint8_t code[CODE_MAX])
{
	return *code % CODE_MAX;
}

static const struct cpu_ops ops = {
	.arch = &arch_x86_64, .length = length, .vector = vector, .syscall_entry = syscall_entry,
};

struct recorder recorder = { .cpu = &ops, .lock = PTHREAD_MUTEX_INITIALIZER };

static const uint8_t *memory;
static size_t memory_size;

/* What is published is never freed while a guest runs: modules.h. Without sanitizers these are not there. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static void publish_module(struct vcpu *v, uint64_t addr, void (*tell)(struct vcpu *, unsigned, uint64_t))
{
	if (__lsan_disable)
		__lsan_disable();
	tell(v, 0, addr);
	if (__lsan_enable)
		__lsan_enable();
}

uint64_t guest_time(const struct vcpu *v)
{
	(void)v;
	return 1;
}

uint64_t watch_clock(unsigned cpu)
{
	must(cpu == 0);
	return 1;
}

bool guest_read(struct registers *r, uint64_t addr, void *data, size_t n)
{
	(void)r;
	for (size_t i = 0; i < n; i += MEMORY_PAGE - (addr + i) % MEMORY_PAGE)
		if ((addr + i) / MEMORY_PAGE % HOLES == HOLES - 1)
			return false;
	for (size_t i = 0, some; i < n; i += some) {
		size_t at = (addr + i) % memory_size;

		some = n - i < memory_size - at ? n - i : memory_size - at;
		memcpy((uint8_t *)data + i, memory + at, some);
	}
	return true;
}

/* Arguments of a function: words of the memory, one for each register. */
uint64_t registers_ask(struct registers *r, enum reg reg)
{
	uint64_t value = 0;

	guest_read(r, reg * sizeof value, &value, sizeof value);
	return value;
}

const char *boot_meta_key(const char *key)
{
	return key;
}

void entry_call_find(struct vcpu *v, struct entry_call *ret)
{
	(void)v;
	*ret = (struct entry_call){ 0 };
}

void watch_tell_beside(struct vcpu *v, struct fact *fact, bool has_clock)
{
	must(v == recorder.vcpus[0] && fact->n_numbers <= FACT_NUMBERS && fact->n_texts <= FACT_TEXTS);
	(void)has_clock;
}

void watch_tell_within(struct vcpu *v, struct fact *fact, uint64_t uncounted)
{
	must(v == recorder.vcpus[0] && fact->kind == FACT_EVENT && fact->n_numbers == 2 && fact->n_texts == 1);
	(void)uncounted;
}

void watch_tell(struct vcpu *v, struct fact *fact)
{
	must(v == recorder.vcpus[0] && fact->n_numbers == (fact->kind == FACT_LOG_EARLIER ? 5 : 1));
}

bool waiting_exec(struct vcpu *v, const char *comm, const char *exe, bool renamed)
{
	(void)v, (void)comm, (void)exe, (void)renamed;
	return false;
}

void waiting_object(struct vcpu *v, const char *path)
{
	(void)v, (void)path;
}

void translate_expect(uint64_t addr)
{
	(void)addr;
}

static void check_content(const struct code_record *r)
{
	struct cursor in = cursor_over(r->symbols, r->symbols_len);
	struct content c = { 0 };

	must(r->size && content_add(&c, &in) && content_known(&c));
	content_deinit(&c);
}

void drain_put(enum chunk_type type, const struct buf *payload)
{
	struct guarded g = guarded_copy(payload->data, payload->len, 1);
	struct cursor in = cursor_over(g.data, payload->len);
	struct task_records tasks = { 0 };
	struct code_records code = { 0 };
	struct code_files files = { 0 };
	struct stack_records stacks = { 0 };
	struct error err;

	must(payload->len > 0);
	if (type == CHUNK_TASKS) {
		must(task_records_decode(&in, 1, &tasks, &err) == 0 && tasks.count == 1);
		task_records_deinit(&tasks);
	} else if (type == CHUNK_CODE) {
		must(code_records_decode(&in, 1, &code, &err) == 0 && code.count == 1);
		if (code.records->change == CODE_CONTENT && code.records->symbols_len)
			check_content(code.records);
		code_records_deinit(&code);
	} else if (type == CHUNK_FILES) {
		must(code_files_decode(&in, 1, &files, &err) == 0 && files.count == 1);
		code_files_deinit(&files);
	} else if (type == CHUNK_STACKS) {
		must(stack_records_decode(&in, &stacks, &err) == 0 && stacks.count > 0);
		stack_records_deinit(&stacks);
	} else {
		must(type == CHUNK_TEXTS || type == CHUNK_META);
	}
	guarded_free(&g);
}

void drain_put_beside(enum chunk_type type, const struct buf *payload, uint64_t ns)
{
	(void)ns;
	drain_put(type, payload);
}

/* Members lie close together, so that small inputs have them all; some kernels lack some. */
static void make_layout(uint8_t lacking)
{
	struct layout *l = &recorder.kernel.layout;

	for (int i = 0; i < MEMBERS; i++)
		l->offset[i] = lacking && i % (1 + lacking / 8) == lacking % 8 ? MEMBER_UNKNOWN : i * 8 % 192;
	l->size[SIZE_MODULE_MEMORY] = 24;
	l->size[SIZE_LOG_DESCRIPTOR] = 24;
	l->size[SIZE_LOG_INFO] = 88;
	if (lacking & 1) /* as before 6.4 */
		l->offset[MODULE_MEM] = MEMBER_UNKNOWN;
}

static void look_up(const struct symtab *tab)
{
	for (size_t i = 0; i < tab->count; i++) {
		long function = modules_function(&recorder.kernel.modules, tab->symbols[i].addr);

		must(tab->symbols[i].end > tab->symbols[i].addr);
		if (function != SYMTAB_NONE)
			must(modules_symbol(&recorder.kernel.modules, function)->addr <= tab->symbols[i].addr);
	}
}

/* Whatever a fact is read from, it can be read back. */
static void read_facts(struct vcpu *v)
{
	static bool (*const readers[])(struct vcpu *, struct fact *) = {
		read_wake,     read_log,   read_initcall,   read_level, read_probe, read_mount,
		read_firmware, read_issue, read_complete,   read_queue, read_work,  read_arguments,
		read_cgroup,   read_group, read_group_gone, read_audit, read_test,
	};

	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
		struct fact fact = { .kind = FACT_WAKE + (enum fact_kind)i };
		struct facts facts = { 0 };
		struct buf out = { 0 };
		struct cursor in;
		struct error err;

		if (!readers[i](v, &fact))
			continue;
		fact_put(&out, &fact);
		in = cursor_over(out.data, out.len);
		must(facts_decode(&in, &facts, &err) == 0 && facts.count == 1);
		facts_settle(&facts);
		for (unsigned k = 0; k < fact.n_texts; k++)
			must(facts.list[0].lens[k] == fact.lens[k] &&
			     !memcmp(facts.list[0].texts[k], fact.texts[k], fact.lens[k]));
		facts_deinit(&facts);
		buf_free(&out);
	}
}

/* The kernel's own lists, whose heads lie in the memory's first words. */
static void tell_snapshot(struct vcpu *v)
{
	struct kernel *k = &recorder.kernel;

	recorder.vcpus[0] = v;
	recorder.n_vcpus = 1;
	k->found = true;
	for (int i = 0; i < KERNEL_DATA; i++)
		k->data[i] = IMAGE + (uint64_t)i * 16;
	idts_add(&recorder.tables.idts, &(struct idt){ .base = IMAGE, .limit = 0xfff, .kind = IDT_64 });
	if (__lsan_disable)
		__lsan_disable();
	snapshot_tell(v, 0, 32);
	snapshot_tell_stacks(v, 1);
	if (__lsan_enable)
		__lsan_enable();
	k->found = false;
}

void kernel_want_symbol(struct kernel *k, const char *name)
{
	(void)k;
	must(*name);
}

uint64_t kernel_symbol(const struct kernel *k, const char *name)
{
	(void)k;
	return *name == 'x' ? 64 : 0;
}

static void choose_probes(void)
{
	static const char *const texts[] = { "p * a=$arg1 b=+8($arg2):string c=@x d=$comm e=$stack2:b3@5/16 f=%sp:x8[16]",
					     "r * $retval a=+0($arg1):u32", "* $params", "*%return $retval->a" };
	struct buf lines = { 0 };
	struct meta config = { 0 };
	struct error err;
	char key[16];

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		snprintf(key, sizeof key, "probe.%zu", i);
		meta_put(&lines, key, texts[i]);
	}
	must(meta_parse(&config, lines.data, lines.len, &err) == 0);
	must(probes_init(&config, &err) == 0);
	probes_begin();
	meta_deinit(&config);
	buf_free(&lines);
}

/* All functions of modules are chosen; the kernel's types are none, and modules' are what memory has. */
static void choose_all(void)
{
	static const uint8_t no_types[] = { 0x9f, 0xeb, 1, 0, 24, [20] = 1, 0, 0, 0, 0 };
	static struct stats stats;
	static bool chosen;
	struct buf lines = { 0 };

	if (chosen)
		return;
	chosen = true;
	recorder.stats = &stats;
	arguments_init("*");
	choose_probes();
	trace_events_init("*", true);
	buf_put(&recorder.kernel.types, no_types, sizeof no_types);
	arguments_found(&lines);
	buf_free(&lines);
}

/* What a module's functions are given: the numbers of the first ones. */
static void read_values(struct vcpu *v)
{
	enum { SOME = 4 };
	const struct modules *m = &recorder.kernel.modules;

	recorder.vcpus[0] = v;
	for (size_t i = 0; i < m->count; i++)
		for (size_t k = 0; k < m->tabs[i]->count && k < SOME; k++) {
			uint64_t number = arguments_at(m->tabs[i]->symbols[k].addr);

			if (number)
				watch_args(0, (void *)(uintptr_t)(number - 1));
			if (number)
				arguments_returns(v, number - 1);
			if (probes_at(m->tabs[i]->symbols[k].addr))
				probes_hit(v, probes_at(m->tabs[i]->symbols[k].addr), 0, 0);
			if (returns_probe(m->tabs[i]->symbols[k].addr))
				probes_hit(v, returns_probe(m->tabs[i]->symbols[k].addr), 64, 1);
		}
}

/* All events that the kernel's tables have, and what is behind the jump labels of the first ones. */
static void make_events(struct vcpu *v)
{
	enum { SOME = 4, TABLE = 64 };
	struct kernel *k = &recorder.kernel;
	struct buf lines = { 0 };

	recorder.vcpus[0] = v;
	for (int i = DATA_EVENTS; i <= DATA_JUMPS_END; i++)
		k->data[i] = IMAGE + (uint64_t)((i - DATA_EVENTS) / 2 * TABLE * 2 + (i - DATA_EVENTS) % 2 * TABLE);
	k->layout.size[SIZE_EVENT_FIELD] = 40;
	trace_events_found(v, &lines);
	trace_events_syscall(v);
	for (uint32_t i = 0; i < SOME; i++)
		if (trace_events_label_count() > i)
			watch_event_label(0, (void *)(uintptr_t)i);
	buf_free(&lines);
}

static void run_modules(struct vcpu *v, uint64_t addr)
{
	publish_module(v, addr, code_module_file);
	publish_module(v, registers_ask(NULL, GUEST_RDX), code_module);
	publish_module(v, addr, code_module);
	publish_module(v, addr, code_bpf);
	publish_module(v, addr, code_filter);
	publish_module(v, OUT_OF_LINE, code_out_of_line);
	for (size_t i = 0; i < recorder.kernel.modules.count; i++)
		look_up(recorder.kernel.modules.tabs[i]);
	read_values(v);
	publish_module(v, addr, code_freed);
	publish_module(v, addr, code_bpf_gone);
	publish_module(v, addr, code_filter_gone);
}

static void run_contents(struct vcpu *v, uint64_t addr)
{
	code_mapped(v, 0, addr);
	contents_syscall(v);
	contents_switch(v, addr + 16);
	contents_syscall(v);
}

static void run_tables(struct vcpu *v, uint64_t addr)
{
	(void)addr;
	make_events(v);
	tell_snapshot(v);
}

static void run_tasks(struct vcpu *v, uint64_t addr)
{
	char path[STRUCTURE_PATH];

	tasks_tell(v, 0, addr % 2 ? TASK_NEW : TASK_EXIT, addr);
	tasks_meet(v, 0, addr + 8);
	v->task = addr;
	read_facts(v);
	must(strlen(structure_path(v, addr, path)) < sizeof path);
}

static void run_syscalls(struct vcpu *v, uint64_t addr)
{
	uint64_t call[7];

	v->task = addr;
	for (size_t i = 0; i < 7; i++)
		call[i] = structure_read(v, addr + i * 8, TASK_PID, 8);
	call[0] %= CALLS;
	syscalls_read(v, arch_abi(&arch_x86_64, call[5] % 4), call, 0);
	syscalls_switch(v, addr, addr + 1);
	syscalls_switch(v, addr + 1, addr);
	syscalls_returned(v);
}

static void (*const parts[])(struct vcpu *, uint64_t) = { run_modules, run_contents, run_tables, run_tasks,
							   run_syscalls };
enum { PARTS = sizeof parts / sizeof *parts };

static void run(uint64_t addr, unsigned part)
{
	struct live live = { .insns = 1 };
	struct vcpu v = { .live = &live };

	choose_all();
	parts[part](&v, addr);
	recorder.kernel.modules = (struct modules){ 0 };
}

/* A pointer that the memory has, or one to what lies in it. */
static uint64_t start(unsigned i)
{
	uint64_t addr = i / 2 * 64;

	if (i % 2)
		memcpy(&addr, memory + i / 2 * 8, sizeof addr);
	return addr;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { STARTS = 16 };
	struct guarded g;
	unsigned starts;

	if (size < 2)
		return 0;
	make_layout(data[0]);
	memory_size = size - 1 < MEMORY_MAX ? size - 1 : MEMORY_MAX;
	g = guarded_copy(data + 1, memory_size, 1);
	memory = g.data;
	starts = memory_size / 8 * 2 < STARTS ? (unsigned)(memory_size / 8 * 2) : STARTS;
	if (!&fuzz_replays && starts)
		run(start(data[size - 1] % starts), data[size - 1] / STARTS % PARTS);
	for (unsigned i = 0; &fuzz_replays && i < starts; i++)
		for (unsigned part = 0; part < PARTS; part++)
			if (parts[part] != run_tables || !i)
				run(start(i), part);
	module_image_forget();
	guarded_free(&g);
	return 0;
}
