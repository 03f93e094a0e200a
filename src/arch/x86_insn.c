/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "x86_insn.h"

#include <string.h>

static bool is_legacy_prefix(uint8_t b)
{
	switch (b) {
	case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65:
	case 0x66: case 0x67: case 0xf0: case 0xf2: case 0xf3:
		return true;
	default:
		return false;
	}
}

static struct x86_insn direct(enum x86_kind kind, const uint8_t *disp, size_t n)
{
	struct x86_insn insn = { .kind = kind };

	switch (n) {
	case 1:
		insn.disp = (int8_t)disp[0];
		break;
	case 2:
		insn.disp = (int16_t)(disp[0] | disp[1] << 8);
		break;
	case 4:
		insn.disp = (int32_t)(disp[0] | disp[1] << 8 | disp[2] << 16 | (uint32_t)disp[3] << 24);
		break;
	default:
		insn.kind = X86_OTHER;
	}
	return insn;
}

static struct x86_insn group5(uint8_t modrm, uint8_t rex)
{
	bool reg = modrm >> 6 == 3;
	struct x86_insn insn = { .reg = (uint8_t)((modrm & 7) | (rex & 1) << 3) };

	switch (modrm >> 3 & 7) {
	case 2:
		insn.kind = reg ? X86_CALL_REG : X86_CALL_MEM;
		break;
	case 3:
		insn.kind = X86_CALL_FAR;
		break;
	case 4:
		insn.kind = reg ? X86_JUMP_REG : X86_JUMP_MEM;
		break;
	case 5:
		insn.kind = X86_JUMP_FAR;
		break;
	default:
		break;
	}
	return insn;
}

static struct x86_insn two_byte(const uint8_t *p, size_t n, uint8_t rex)
{
	struct x86_insn insn = { 0 };
	uint8_t modrm = n > 1 ? p[1] : 0;

	if (p[0] >= 0x80 && p[0] <= 0x8f)
		return direct(X86_JUMP_COND, p + 1, n - 1);
	switch (p[0]) {
	case 0x05:
		insn.kind = X86_SYSCALL;
		break;
	case 0x07:
		insn.kind = X86_SYSRET;
		break;
	case 0x34:
		insn.kind = X86_SYSENTER;
		break;
	case 0x35:
		insn.kind = X86_SYSEXIT;
		break;
	case 0x30:
		insn.kind = X86_WRMSR;
		break;
	case 0x01:
		if (n > 1 && (modrm == 0xc9 || modrm == 0xfb)) /* mwait, mwaitx */
			insn.kind = X86_HALT;
		else if (n > 1 && modrm >> 6 != 3 && (modrm >> 3 & 7) == 3)
			insn.kind = X86_LIDT;
		break;
	case 0x22:
		insn.kind = X86_MOV_CR;
		insn.reg = (uint8_t)((modrm & 7) | (rex & 1) << 3);
		insn.cr = (uint8_t)((modrm >> 3 & 7) | (rex & 4) << 1);
		break;
	default:
		break;
	}
	return insn;
}

/* ptr16:16 or ptr16:32 */
static struct x86_insn direct_far(const uint8_t *p, size_t n)
{
	struct x86_insn insn = { 0 };
	size_t offset = n == 6 ? 4 : 2;

	if (n != 4 && n != 6)
		return insn;
	insn.kind = X86_JUMP_FAR_DIRECT;
	memcpy(&insn.offset, p, offset);
	memcpy(&insn.segment, p + offset, sizeof insn.segment);
	return insn;
}

static struct x86_insn one_byte(const uint8_t *p, size_t n, uint8_t rex)
{
	struct x86_insn insn = { 0 };

	if ((p[0] >= 0x70 && p[0] <= 0x7f) || (p[0] >= 0xe0 && p[0] <= 0xe3))
		return direct(X86_JUMP_COND, p + 1, n - 1);
	switch (p[0]) {
	case 0xe8:
		return direct(X86_CALL, p + 1, n - 1);
	case 0xe9:
	case 0xeb:
		return direct(X86_JUMP, p + 1, n - 1);
	case 0xff:
		return n > 1 ? group5(p[1], rex) : insn;
	case 0xc2:
	case 0xc3:
		insn.kind = X86_RET;
		break;
	case 0xca:
	case 0xcb:
		insn.kind = X86_RET_FAR;
		break;
	case 0x9a:
		insn.kind = X86_CALL_FAR;
		break;
	case 0xea:
		return direct_far(p + 1, n - 1);
	case 0xcf:
		insn.kind = X86_IRET;
		break;
	case 0xe6:
	case 0xe7:
	case 0xee:
	case 0xef:
		insn.kind = X86_OUT;
		break;
	case 0xf4:
		insn.kind = X86_HALT;
		break;
	default:
		break;
	}
	return insn;
}

/* ins, outs, movs, cmps, stos, lods, scas */
static bool is_string(uint8_t opcode)
{
	return (opcode >= 0x6c && opcode <= 0x6f) || (opcode >= 0xa4 && opcode <= 0xa7) ||
	       (opcode >= 0xaa && opcode <= 0xaf);
}

struct x86_insn x86_decode(const uint8_t *p, size_t len)
{
	struct x86_insn insn = { 0 };
	const uint8_t *end = p + len;
	bool opsize = false, rep = false;
	uint8_t rex = 0;

	for (; p < end && is_legacy_prefix(*p); p++) {
		opsize |= *p == 0x66;
		rep |= *p == 0xf2 || *p == 0xf3;
	}
	if (end - p > 1 && (*p & 0xf0) == 0x40)
		rex = *p++;
	if (p == end)
		return insn;
	if (*p == 0x0f)
		insn = end - p > 1 ? two_byte(p + 1, (size_t)(end - p - 1), rex) : insn;
	else
		insn = one_byte(p, (size_t)(end - p), rex);
	insn.opsize = opsize;
	insn.repeats = rep && is_string(*p);
	return insn;
}
