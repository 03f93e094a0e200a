/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory that an interpreter's run has touched, as it is then; what it stores stays here. */
#include <string.h>

#include "base/map.h"
#include "x86_interpreter_state.h"

void x86_interpreter_end(struct x86_interpreter *x, enum x86_end end)
{
	if (x->end == X86_GOES_ON)
		x->end = end;
}

static struct piece *find_piece(struct x86_interpreter *x, uint64_t addr)
{
	size_t i = hash64(addr) & (PIECES - 1);
	struct piece *p;

	for (; (p = &x->pieces[i])->run == x->run; i = (i + 1) & (PIECES - 1))
		if (p->addr == addr)
			return p;
	if (x->pieces_used == PIECES_MAX) {
		x86_interpreter_end(x, X86_TOO_LONG);
		return NULL;
	}
	if (addr - X86_SCRATCH < X86_SCRATCH_SIZE) {
		memset(p->bytes, 0, PIECE);
	} else if (!x->calls->read(x->context, addr, p->bytes, PIECE)) {
		x86_interpreter_end(x, X86_NOT_READ);
		return NULL;
	}
	p->addr = addr;
	p->run = x->run;
	x->pieces_used++;
	return p;
}

/* The memory at an aligned address, as it is now. NULL: it cannot be had, which ends the run. */
static struct piece *piece_at(struct x86_interpreter *x, uint64_t addr)
{
	if (!x->last || x->last->addr != addr)
		x->last = find_piece(x, addr);
	return x->last;
}

/* Go through memory piece by piece. */
static bool access_memory(struct x86_interpreter *x, uint64_t addr, void *load, const void *store, size_t n)
{
	for (size_t done = 0, part; done < n; done += part) {
		size_t offset = (addr + done) % PIECE;
		struct piece *p = piece_at(x, addr + done - offset);

		part = n - done < PIECE - offset ? n - done : PIECE - offset;
		if (!p)
			return false;
		if (store)
			memcpy(p->bytes + offset, (const char *)store + done, part);
		else
			memcpy((char *)load + done, p->bytes + offset, part);
	}
	return true;
}

bool x86_interpreter_load(struct x86_interpreter *x, uint64_t addr, void *data, size_t n)
{
	return access_memory(x, addr, data, NULL, n);
}

bool x86_interpreter_store(struct x86_interpreter *x, uint64_t addr, const void *data, size_t n)
{
	return access_memory(x, addr, NULL, data, n);
}
