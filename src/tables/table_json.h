/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table as JSON, a line for each row, under the table's name: objects, or, of a compact table, arrays. */
#ifndef UPTO_TABLES_TABLE_JSON_H
#define UPTO_TABLES_TABLE_JSON_H

#include "base/json.h"
#include "table.h"

/*
 * These rows in their order, and of each these columns; all by number. The object that it goes into is open. `lacks`:
 * marks by column, of what the trace does not have. A compact table is {"columns": [name, …], "rows": [[cell, …], …]}.
 */
void table_put_json(struct json *j, const struct table *table, const size_t *rows, size_t n_rows,
		    const unsigned *columns, unsigned n_columns, const bool *lacks);

/*
 * All of it, without a key for each cell, for who shows tables: "NAME": {"columns": [{name, title, type, help, shown}],
 * "rows": [[cell, …]]}; the type is that of enum cell_type, in small letters.
 */
void table_put_json_whole(struct json *j, const struct table *table);

#endif
