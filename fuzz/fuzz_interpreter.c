/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any code, on any memory: the input, over and over again, with holes. It comes to an end, and touches nothing else. */
#include "fuzz.h"

#include <string.h>

#include "arch/x86_interpreter.h"

enum { HOLES = 8 };

struct memory {
	const uint8_t *bytes;
	size_t size;
	unsigned calls;
};

static bool read_memory(void *context, uint64_t addr, void *data, size_t n)
{
	const struct memory *m = context;

	if (addr / PAGE % HOLES == HOLES - 1)
		return false;
	for (size_t i = 0; i < n; i++)
		((uint8_t *)data)[i] = m->bytes[(addr + i) % m->size];
	return true;
}

static enum x86_answer call(void *context, struct x86_interpreter *x, uint64_t target)
{
	struct memory *m = context;

	must(x86_interpreter_state(x)->rip == target);
	return ++m->calls % 7 == 0 ? X86_STOP : m->calls % 3 == 0 ? X86_RETURN : X86_GO;
}

static uint64_t nop(void *context, struct x86_interpreter *x, uint64_t addr)
{
	(void)context, (void)x;
	return addr % 5 == 0 ? 1 : addr % 5 == 1 ? addr + 2 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct x86_interpreter_calls calls = { .read = read_memory, .call = call, .nop = nop };
	static struct x86_interpreter *x;
	struct guarded g = guarded_copy(data, size, 1);
	struct memory m = { g.data, size, 0 };
	struct x86_state state = { .rip = 0xffffffff81000000, .gs_base = 0xffff888000000000 };
	enum x86_end end = X86_STOPPED;

	if (size) {
		for (unsigned i = 0; i < X86_REGISTERS; i++)
			read_memory(&m, 8ull * i, &state.registers[i], 8);
		if (!x)
			x = x86_interpreter_new(&calls);
		x86_interpreter_begin(x, &state, state.rip + size, &m);
		for (unsigned i = 0; i < 16 && end == X86_STOPPED; i++)
			end = x86_interpreter_run(x);
		must(end != X86_GOES_ON && *x86_interpreter_mnemonic(x));
	}
	guarded_free(&g);
	return 0;
}
