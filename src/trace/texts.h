/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings that arguments of system calls point to, read when the call was made (docs/format.md, chunk TEXTS). */
#ifndef UPTO_TRACE_TEXTS_H
#define UPTO_TRACE_TEXTS_H

#include "base/map.h"
#include "reader.h"

struct text {
	uint32_t cpu;           /* the call's SYSCALL event: its vCPU and its clock */
	uint64_t insns;
	unsigned arg;           /* 0 to 5 */
	bool cut;               /* there is more of it */
	const void *bytes;
	size_t len;
};

void text_put(struct buf *out, const struct text *text);

struct texts {
	struct text *list;
	size_t count, cap;
	struct buf bytes;       /* that `bytes` point into */
	struct map index;
};

/* All texts of a trace. Errors name the file; call texts_deinit() also then. */
int texts_read(const struct reader *r, struct texts *ret, struct error *err);
void texts_deinit(struct texts *t);

/* What the argument points to, or NULL. */
const struct text *texts_find(const struct texts *t, uint32_t cpu, uint64_t insns, unsigned arg);

#endif
