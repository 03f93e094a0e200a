/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An array that is spilled is held against a plain one: millions of items, some set long after they were added, some
 * dropped, a few or nearly all at a time, and all read in between.
 */
#include "base/spill.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

enum { ITEMS = 3000000, WINDOW = 1 << 16, STEPS = 6000000 };

static int64_t model[ITEMS];
static uint64_t random_state = 1;

static uint64_t random_below(uint64_t n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 33) % n;
}

static uint64_t wrong_from(struct spill *s, uint64_t from, uint64_t n)
{
	uint64_t wrong = 0;

	for (uint64_t i = from; i < s->count && n; i++, n--) {
		const int64_t *item = spill_get(s, i);

		wrong += !item || *item != model[i];
	}
	return wrong;
}

static uint64_t step(struct spill *s)
{
	int64_t item = (int64_t)random_state;
	uint64_t what = random_below(1000000), i;

	if (what < 990000 || s->count < 2) {
		if (s->count < ITEMS) {
			model[s->count] = item;
			spill_add(s, &item);
		}
	} else if (what < 999000) {
		/* mostly one of the last, as the call that ends is */
		i = s->count - 1 - random_below(what % 8 ? (s->count < 100 ? s->count : 100) : s->count);
		model[i] = item;
		spill_set(s, i, &item);
	} else if (what < 999990) {
		return wrong_from(s, random_below(s->count), 100);
	} else if (what < 999998) {
		spill_truncate(s, s->count - 1 - random_below(s->count < 100000 ? s->count : 100000));
	} else {
		spill_truncate(s, random_below(s->count));
	}
	return 0;
}

int main(void)
{
	struct spill s;
	struct error err;
	uint64_t wrong = 0, steps = 0, count;

	spill_init(&s, sizeof(int64_t), WINDOW);
	while (steps++ < STEPS && !s.failed)
		wrong += step(&s);
	wrong += wrong_from(&s, 0, ITEMS);
	wrong += spill_get(&s, s.count) != NULL;
	count = s.count;
	if (spill_result(&s, "this test", &err) < 0) {
		printf("%s\n", err.text);
		spill_deinit(&s);
		return 1;
	}
	spill_deinit(&s);
	printf("%ju of %ju wrong\n", (uintmax_t)wrong, (uintmax_t)count);
	return wrong != 0;
}
