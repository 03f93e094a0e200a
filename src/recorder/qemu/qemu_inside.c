/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu_inside.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

static unsigned on; /* a bit for each enum inside */

bool inside_has(enum inside what)
{
	return on >> what & 1;
}

/*
 * The clock and the power-off.
 */

enum { QEMU_CLOCK_VIRTUAL = 1 };

static int64_t (*clock_get_ns)(int type);
static int (*shutdown_requested)(void);
static bool shutdown_taken_up;

uint64_t inside_ns(void)
{
	struct timespec t;

	if (inside_has(INSIDE_CLOCK))
		return (uint64_t)clock_get_ns(QEMU_CLOCK_VIRTUAL);
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * QEMU stops the vCPUs and its clock before it loads a snapshot. A clock that is another one when they go on was set by
 * that.
 */
static struct {
	bool stopped;
	uint64_t at_ns;
	bool was_set;
	bool is_told;   /* QEMU tells of stops */
	unsigned count; /* of them */
} stop;

static void on_run_state(void *opaque, bool running, int state)
{
	enum { STARTS_WITHIN = 100000000 }; /* ns, on a busy host; what a snapshot puts forward is more as a rule */
	uint64_t now = inside_ns();

	(void)opaque;
	(void)state;
	if (running && stop.stopped &&
	    (now > stop.at_ns ? now - stop.at_ns : stop.at_ns - now) > STARTS_WITHIN)
		__atomic_store_n(&stop.was_set, true, __ATOMIC_RELEASE);
	if (!running)
		__atomic_add_fetch(&stop.count, 1, __ATOMIC_RELEASE);
	stop.stopped = !running;
	stop.at_ns = now;
}

/* Without it, only a clock that goes back tells of a snapshot. */
static void watch_for_stops(void)
{
	void *(*enlist)(void (*)(void *, bool, int), void *) =
		(void *(*)(void (*)(void *, bool, int), void *))dlsym(RTLD_DEFAULT, "qemu_add_vm_change_state_handler");

	stop.is_told = enlist && enlist(on_run_state, NULL);
}

bool inside_stops(unsigned *ret)
{
	*ret = __atomic_load_n(&stop.count, __ATOMIC_ACQUIRE);
	return stop.is_told;
}

bool inside_clock_was_set(void)
{
	return __atomic_load_n(&stop.was_set, __ATOMIC_RELAXED) &&
	       __atomic_exchange_n(&stop.was_set, false, __ATOMIC_ACQUIRE);
}

bool inside_shut_down(void)
{
	return inside_has(INSIDE_SHUTDOWN) &&
	       (shutdown_requested() || __atomic_load_n(&shutdown_taken_up, __ATOMIC_ACQUIRE));
}

/* QEMU's struct Notifier: include/qemu/notify.h. */
struct notifier {
	void (*notify)(struct notifier *notifier, void *data);
	void *next, **prev;
};

static bool enlist(const char *name, struct notifier *notifier)
{
	void (*add)(struct notifier *) = (void (*)(struct notifier *))dlsym(RTLD_DEFAULT, name);

	if (add)
		add(notifier);
	return add;
}

static void on_shutdown(struct notifier *notifier, void *data)
{
	(void)notifier;
	(void)data;
	__atomic_store_n(&shutdown_taken_up, true, __ATOMIC_RELEASE);
}

/* QEMU's main loop may handle a power-off and reset the request before the vCPU goes on. So remember it. */
static bool watch_for_shutdown(void)
{
	static struct notifier notifier = { .notify = on_shutdown };

	shutdown_requested = (int (*)(void))dlsym(RTLD_DEFAULT, "qemu_shutdown_requested_get");
	return shutdown_requested && enlist("qemu_register_shutdown_notifier", &notifier);
}

static struct {
	void (*suspended)(void);
	bool woken;
} sleeping;

static void on_suspend(struct notifier *notifier, void *data)
{
	(void)notifier;
	(void)data;
	if (sleeping.suspended)
		sleeping.suspended();
}

static void on_wake(struct notifier *notifier, void *data)
{
	(void)notifier;
	(void)data;
	__atomic_store_n(&sleeping.woken, true, __ATOMIC_RELEASE);
}

static bool watch_for_suspend(void)
{
	static struct notifier suspend = { .notify = on_suspend }, wake = { .notify = on_wake };

	return enlist("qemu_register_suspend_notifier", &suspend) && enlist("qemu_register_wakeup_notifier", &wake);
}

void inside_on_suspend(void (*suspended)(void))
{
	sleeping.suspended = suspended;
}

bool inside_woken(void)
{
	return __atomic_exchange_n(&sleeping.woken, false, __ATOMIC_ACQUIRE);
}

/*
 * Values of memory accesses, and registers.
 */

enum {
	STATE_BYTES = 16384, /* less than any x86 CPU state of QEMU 9.2 to 11.1 */
	SAMPLES = 256,
	SMALL = 1 << 16,
};

/* QEMU's CPUState of the vCPU that runs in this thread, from QEMU's thread-local variable. */
static const uint8_t *cpu_state(void)
{
	void **current = dlsym(RTLD_DEFAULT, "current_cpu");

	return current ? *current : NULL;
}

static bool has(const uint8_t *cpu, uint32_t offset, uint64_t value)
{
	return !memcmp(cpu + offset, &value, sizeof value);
}

static void begin(struct value_place *place, const uint8_t *cpu, uint64_t value)
{
	for (uint32_t at = 0; at < STATE_BYTES; at += 8)
		if (has(cpu, at, value) && place->n_candidates < VALUE_CANDIDATES)
			place->candidates[place->n_candidates++] = at;
	place->state = VALUE_LEARNING;
}

static void narrow(struct value_place *place, const uint8_t *cpu, uint64_t value)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < place->n_candidates; i++)
		if (has(cpu, place->candidates[i], value))
			place->candidates[kept++] = place->candidates[i];
	place->n_candidates = kept;
}

