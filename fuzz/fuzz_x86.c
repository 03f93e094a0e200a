/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every string of 0 to 15 bytes in the input as an instruction: x86_decode() must not read past it. */
#include "fuzz.h"

#include "arch/x86_insn.h"

enum { STARTS_MAX = 64, INSN_MAX = 15 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t nothing[INSN_MAX];
	struct guarded g = guarded_copy(nothing, INSN_MAX, 1);
	uint8_t *end = g.data + INSN_MAX;

	for (size_t start = 0; start <= size && start < STARTS_MAX; start++)
		for (size_t len = 0; len <= INSN_MAX && len <= size - start; len++) {
			struct x86_insn insn;

			if (len)
				memcpy(end - len, data + start, len);
			insn = x86_decode(end - len, len);
			must(insn.kind <= X86_OUT && insn.reg < 16 && insn.cr < 16);
			must(len || insn.kind == X86_OTHER);
		}
	guarded_free(&g);
	return 0;
}
