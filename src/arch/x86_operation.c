/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "x86_operation.h"

#include <Zydis/Zydis.h>
#include <string.h>

#define SAME(name) [ZYDIS_MNEMONIC_##name] = X86_OP_##name
#define SIZES(name, value)                                                                        \
	[ZYDIS_MNEMONIC_##name##B] = value(name, 1), [ZYDIS_MNEMONIC_##name##W] = value(name, 2), \
	[ZYDIS_MNEMONIC_##name##D] = value(name, 4), [ZYDIS_MNEMONIC_##name##Q] = value(name, 8)
#define OPERATION(name, size) X86_OP_##name
#define SIZE(name, size) size
#define NOTHING(name) [ZYDIS_MNEMONIC_##name] = X86_OP_NOTHING

/* By mnemonic; those with conditions are told by their category. */
static const uint8_t operations[ZYDIS_MNEMONIC_MAX_VALUE + 1] = {
	SAME(ADC),
	SAME(ADD),
	SAME(AND),
	SAME(BSF),
	SAME(BSR),
	SAME(BSWAP),
	SAME(BT),
	SAME(BTC),
	SAME(BTR),
	SAME(BTS),
	SAME(CALL),
	SAME(CBW),
	SAME(CDQ),
	SAME(CDQE),
	SAME(CLD),
	SAME(CLI),
	SAME(CMP),
	SAME(CMPXCHG),
	SAME(CQO),
	SAME(CWDE),
	SAME(DEC),
	SAME(DIV),
	SAME(IDIV),
	SAME(IMUL),
	SAME(INC),
	SAME(JMP),
	SAME(LEA),
	SAME(LEAVE),
	SAME(LZCNT),
	SAME(MOV),
	SAME(MOVSX),
	SAME(MOVSXD),
	SAME(MOVZX),
	SAME(MUL),
	SAME(NEG),
	SAME(NOP),
	SAME(NOT),
	SAME(OR),
	SAME(POP),
	SAME(POPCNT),
	SAME(POPFQ),
	SAME(PUSH),
	SAME(PUSHFQ),
	SAME(RDTSC),
	SAME(RDTSCP),
	SAME(RET),
	SAME(ROL),
	SAME(ROR),
	SAME(SAR),
	SAME(SBB),
	SAME(SHL),
	SAME(SHLD),
	SAME(SHR),
	SAME(SHRD),
	SAME(STI),
	SAME(SUB),
	SAME(TEST),
	SAME(TZCNT),
	SAME(XADD),
	SAME(XCHG),
	SAME(XOR),
	SIZES(MOVS, OPERATION),
	SIZES(STOS, OPERATION),
	SIZES(LODS, OPERATION),
	SIZES(SCAS, OPERATION),
	SIZES(CMPS, OPERATION),
	NOTHING(STAC),
	NOTHING(CLAC),
	NOTHING(LFENCE),
	NOTHING(MFENCE),
	NOTHING(SFENCE),
	NOTHING(PAUSE),
	NOTHING(ENDBR64),
	NOTHING(PREFETCHW),
	NOTHING(PREFETCHT0),
	NOTHING(PREFETCHT1),
	NOTHING(PREFETCHT2),
	NOTHING(PREFETCHNTA),
};

static const uint8_t elements[ZYDIS_MNEMONIC_MAX_VALUE + 1] = {
	SIZES(MOVS, SIZE), SIZES(STOS, SIZE), SIZES(LODS, SIZE), SIZES(SCAS, SIZE), SIZES(CMPS, SIZE),
};

static bool is_our_register(ZydisRegister reg, struct x86_operand *o)
{
	int id = ZydisRegisterGetId(reg);

	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_GPR64:
	case ZYDIS_REGCLASS_GPR32:
	case ZYDIS_REGCLASS_GPR16:
		o->reg = (uint8_t)id;
		return true;
	case ZYDIS_REGCLASS_GPR8: /* al cl dl bl, ah ch dh bh, spl bpl sil dil, r8b … */
		o->reg = (uint8_t)(id < 4 ? id : id < 8 ? (id - 4) | X86_HIGH_BYTE : id - 4);
		return true;
	default:
		return false;
	}
}

static bool take_base(ZydisRegister reg, uint8_t *ret)
{
	struct x86_operand o;

	*ret = X86_NO_REGISTER;
	if (reg == ZYDIS_REGISTER_NONE)
		return true;
	if (reg == ZYDIS_REGISTER_RIP) {
		*ret = X86_RIP_RELATIVE;
		return true;
	}
	if (!is_our_register(reg, &o))
		return false;
	*ret = o.reg;
	return true;
}

static bool take_operand(const struct x86_operation *in, const ZydisDecodedOperand *from, struct x86_operand *o)
{
	o->size = (uint8_t)(from->size / 8);
	switch (from->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		o->kind = X86_REGISTER;
		return is_our_register(from->reg.value, o);
	case ZYDIS_OPERAND_TYPE_MEMORY:
		o->kind = X86_MEMORY;
		o->scale = from->mem.scale;
		o->value = from->mem.disp.has_displacement ? from->mem.disp.value : 0;
		o->segment = from->mem.segment == ZYDIS_REGISTER_GS   ? 'g'
			     : from->mem.segment == ZYDIS_REGISTER_FS ? 'f'
								      : 0;
		return o->size <= 8 && take_base(from->mem.base, &o->base) && take_base(from->mem.index, &o->index);
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		o->kind = X86_IMMEDIATE;
		o->value = from->imm.value.s;
		if (from->imm.is_relative)
			o->value += (int64_t)(in->addr + in->length);
		return true;
	default:
		return false;
	}
}

static enum x86_operation_kind operation_of(const ZydisDecodedInstruction *z)
{
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_COND_BR: /* 70 … 7f, 0f 80 … 8f; others go by rcx */
		return (z->opcode & 0xf0) == 0x70 || (z->opcode & 0xf0) == 0x80 ? X86_OP_JCC : X86_OP_UNKNOWN;
	case ZYDIS_CATEGORY_CMOV:
		return X86_OP_CMOVCC;
	case ZYDIS_CATEGORY_SETCC:
		return X86_OP_SETCC;
	default:
		return (enum x86_operation_kind)operations[z->mnemonic];
	}
}

