/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stores.h"

#include <dlfcn.h>
#include <string.h>

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
	bool usable;
	int opcodes[OPCODES];  /* QEMU's numbers */
	int64_t offset;        /* of the value, from the CPU's env; 0: not yet known */
	const uintptr_t *env;  /* TCG's variable for it: an offset into the TCGContext */
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
		/* a name that is not QEMU's own: these are no definitions any more, or never were */
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

bool stores_init(void)
{
#ifdef __x86_64__
	tcg.env = dlsym(RTLD_DEFAULT, "tcg_env");
	tcg.emit = (struct op *(*)(int, unsigned))dlsym(RTLD_DEFAULT, "tcg_emit_op");
	tcg.remove = (void (*)(void *, struct op *))dlsym(RTLD_DEFAULT, "tcg_op_remove");
	tcg.usable = tcg.env && tcg.emit && tcg.remove && dlsym(RTLD_DEFAULT, "tcg_ctx") &&
		     learn_opcodes(dlsym(RTLD_DEFAULT, "tcg_op_defs"));
#endif
	return tcg.usable;
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

/* This thread's list. */
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

/* Where the operation stores, from the CPU's env; NOWHERE: it does not store there. */
static int64_t store_offset(const uint8_t *context, const struct op *op)
{
	bool store = op->opcode == tcg.opcodes[STORE_32] || op->opcode == tcg.opcodes[STORE_64];

	return store && op->n_args >= 3 && op->args[1] == (uintptr_t)(context + *tcg.env) ? (int64_t)op->args[2] : NOWHERE;
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
	const struct link *head = tcg.usable ? ops_of(&context) : NULL;
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
