/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "table_json.h"

#include <string.h>

#include "base/alloc.h"

/* Items are separated by newlines. */
static void put_items(struct json *j, const char *key, const char *items)
{
	json_array(j, key);
	while (items && *items) {
		size_t len = strcspn(items, "\n");
		cleanup_free char *item = xstrndup(items, len);

		json_text(j, NULL, item);
		items += len + (items[len] == '\n');
	}
	json_close(j);
}

/* `type`: the column's. A list is an array also where there is none. */
static void put_cell(struct json *j, const char *key, const struct cell *c, enum cell_type type)
{
	switch (c->type) {
	case CELL_NONE:
		if (type == CELL_LIST)
			put_items(j, key, "");
		else
			json_null(j, key);
		break;
	case CELL_NUMBER:
	case CELL_COUNT:
	case CELL_AMOUNT:
	case CELL_SECONDS:
	case CELL_DURATION:
		if (c->negative)
			json_signed(j, key, (int64_t)c->number);
		else
			json_number(j, key, c->number);
		break;
	case CELL_PERCENT:
		json_real(j, key, c->percent, 6);
		break;
	case CELL_ADDRESS:
		json_address(j, key, c->number);
		break;
	case CELL_TEXT:
		json_text(j, key, c->text && *c->text ? c->text : NULL);
		break;
	case CELL_LIST:
		put_items(j, key, c->text);
		break;
	}
}

/* The names that rows do without. */
static void put_names(struct json *j, const struct table *table, const unsigned *columns, unsigned n_columns)
{
	json_object(j, table->name);
	json_array(j, "columns");
	for (unsigned k = 0; k < n_columns; k++)
		json_text(j, NULL, table->columns[columns[k]].name);
	json_close(j);
}

void table_put_json(struct json *j, const struct table *table, const size_t *rows, size_t n_rows,
		    const unsigned *columns, unsigned n_columns, const bool *lacks)
{
	struct buf scratch = { 0 };

	if (table->compact)
		put_names(j, table, columns, n_columns);
	json_rows(j, table->compact ? "rows" : table->name);
	for (size_t i = 0; i < n_rows && !j->failed; i++) {
		if (table->compact)
			json_array(j, NULL);
		else
			json_object(j, NULL);
		for (unsigned k = 0; k < n_columns; k++) {
			const struct column *column = &table->columns[columns[k]];
			struct cell c = cell_none();

			scratch.len = 0;
			if (!lacks[columns[k]])
				c = table->cell(table->data, rows[i], columns[k], &scratch);
			put_cell(j, table->compact ? NULL : column->name, &c, column->type);
		}
		json_close(j);
	}
	json_close(j);
	if (table->compact)
		json_close(j);
	buf_free(&scratch);
}

static void put_columns(struct json *j, const struct table *table)
{
	static const char *const types[] = {
		[CELL_NONE] = "none",       [CELL_NUMBER] = "number",     [CELL_COUNT] = "count",
		[CELL_AMOUNT] = "amount",   [CELL_PERCENT] = "percent",   [CELL_SECONDS] = "seconds",
		[CELL_DURATION] = "duration", [CELL_ADDRESS] = "address", [CELL_TEXT] = "text",
		[CELL_LIST] = "list",
	};

	json_array(j, "columns");
	for (const struct column *c = table->columns; c->name; c++) {
		json_object(j, NULL);
		json_text(j, "name", c->name);
		json_text(j, "title", c->title);
		json_text(j, "type", types[c->type]);
		json_text(j, "help", c->help);
		json_flag(j, "shown", !c->hidden);
		json_close(j);
	}
	json_close(j);
}

void table_put_json_whole(struct json *j, const struct table *table)
{
	struct buf scratch = { 0 };

	json_object(j, table->name);
	put_columns(j, table);
	json_rows(j, "rows");
	for (size_t i = 0; i < table->rows && !j->failed; i++) {
		json_array(j, NULL);
		for (unsigned k = 0; table->columns[k].name; k++) {
			struct cell c;

			scratch.len = 0;
			c = table->cell(table->data, i, k, &scratch);
			put_cell(j, NULL, &c, table->columns[k].type);
		}
		json_close(j);
	}
	json_close(j);
	json_close(j);
	buf_free(&scratch);
}