static ZydisDecoder decoder(void)
{
	ZydisDecoder d;

	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return d;
}

bool x86_operation_decode(uint64_t addr, const uint8_t *bytes, size_t n, struct x86_operation *ret)
{
	const ZydisDecoder d = decoder();
	ZydisDecodedInstruction z;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	*ret = (struct x86_operation){ 0 };
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, bytes, n, &z, operands)))
		return false;
	ret->addr = addr;
	ret->length = z.length;
	memcpy(ret->bytes, bytes, z.length);
	ret->operation = (uint8_t)operation_of(&z);
	ret->element = elements[z.mnemonic];
	ret->condition = z.opcode & 0xf;
	ret->address_size = z.address_width / 8;
	ret->repeats = z.attributes & ZYDIS_ATTRIB_HAS_REPNE                           ? 2
		       : z.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE) ? 1
										       : 0;
	ret->moved = z.attributes & (ZYDIS_ATTRIB_HAS_SEGMENT_FS | ZYDIS_ATTRIB_HAS_SEGMENT_GS);
	if (z.mnemonic == ZYDIS_MNEMONIC_NOP) /* what it seems to read, it does not */
		return true;
	for (unsigned i = 0, at = 0; i < z.operand_count_visible; i++) {
		bool hidden = operands[i].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;

		if (!hidden && at < X86_OPERANDS && !take_operand(ret, &operands[i], &ret->operands[at++]))
			ret->operation = X86_OP_UNKNOWN;
	}
	return true;
}

const char *x86_mnemonic(const uint8_t *bytes, size_t n)
{
	const ZydisDecoder d = decoder();
	ZydisDecodedInstruction z;

	if (!n || !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, bytes, n, &z)))
		return "?";
	return ZydisMnemonicGetString(z.mnemonic);
}
