/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol_map_arg.h"

#include "base/file.h"
#include "cli/args/trace_arg.h"
#include "kd_log.h"

enum { MAP_SIZE_MAX = 1 << 28 };

/* The kernel's functions, at the addresses that it was linked for, as a System.map has them. */
static int read_trace(const char *path, struct buf *ret, struct error *err)
{
	struct trace_arg t;

	if (open_trace(path, &t, err) < 0)
		return -1;
	for (size_t i = 0; t.names.n_tables && i < t.names.tables->tab.count; i++)
		buf_printf(ret, "%016llx T %s\n", (unsigned long long)t.names.tables->tab.symbols[i].addr,
			   symtab_name(&t.names.tables->tab, (uint32_t)i));
	trace_arg_close(&t);
	return ret->len ? 0 : error_set(err, "%s: has no symbols of a kernel", path);
}

int symbol_map_open(const char *path, struct symbol_map *ret, struct error *err)
{
	struct buf data = { 0 };
	int r;

	*ret = (struct symbol_map){ 0 };
	if (kd_log_is_trace(path) ? read_trace(path, &data, err) < 0 : file_read(path, MAP_SIZE_MAX, &data, err) < 0)
		return -1;
	r = symbol_map_read(data.data, data.len, ret, err);
	if (r < 0)
		error_prefix(err, "%s", path);
	buf_free(&data);
	return r;
}
