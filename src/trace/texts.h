/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings that arguments of system calls point to, as the recorder read them (docs/format.md, chunk TEXTS). */
#ifndef UPTO_TRACE_TEXTS_H
#define UPTO_TRACE_TEXTS_H

#include "base/map.h"
#include "reader.h"

/*
 * Instead of a string: KASAN was told of an object. `bytes` are its address and its size, 8 bytes each; size 0: not
 * known.
 */
enum text_object { TEXT_ALLOCATED = 6, TEXT_FREED = 7 };

struct text {
	uint32_t cpu;           /* vCPU and clock of the call's SYSCALL event */
	uint64_t insns;
	unsigned arg;           /* 0 to 5; or an enum text_object */
	bool cut;               /* the string is longer than `bytes` */
	const void *bytes;
	size_t len;
};

void text_put(struct buf *out, const struct text *text);

struct texts {
	struct text *list;
	size_t count, cap;
	struct buf bytes;       /* memory of all texts' `bytes` */
	struct map index;
};

/* Read all texts of system calls. Errors name the file. Call texts_deinit() also after an error. */
int texts_read(const struct reader *r, struct texts *ret, struct error *err);
void texts_deinit(struct texts *t);

/* Those alone that keep() wants; NULL: all, those of objects, too. */
int texts_read_some(const struct reader *r, bool (*keep)(void *state, const struct text *text), void *state,
		    struct texts *ret, struct error *err);

/*
 * Is what is written TAP that tells of tests: does it begin as that ("TAP version 13", "1..4", "# selftests: folder:
 * name"), or has it a line "ok 1 name" or "not ok 2 name"? Of that more is recorded.
 */
bool text_is_tap(const void *bytes, size_t len);

/* The text that an argument of a call points to, or NULL. Valid until texts_deinit(). */
const struct text *texts_find(const struct texts *t, uint32_t cpu, uint64_t insns, unsigned arg);

#endif
