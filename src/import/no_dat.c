/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where there is no libtracecmd to build with. */
#include <string.h>

#include "graph_records.h"

#define MAGIC "\x17\x08\x44tracing"

bool graph_dat_is_one(const void *data, size_t len)
{
	return len >= sizeof MAGIC - 1 && !memcmp(data, MAGIC, sizeof MAGIC - 1);
}

struct graph_reader *graph_dat_open(int fd, const char *path, struct error *err)
{
	(void)fd;
	error_set(err, "%s: is a trace.dat, and this upto was built without libtracecmd. Install that, and build again", path);
	return NULL;
}