const uint64_t *value_learn(struct value_place *place, uint64_t value)
{
	const uint8_t *cpu = place->state == VALUE_UNKNOWABLE ? NULL : cpu_state();

	if (!cpu) {
		place->state = VALUE_UNKNOWABLE;
		return NULL;
	}
	if (place->state == VALUE_KNOWN)
		return (const uint64_t *)(cpu + place->candidates[0]);
	/* learn only from values that are not likely to be in several places */
	if (value < SMALL || value == place->last)
		return NULL;
	place->last = value;
	if (place->state == VALUE_NEW)
		begin(place, cpu, value);
	else
		narrow(place, cpu, value);
	if (!place->n_candidates)
		place->state = VALUE_UNKNOWABLE;
	else if (++place->samples >= SAMPLES && place->n_candidates == 1)
		place->state = VALUE_KNOWN;
	return NULL;
}

void value_place_init(struct value_place *place, enum inside what)
{
	*place = (struct value_place){ .state = inside_has(what) ? VALUE_NEW : VALUE_UNKNOWABLE };
}

void value_distrust(struct value_place *place)
{
	place->state = VALUE_UNKNOWABLE;
}

/*
 * Stores for plugins.
 */

enum { OPS_MAX = 1 << 16, OPCODES_MAX = 256, HIGH = 8 };

/* QEMU's TCGOp and TCGOpDef, of QEMU 10.0 on a 64-bit host with at most 32 registers. */
struct link {
	struct op *next;
	struct link *before;
};

struct op {
	uint8_t opcode, n_args, param1, param2; /* n_args: there is room for */
	uint32_t life;
	struct link link;
	uint32_t preferences[2];
	uint64_t args[];
};

struct op_def {
	const char *name;
	uint8_t n[4], flags;
};

enum opcode { DISCARD, INSN_START, MEM_CB, STORE_32, STORE_64, OPCODES };

static struct {
	int opcodes[OPCODES];  /* QEMU's numbers */
	int64_t offset;        /* offset of the value from the CPU's env; 0: not yet known */
	const uintptr_t *env;  /* TCG's variable for it, as an offset in the TCGContext */
	struct op *(*emit)(int opcode, unsigned n_args);
	void (*remove)(void *context, struct op *op);
} tcg;

static bool learn_opcodes(const struct op_def *defs)
{
	static const char *const names[OPCODES] = {
		[DISCARD] = "discard", [INSN_START] = "insn_start", [MEM_CB] = "plugin_mem_cb",
		[STORE_32] = "st_i32", [STORE_64] = "st_i64",
	};
	unsigned found = 0;
	struct dl_find_object qemu;

	if (!defs || _dl_find_object((void *)defs, &qemu) < 0)
		return false;
	for (int i = 0; i < OPCODES_MAX && found < OPCODES; i++) {
		/* the name is not one of QEMU's, so these bytes are not a definition */
		if ((void *)defs[i].name < qemu.dlfo_map_start || (void *)defs[i].name >= qemu.dlfo_map_end)
			return false;
		for (int k = 0; k < OPCODES; k++)
			if (!strcmp(defs[i].name, names[k])) {
				tcg.opcodes[k] = i;
				found++;
			}
	}
	return found == OPCODES;
}

static bool find_tcg(void)
{
#ifdef __x86_64__
	tcg.env = dlsym(RTLD_DEFAULT, "tcg_env");
	tcg.emit = (struct op *(*)(int, unsigned))dlsym(RTLD_DEFAULT, "tcg_emit_op");
	tcg.remove = (void (*)(void *, struct op *))dlsym(RTLD_DEFAULT, "tcg_op_remove");
	return tcg.env && tcg.emit && tcg.remove && dlsym(RTLD_DEFAULT, "tcg_ctx") &&
	       learn_opcodes(dlsym(RTLD_DEFAULT, "tcg_op_defs"));
#else
	return false;
#endif
}

/*
 * The head of the list of operations: an operation that is put behind all
 * others leads there, for the head alone has it for its last.
 */
static const struct link *find_head(void *context)
{
	struct op *last = tcg.emit(tcg.opcodes[DISCARD], 1);
	const struct link *l = NULL;

	if (last->opcode == tcg.opcodes[DISCARD] && last->n_args >= 1 && !last->link.next) {
		l = last->link.before;
		for (size_t i = 0; l && l->before != &last->link; i++)
			l = i < OPS_MAX ? l->before : NULL;
	}
	tcg.remove(context, last);
	return l;
}

