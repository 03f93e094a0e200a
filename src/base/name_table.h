/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts, each kept once and known by its number: 0, 1, 2 … in the order in which they came. */
#ifndef UPTO_BASE_NAME_TABLE_H
#define UPTO_BASE_NAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct name_table {
	char *text;       /* all texts, each with its end */
	size_t len, cap;
	size_t *starts;   /* by number */
	size_t count, starts_cap;
	uint32_t *slots;  /* number + 1, by hash; 0: free */
	size_t mask;
};

void name_table_deinit(struct name_table *t);

/* The number of the text, which has no NUL. */
uint32_t name_table_put(struct name_table *t, const char *text, size_t len);
/* Likewise, if it is there. */
bool name_table_find(const struct name_table *t, const char *text, size_t len, uint32_t *ret);

/* Valid until the next name_table_put(). */
static inline const char *name_table_text(const struct name_table *t, uint32_t number)
{
	return t->text + t->starts[number];
}

#endif
