/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol_map_arg.h"

#include "base/file.h"

enum { MAP_SIZE_MAX = 1 << 28 };

int symbol_map_open(const char *path, struct symbol_map *ret, struct error *err)
{
	struct buf data = { 0 };
	int r;

	*ret = (struct symbol_map){ 0 };
	if (file_read(path, MAP_SIZE_MAX, &data, err) < 0)
		return -1;
	r = symbol_map_read(data.data, data.len, ret, err);
	if (r < 0)
		error_prefix(err, "%s", path);
	buf_free(&data);
	return r;
}