/* The list of operations of this thread. */
static const struct link *ops_of(uint8_t **ret_context)
{
	static _Thread_local uint8_t **context, *known;
	static _Thread_local const struct link *head;

	if (!context)
		context = dlsym(RTLD_DEFAULT, "tcg_ctx");
	if (*context != known) {
		known = *context;
		head = find_head(known);
	}
	*ret_context = known;
	return head;
}

static struct op *op_before(const struct op *op)
{
	return (struct op *)((char *)op->link.before - offsetof(struct op, link));
}

static const int64_t NOWHERE = INT64_MAX;

/* The offset that the operation stores to, from the CPU's env; NOWHERE: it does not store there. */
static int64_t store_offset(const uint8_t *context, const struct op *op)
{
	bool store = op->opcode == tcg.opcodes[STORE_32] || op->opcode == tcg.opcodes[STORE_64];

	return store && op->n_args >= 3 && op->args[1] == (uintptr_t)(context + *tcg.env) ? (int64_t)op->args[2]
											  : NOWHERE;
}

/* What is stored for the plugin stands right before the access is told, at one place, below the guest's registers. */
static size_t drop(uint8_t *context, const struct op *told)
{
	struct op *op = op_before(told), *low;

	if (!tcg.offset && store_offset(context, op) < 0)
		tcg.offset = store_offset(context, op);
	if (!tcg.offset)
		return 0;
	if (store_offset(context, op) == tcg.offset) {
		tcg.remove(context, op);
		return 1;
	}
	low = op_before(op);
	if (store_offset(context, op) != tcg.offset + HIGH || store_offset(context, low) != tcg.offset)
		return 0;
	tcg.remove(context, op);
	tcg.remove(context, low);
	return 2;
}

size_t stores_drop(const bool *wanted, size_t n_insns)
{
	uint8_t *context;
	const struct link *head = inside_has(INSIDE_STORES) ? ops_of(&context) : NULL;
	size_t begun = 0, dropped = 0;

	if (!head)
		return 0;
	for (struct op *op = head->next; op; op = op->link.next)
		if (op->opcode == tcg.opcodes[INSN_START])
			begun++;
		else if (op->opcode == tcg.opcodes[MEM_CB] && begun && begun <= n_insns && !wanted[begun - 1])
			dropped += drop(context, op);
	return dropped;
}

/*
 * Turns.
 */

/* QEMU's flag CF_PARALLEL: include/exec/translation-block.h, as of 6.2. */
enum { FOR_PARALLEL = 0x8000 };

static void *(*state_of)(int vcpu);
static void (*ask_for_code)(void *cpu, uint32_t flags);

static bool find_turns(void)
{
	state_of = (void *(*)(int))dlsym(RTLD_DEFAULT, "qemu_get_cpu");
	ask_for_code = (void (*)(void *, uint32_t))dlsym(RTLD_DEFAULT, "tcg_cflags_set");
	return state_of && ask_for_code && dlsym(RTLD_DEFAULT, "current_cpu");
}

void turns_tell(unsigned vcpu)
{
	void *cpu = state_of((int)vcpu);

	if (cpu)
		ask_for_code(cpu, FOR_PARALLEL);
}

bool turns_are_told(unsigned vcpu)
{
	return state_of((int)vcpu) == cpu_state();
}

/*
 * What of it is used.
 */

static const char *const names[INSIDES] = {
	[INSIDE_CLOCK] = "clock", [INSIDE_SHUTDOWN] = "shutdown", [INSIDE_SUSPEND] = "suspend",
	[INSIDE_VALUES] = "values", [INSIDE_REGISTERS] = "registers", [INSIDE_STORES] = "stores",
	[INSIDE_TURNS] = "turns",
};

static bool is_there(enum inside what)
{
	switch (what) {
	case INSIDE_CLOCK:
		clock_get_ns = (int64_t (*)(int))dlsym(RTLD_DEFAULT, "qemu_clock_get_ns");
		if (clock_get_ns)
			watch_for_stops();
		return clock_get_ns;
	case INSIDE_SHUTDOWN:
		return watch_for_shutdown();
	case INSIDE_SUSPEND:
		return watch_for_suspend();
	case INSIDE_VALUES:
	case INSIDE_REGISTERS:
		return dlsym(RTLD_DEFAULT, "current_cpu");
	case INSIDE_STORES:
		return find_tcg();
	case INSIDE_TURNS:
		return find_turns();
	case INSIDES:
		break;
	}
	return false;
}

static bool is_listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (!strncmp(list, name, n) && (list[n] == ',' || !list[n]))
			return true;
	return false;
}

void inside_init(const char *list, struct buf *ret_used)
{
	for (enum inside what = 0; what < INSIDES; what++) {
		if (!is_listed(list, names[what]) || !is_there(what))
			continue;
		on |= 1u << what;
		buf_printf(ret_used, "%s%s", ret_used->len ? "," : "", names[what]);
	}
	buf_put_u8(ret_used, 0);
}
