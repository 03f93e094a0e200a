/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel_marks.h"

#include <ctype.h>
#include <string.h>

static const char banner[] = "Linux version ";

/* Is it the kernel's own banner, and not a message's format? */
static bool is_banner(const char *text, size_t len, size_t *ret_len)
{
	size_t n = strnlen(text, len);

	if (n == len || n <= sizeof banner || text[n - 1] != '\n' || !isdigit((unsigned char)text[sizeof banner - 1]))
		return false;
	*ret_len = n;
	return memmem(text, n, " (", 2) && memmem(text, n, "#", 1);
}

bool marks_banner(const void *data, size_t len, size_t *ret_at, size_t *ret_len)
{
	const char *p = data, *end = p + len, *hit;

	while ((hit = memmem(p, (size_t)(end - p), banner, sizeof banner - 1))) {
		size_t left = (size_t)(end - hit);

		if (is_banner(hit, left < BANNER_MAX ? left : BANNER_MAX, ret_len)) {
			*ret_at = (size_t)(hit - (const char *)data);
			return true;
		}
		p = hit + 1;
	}
	return false;
}

struct btf_start {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t hdr_len, type_off, type_len, str_off, str_len;
};

/* Types, then strings, of which the first is empty. A kernel's are larger than this by far. */
static bool is_btf(const uint8_t *at, size_t left, size_t *ret_len)
{
	enum { TYPES_MIN = 4096, PART_MAX = 1 << 28 };
	struct btf_start h;
	size_t end;

	if (left < sizeof h)
		return false;
	memcpy(&h, at, sizeof h);
	if (h.flags || h.hdr_len < sizeof h || h.hdr_len > 4096 || h.type_off || h.type_len < TYPES_MIN ||
	    h.type_len > PART_MAX || h.str_off != h.type_len || h.str_len > PART_MAX)
		return false;
	end = (size_t)h.hdr_len + h.str_off + h.str_len;
	if (end > left || !h.str_len || at[h.hdr_len + h.str_off] || at[end - 1])
		return false;
	*ret_len = end;
	return true;
}

bool marks_btf(const void *data, size_t len, size_t *ret_at, size_t *ret_len)
{
	static const uint8_t start[] = { 0x9f, 0xeb, 1, 0 };
	const uint8_t *p = data, *end = p + len, *hit;

	while ((hit = memmem(p, (size_t)(end - p), start, sizeof start))) {
		if (is_btf(hit, (size_t)(end - hit), ret_len)) {
			*ret_at = (size_t)(hit - (const uint8_t *)data);
			return true;
		}
		p = hit + 1;
	}
	return false;
}

/*
 * What a callee keeps is pushed, and the stack pointer stored at an offset in the first argument; it is loaded from the
 * same of the second.
 */
struct switch_code {
	uint8_t pushes[16], load[4];
	uint8_t n_pushes, n_load;
};

static const struct switch_code code_64 = {
	/* push %rbp, %rbx, %r12, %r13, %r14, %r15; mov %rsp,sp(%rdi); mov sp(%rsi),%rsp */
	.pushes = { 0x55, 0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, 0x48, 0x89, 0xa7 }, .n_pushes = 13,
	.load = { 0x48, 0x8b, 0xa6 }, .n_load = 3,
}, code_32 = {
	/* push %ebp, %ebx, %edi, %esi; pushf; mov %esp,sp(%eax); mov sp(%edx),%esp */
	.pushes = { 0x55, 0x53, 0x57, 0x56, 0x9c, 0x89, 0xa0 }, .n_pushes = 7,
	.load = { 0x8b, 0xa2 }, .n_load = 2,
};

/* Behind the pushes: the offset, the load, and the same offset. */
static bool switches_at(const struct switch_code *c, const uint8_t *hit, size_t left)
{
	enum { OFFSET = sizeof(uint32_t) };
	size_t load = c->n_pushes + OFFSET;

	return left >= load + c->n_load + OFFSET && !memcmp(hit + load, c->load, c->n_load) &&
	       !memcmp(hit + c->n_pushes, hit + load + c->n_load, OFFSET);
}

bool marks_task_switch(const void *data, size_t len, bool narrow, size_t *ret_at)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const struct switch_code *c = narrow ? &code_32 : &code_64;
	const uint8_t *p = data, *end = p + len, *hit;

	while ((hit = memmem(p, (size_t)(end - p), c->pushes, c->n_pushes))) {
		p = hit + 1;
		if (!switches_at(c, hit, (size_t)(end - hit)))
			continue;
		if (hit - (const uint8_t *)data >= (long)sizeof endbr64 &&
		    !memcmp(hit - sizeof endbr64, endbr64, sizeof endbr64))
			hit -= sizeof endbr64;
		*ret_at = (size_t)(hit - (const uint8_t *)data);
		return true;
	}
	return false;
}

enum { COMM = 16, COMM_AT_MAX = 16384 };

static uint64_t word_at(const uint8_t *data, size_t at)
{
	uint64_t word;

	memcpy(&word, data + at, sizeof word);
	return word;
}

/* "swapper", or as it is called once vCPUs are numbered. */
static bool is_first_name(const char *at)
{
	size_t n = strnlen(at, COMM);

	return (n == 7 || (n == 9 && !memcmp(at + 7, "/0", 2))) && !at[COMM - 1];
}

/* real_parent, parent; children and sibling, which are lists; group_leader. */
static bool is_own_parent(const uint8_t *data, size_t at, uint64_t addr, uint64_t task)
{
	enum { PARENT = 8, LEADER = 48 };

	return word_at(data, at + PARENT) == task && word_at(data, at + LEADER) == task && addr + at != task;
}

/* The name is at `comm`. Is it a task's, whose own address is somewhere before it? */
static bool task_of_name(const uint8_t *data, size_t comm, uint64_t addr, struct first_task_marks *ret)
{
	enum { BEHIND = 56 };
	size_t from = comm > COMM_AT_MAX ? comm - COMM_AT_MAX : 0;

	for (size_t at = from + (-(addr + from) & 7); at + BEHIND <= comm; at += 8) {
		uint64_t task = word_at(data, at);

		if (task < addr + at && addr + comm - task <= COMM_AT_MAX && is_own_parent(data, at, addr, task)) {
			*ret = (struct first_task_marks){
				.comm = (uint32_t)(addr + comm - task), .real_parent = (uint32_t)(addr + at - task),
			};
			return true;
		}
	}
	return false;
}

bool marks_first_task(const void *data, size_t len, uint64_t addr, struct first_task_marks *ret)
{
	const char *p = data, *end = p + len, *hit;

	while ((hit = memmem(p, (size_t)(end - p), "swapper", 7)) && end - hit >= COMM) {
		if (is_first_name(hit) && task_of_name(data, (size_t)(hit - (const char *)data), addr, ret))
			return true;
		p = hit + 1;
	}
	return false;
}
