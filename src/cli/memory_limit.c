/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "memory_limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/decimal.h"
#include "cli/print/output_file.h"
#include "cli/print/quantity.h"
#include "cli/print/terminal.h"
#include "command.h"
#include "trace/phrases.h"

enum {
	ANY = 1 << 30,   /* what any trace may need: tables have their full size also for a small one */
	A_BYTE = 64,     /* for a byte of a chunk's payload; arrays grow by doubling */
	AN_EVENT = 256,  /* a list of all calls has a row of 100 bytes for each */
};

static bool is_told;           /* the user said what the limit is */
static const char *trace_path; /* of the trace that was opened last; kept, since the reader may be gone */

/* It may be any thread that asks. What was printed so far stays. */
static void refuse(size_t bytes, size_t limit)
{
	struct buf out = { 0 };

	/* what follows needs little, but it needs some */
	alloc_limit(SIZE_MAX, NULL);
	terminal_end_progress();
	buf_printf(&out, "upto: ");
	terminal_escape(&out, trace_path);
	buf_printf(&out, is_told ? ": " : ": is damaged, or upto is wrong: ");
	put_amount(&out, bytes, false);
	buf_printf(&out, "B of memory are asked for at once, and ");
	buf_printf(&out, is_told ? "UPTO_MEMORY allows " : "what is in the trace justifies ");
	put_amount(&out, limit, false);
	buf_printf(&out, is_told ? "B\n" : "B; UPTO_MEMORY allows another amount\n");
	fflush(stdout);
	fwrite(out.data, 1, out.len, stderr);
	output_file_discard();
	_exit(EXIT_FAILED);
}

/* A number with K, M or G behind it. False: it is none. */
static bool bytes_parse(const char *text, size_t *ret)
{
	static const char units[] = "KMG";
	uint64_t bytes;
	const char *unit;

	if (!decimal_parse(&text, 0, &bytes))
		return false;
	unit = *text ? strchr(units, *text) : NULL;
	if (*text &&
	    (!unit || text[1] || __builtin_mul_overflow(bytes, (size_t)1 << (10 * (unit - units + 1)), &bytes)))
		return false;
	*ret = bytes;
	return true;
}

/* A call and all of its phrase may take one byte: no chunk has more events than that. */
static size_t justified(const struct reader *r)
{
	size_t bytes = ANY;

	for (size_t i = 0; i < r->n_chunks; i++) {
		const struct chunk_header *h = &r->chunks[i].header;
		uint64_t events = h->events, most = (uint64_t)h->unpacked * (PHRASE_EVENTS + 1);

		bytes += (uint64_t)h->unpacked * A_BYTE + (events < most ? events : most) * AN_EVENT;
	}
	return bytes;
}

void memory_limit(const struct reader *r)
{
	static size_t largest;
	const char *told = getenv("UPTO_MEMORY");
	size_t bytes = justified(r);

	is_told = told && bytes_parse(told, &bytes);
	if (told && *told && !is_told)
		fprintf(stderr, "upto: UPTO_MEMORY: not a number of bytes, as 40G\n");
	largest = bytes > largest ? bytes : largest;
	free((char *)trace_path);
	trace_path = xstrdup(r->path);
	alloc_limit(largest, refuse);
}
