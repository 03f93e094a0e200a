/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends of three million calls, nested as a program's are, each told when it comes: some at once, some a million calls later, some never. */
#include "analysis/kd/row_ends.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 3000000, DEEP = 64, NEVER = 97 };

static int64_t ns_of(uint64_t row)
{
	return row % NEVER ? (int64_t)(row * 0x9e3779b97f4a7c15u >> 8) : ROW_ENDS_NONE;
}

static void end_call(struct row_ends *e, uint64_t row)
{
	if (row % NEVER)
		row_ends_set(e, row, ns_of(row));
}

int main(void)
{
	struct row_ends ends;
	uint64_t stack[DEEP];
	size_t depth = 0;
	struct error err;
	uint64_t wrong = 0;

	row_ends_init(&ends);
	for (uint64_t row = 0; row < ROWS; row++) {
		/* those at the bottom stay for long */
		while (depth && (depth == DEEP || row * 2654435761u % (1u << 31) % (depth < 4 ? 700000 : 3) == 0))
			end_call(&ends, stack[--depth]);
		row_ends_add(&ends);
		stack[depth++] = row;
	}
	while (depth)
		end_call(&ends, stack[--depth]);
	if (row_ends_rewind(&ends, &err) < 0) {
		printf("%s\n", err.text);
		row_ends_deinit(&ends);
		return 1;
	}
	for (uint64_t row = 0; row < ROWS; row++)
		wrong += row_ends_next(&ends) != ns_of(row);
	printf("%ju of %d wrong\n", (uintmax_t)wrong, ROWS);
	row_ends_deinit(&ends);
	return wrong != 0;
}
