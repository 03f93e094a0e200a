/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording_probes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "probes/probe_definition.h"
#include "trace/meta.h"

static void put_line(const char *text, size_t *count, struct buf *lines)
{
	char key[32];

	snprintf(key, sizeof key, "probe.%zu", (*count)++);
	meta_put(lines, key, text);
}

static int put_definition(const char *text, size_t *count, struct buf *lines, struct error *err)
{
	struct probe_definition d;
	int ret = probe_definition_parse(text, &d, err);

	if (ret == 0 && !probe_definition_is_plain(&d))
		ret = error_set(err, "%s: lines and variables need debug information", text);
	else if (ret == 0)
		put_line(text, count, lines);
	probe_definition_deinit(&d);
	return ret < 0 ? error_prefix(err, "--probe") : 0;
}

int recording_probes_put(const struct args *args, struct buf *lines, struct error *err)
{
	const char *list = arg(args, "probe");
	size_t count = 0;

	for (size_t n; list && *list; list += n + (list[n] == '\n')) {
		n = strcspn(list, "\n");
		cleanup_free char *text = xstrndup(list, n);

		if (put_definition(text, &count, lines, err) < 0)
			return -1;
	}
	return 0;
}
