/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "given.h"

void given_init(struct given *g, const struct call_values *values)
{
	*g = (struct given){ .values = values, .lock = PTHREAD_MUTEX_INITIALIZER };
}

void given_deinit(struct given *g)
{
	name_table_deinit(&g->texts);
}

uint32_t given_number(struct given *g, const struct fact *args)
{
	struct buf text = { 0 };
	uint32_t number;

	value_text_args(&text, g->values, args, true);
	if (!text.len)
		return GIVEN_NONE;
	pthread_mutex_lock(&g->lock);
	number = name_table_put(&g->texts, (char *)text.data, text.len) + 1;
	pthread_mutex_unlock(&g->lock);
	buf_free(&text);
	return number;
}

const char *given_text(const struct given *g, uint32_t number)
{
	return number == GIVEN_NONE ? NULL : name_table_text(&g->texts, number - 1);
}
