/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "near.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"

/* Longer names are compared only up to this length. */
enum { LENGTH_MAX = 64, TOO_FAR = 1000 };

void near_init(struct near *n, const char *wanted, size_t len)
{
	*n = (struct near){ .wanted = xstrndup(wanted, len < LENGTH_MAX ? len : LENGTH_MAX) };
}

void near_deinit(struct near *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->best[i].name);
	free(n->wanted);
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static bool is_same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* How many letters must be inserted, removed, replaced, or swapped with the next one, to make one name of the other. */
static unsigned edit_distance(const char *a, size_t n, const char *b, size_t m)
{
	unsigned rows[3][LENGTH_MAX + 1];
	unsigned *before = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= m; j++)
		last[j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned *free_row = before;

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			row[j] = least(least(last[j], row[j - 1]) + 1, last[j - 1] + !is_same(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && is_same(a[i - 1], b[j - 2]) && is_same(a[i - 2], b[j - 1]))
				row[j] = least(row[j], before[j - 2] + 1);
		}
		before = last;
		last = row;
		row = free_row;
	}
	return last[m];
}

/*
 * A changed letter counts 10. A name that has the wanted name as its begin or in
 * its middle counts less than a name with several changed letters; it counts the
 * less, the fewer letters it has more.
 */
static unsigned distance(const char *wanted, const char *name, size_t len)
{
	enum { LETTER = 10, BEGINS = 15, WITHIN = 40 };
	size_t want = strlen(wanted);
	unsigned limit = 1 + (unsigned)want / 4, far = TOO_FAR;
	size_t gap = want > len ? want - len : len - want;

	if (gap <= limit) {
		unsigned letters = edit_distance(wanted, want, name, len);

		if (letters <= limit && letters < want)
			far = letters * LETTER;
	}
	if (want >= 3 && len > want && !strncasecmp(wanted, name, want))
		far = least(far, BEGINS + (unsigned)gap);
	if (len >= 3 && want > len && 2 * len >= want && !strncasecmp(wanted, name, len))
		far = least(far, BEGINS + (unsigned)gap);
	if (want >= 3 && len > want) {
		for (size_t at = 1; at + want <= len; at++)
			if (!strncasecmp(name + at, wanted, want))
				return least(far, WITHIN + (unsigned)gap);
	}
	return far;
}

void near_offer(struct near *n, const char *name)
{
	const char *more = strstr(name, " [");
	size_t len = more ? (size_t)(more - name) : strlen(name), at;
	unsigned far;

	if (len > LENGTH_MAX)
		len = LENGTH_MAX;
	far = distance(n->wanted, name, len);
	if (far == TOO_FAR)
		return;
	for (size_t i = 0; i < n->count; i++)
		if (strlen(n->best[i].name) == len && !strncmp(n->best[i].name, name, len))
			return;
	for (at = n->count; at && n->best[at - 1].distance > far; at--)
		;
	if (at == NEAR_MAX)
		return;
	if (n->count == NEAR_MAX)
		free(n->best[--n->count].name);
	memmove(&n->best[at + 1], &n->best[at], (n->count - at) * sizeof *n->best);
	n->best[at] = (struct near_name){ .name = xstrndup(name, len), .distance = far };
	n->count++;
}

void near_put(const struct near *n, struct buf *out)
{
	for (size_t i = 0; i < n->count; i++)
		buf_printf(out, "%s%s", i ? ", " : "; similar: ", n->best[i].name);
}

const char *near_best(const char *wanted, size_t len, const char *const *names)
{
	const char *best = NULL;
	unsigned least_far = TOO_FAR;
	struct near n;

	near_init(&n, wanted, len);
	for (size_t i = 0; names[i]; i++) {
		size_t length = strlen(names[i]);
		unsigned far = distance(n.wanted, names[i], length < LENGTH_MAX ? length : LENGTH_MAX);

		if (far < least_far) {
			least_far = far;
			best = names[i];
		}
	}
	near_deinit(&n);
	return best;
}
