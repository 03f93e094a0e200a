/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export.h"

#include <string.h>

/* Those that show what happened, those of sums, rows. */
static const struct exporter *const all[] = {
	&export_perfetto,  &export_firefox, &export_speedscope, &export_chrome, &export_trace_dat,
	&export_ftrace,    &export_uftrace, &export_ctf,        &export_folded, &export_flamegraph,
	&export_callgrind, &export_pprof,   &export_gprof,      &export_kfi,    &export_csv,
};

const struct exporter *exporter_at(size_t i)
{
	return i < sizeof all / sizeof *all ? all[i] : NULL;
}

const struct exporter *exporter_find(const char *name)
{
	const struct exporter *e;

	for (size_t i = 0; (e = exporter_at(i)) != NULL; i++)
		if (!strcmp(e->name, name))
			return e;
	return NULL;
}
