/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "orc.h"

#include <string.h>

#include "base/search.h"

enum {
	IP_BYTES = 4,
	ENTRY_BYTES = 6,
	/* struct pt_regs, arch/x86/include/asm/ptrace.h */
	REGS_BP = 32, REGS_IP = 128, REGS_CS = 136, REGS_SP = 152,
};

/* ORC_REG_… */
enum { REG_UNDEFINED, REG_PREV_SP, REG_DX, REG_DI, REG_BP, REG_SP, REG_R10, REG_R13, REG_BP_INDIRECT, REG_SP_INDIRECT };

enum kind { KIND_UNKNOWN, KIND_END, KIND_CALL, KIND_REGS };

struct entry {
	enum kind kind;
	int16_t sp_offset, bp_offset;
	unsigned sp_reg, bp_reg;
};

static uint64_t code_of(const struct orc *o, size_t i)
{
	int32_t offset;

	memcpy(&offset, o->ips.data + i * IP_BYTES, sizeof offset);
	return o->ips_at + i * IP_BYTES + (uint64_t)(int64_t)offset;
}

/*
 * Before 6.4: 2 bits of type, one for the end; since then 3 bits of type. Registers of which only some are there:
 * unknown.
 */
static enum kind kind_of(const struct orc *o, uint8_t flags, unsigned sp_reg)
{
	static const enum kind now[8] = { KIND_UNKNOWN, KIND_END, KIND_CALL, KIND_REGS },
			       before[4] = { KIND_CALL, KIND_REGS };

	if (!o->old)
		return now[flags & 7];
	if (flags >> 2 & 1)
		return KIND_END;
	return (flags & 3) == 0 && sp_reg == REG_UNDEFINED ? KIND_UNKNOWN : before[flags & 3];
}

/* The last entry that begins at the address or before. */
static bool find(const struct orc *o, uint64_t ip, struct entry *ret)
{
	size_t low = first_not(i, 0, o->ips.len / IP_BYTES, code_of(o, i) <= ip);
	const uint8_t *p;

	if (!low || low * ENTRY_BYTES > o->entries.len)
		return false;
	p = o->entries.data + (low - 1) * ENTRY_BYTES;
	memcpy(&ret->sp_offset, p, 2);
	memcpy(&ret->bp_offset, p + 2, 2);
	ret->sp_reg = p[4] & 15;
	ret->bp_reg = p[4] >> 4;
	ret->kind = kind_of(o, p[5], ret->sp_reg);
	return true;
}

static bool word(const struct orc_memory *m, uint64_t addr, uint64_t *ret)
{
	return m->read(m->state, addr, ret, sizeof *ret);
}

/* The stack pointer as it was before the call that led here. */
static bool caller_sp(const struct orc_memory *m, const struct entry *e, const struct orc_registers *regs,
		      uint64_t *ret)
{
	uint64_t offset = (uint64_t)(int64_t)e->sp_offset;

	switch (e->sp_reg) {
	case REG_SP:
		*ret = regs->sp + offset;
		return true;
	case REG_BP:
		*ret = regs->bp + offset;
		return true;
	case REG_BP_INDIRECT:
		return word(m, regs->bp + offset, ret);
	case REG_SP_INDIRECT:
		if (!word(m, regs->sp, ret))
			return false;
		*ret += offset;
		return true;
	default: /* in a register that is not known of a thread that sleeps */
		return false;
	}
}

static enum orc_step entered(const struct orc_memory *m, uint64_t at, struct orc_registers *regs, uint64_t *ret_slot)
{
	struct orc_registers from = { .cut = true };
	uint64_t cs;

	if (!word(m, at + REGS_IP, &from.ip) || !word(m, at + REGS_CS, &cs) || !word(m, at + REGS_SP, &from.sp) ||
	    !word(m, at + REGS_BP, &from.bp))
		return ORC_UNKNOWN;
	*regs = from;
	*ret_slot = at + REGS_IP;
	return cs & 3 ? ORC_USER : ORC_KERNEL;
}

enum orc_step orc_step(const struct orc *o, const struct orc_memory *m, struct orc_registers *regs, uint64_t *ret_slot)
{
	struct orc_registers caller = *regs;
	struct entry e;
	uint64_t sp;

	/* a call may be the last instruction of its function: it is looked for, not what lies behind it */
	if (!find(o, regs->cut ? regs->ip : regs->ip - 1, &e) || e.kind == KIND_UNKNOWN)
		return ORC_UNKNOWN;
	if (e.kind == KIND_END)
		return ORC_END;
	if (!caller_sp(m, &e, regs, &sp))
		return ORC_UNKNOWN;
	if (e.kind == KIND_REGS)
		return entered(m, sp, regs, ret_slot);
	if (!word(m, sp - sizeof sp, &caller.ip) ||
	    (e.bp_reg == REG_PREV_SP && !word(m, sp + (uint64_t)(int64_t)e.bp_offset, &caller.bp)) ||
	    (e.bp_reg == REG_BP && !word(m, regs->bp + (uint64_t)(int64_t)e.bp_offset, &caller.bp)))
		return ORC_UNKNOWN;
	*ret_slot = sp - sizeof sp;
	caller.sp = sp;
	caller.cut = false;
	*regs = caller;
	return ORC_CALL;
}

void orc_deinit(struct orc *o)
{
	buf_free(&o->ips);
	buf_free(&o->entries);
	*o = (struct orc){ 0 };
}
