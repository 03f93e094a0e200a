/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "x86_interpreter_state.h"

struct x86_interpreter *x86_interpreter_new(const struct x86_interpreter_calls *calls)
{
	struct x86_interpreter *x = xcalloc(1, sizeof *x);

	x->calls = calls;
	return x;
}

void x86_interpreter_free(struct x86_interpreter *x)
{
	free(x);
}

void x86_interpreter_begin(struct x86_interpreter *x, const struct x86_state *state, uint64_t back, void *context)
{
	x->state = *state;
	x->back = back;
	x->context = context;
	if (!++x->run) { /* it has come round */
		memset(x->pieces, 0, sizeof x->pieces);
		memset(x->lines, 0, sizeof x->lines);
		x->run = 1;
	}
	x->pieces_used = x->steps = 0;
	x->last = NULL;
	x->guessed = false;
	x->top = state->registers[X86_RSP];
	x->end = X86_GOES_ON;
}

struct x86_state *x86_interpreter_state(struct x86_interpreter *x)
{
	return &x->state;
}

/* Copy the code at rip, as far as it can be read. Returns how much. */
static size_t read_code(struct x86_interpreter *x, uint64_t addr, uint8_t *bytes)
{
	size_t n = 0;

	while (n < X86_INSN_MAX) {
		uint64_t begin = (addr + n) & ~(uint64_t)(LINE - 1), offset = addr + n - begin;
		struct line *l = &x->lines[begin / LINE % LINES];
		size_t part = LINE - offset < X86_INSN_MAX - n ? LINE - offset : X86_INSN_MAX - n;

		if (l->run != x->run || l->addr != begin) {
			l->run = 0;
			if (!x->calls->read(x->context, begin, l->bytes, LINE))
				break;
			l->run = x->run;
			l->addr = begin;
		}
		memcpy(bytes + n, l->bytes + offset, part);
		n += part;
	}
	return n;
}

/* The instruction at rip. NULL ends the run. */
static const struct x86_operation *fetch(struct x86_interpreter *x)
{
	uint64_t addr = x->state.rip;
	struct x86_operation *in = &x->operations[hash64(addr) & (CACHED - 1)];
	uint8_t bytes[X86_INSN_MAX];
	size_t n = read_code(x, addr, bytes);

	if (in->addr == addr && in->length && in->length <= n && !memcmp(in->bytes, bytes, in->length))
		return in;
	if (!n) {
		x86_interpreter_end(x, X86_NOT_READ);
		return NULL;
	}
	if (!x86_operation_decode(addr, bytes, n, in)) {
		x86_interpreter_end(x, n < X86_INSN_MAX ? X86_NOT_READ : X86_NOT_UNDERSTOOD);
		return NULL;
	}
	return in;
}

bool x86_interpreter_has_guessed(const struct x86_interpreter *x)
{
	return x->guessed;
}

const char *x86_interpreter_mnemonic(struct x86_interpreter *x)
{
	uint8_t bytes[X86_INSN_MAX];

	return x86_mnemonic(bytes, read_code(x, x->state.rip, bytes));
}

enum x86_end x86_interpreter_run(struct x86_interpreter *x)
{
	if (x->end == X86_STOPPED)
		x->end = X86_GOES_ON;
	while (x->end == X86_GOES_ON) {
		const struct x86_operation *in;

		if (x->back && x->state.rip == x->back && x->state.registers[X86_RSP] == x->top) {
			x86_interpreter_end(x, X86_LEFT);
			break;
		}
		in = fetch(x);
		if (!in)
			break;
		if (++x->steps > STEPS_MAX) {
			x86_interpreter_end(x, X86_TOO_LONG);
			break;
		}
		x->state.rip += in->length;
		x86_execute(x, in);
		if (x->end == X86_NOT_UNDERSTOOD || x->end == X86_NOT_READ)
			x->state.rip = in->addr;
	}
	return x->end;
}
