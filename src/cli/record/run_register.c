/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run_register.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/file.h"

enum { KEPT_MAX = 16 << 20 };

#define RUN "run."
#define CONFIGURED "meta." /* before keys of META in the recorder's configuration */
#define ID RUN "id"

/* NULL: there is no place for it, or that is no number of a run. The caller frees it. */
static char *place_of(const char *id)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (!*id || id[strspn(id, "0123456789abcdef")])
		return NULL;
	if (state && *state == '/')
		return xasprintf("%s/upto/runs/%s", state, id);
	return home && *home == '/' ? xasprintf("%s/.local/state/upto/runs/%s", home, id) : NULL;
}

void run_register_put(struct buf *lines)
{
	uint64_t number[2];
	char id[40];

	if (getrandom(number, sizeof number, 0) != sizeof number)
		return;
	snprintf(id, sizeof id, "%016llx%016llx", (unsigned long long)number[0], (unsigned long long)number[1]);
	cleanup_free char *path = place_of(id);

	if (path && file_keep(path, lines->data, lines->len) == 0)
		meta_put(lines, CONFIGURED ID, id);
}

static bool is_of_run(const char *key)
{
	return !strncmp(key, RUN, strlen(RUN)) && strcmp(key, ID) != 0;
}

/* Every key of the run that one has, the other has likewise; in front of keys stands that. */
static bool has_all(const struct meta *one, const char *before, const struct meta *other, const char *others_before)
{
	size_t n = strlen(before);

	for (size_t i = 0; i < meta_count(one); i++) {
		const char *key = meta_key(one, i), *value;

		if (strncmp(key, before, n) != 0 || !is_of_run(key + n))
			continue;
		cleanup_free char *theirs = xasprintf("%s%s", others_before, key + n);

		value = meta_get(other, theirs);
		if (!value || strcmp(value, meta_value(one, i)) != 0)
			return false;
	}
	return true;
}

int run_register_check(const struct meta *meta, const char *path, struct error *err)
{
	const char *id = meta_get(meta, ID);
	cleanup_free char *place = place_of(id ? id : "");
	struct meta kept = { 0 };
	struct buf text = { 0 };
	bool same = false;

	if (place && file_read(place, KEPT_MAX, &text, err) == 0 && meta_parse(&kept, text.data, text.len, err) == 0)
		same = has_all(meta, "", &kept, CONFIGURED) && has_all(&kept, CONFIGURED, meta, "");
	meta_deinit(&kept);
	buf_free(&text);
	if (same)
		return 0;
	return error_set(
		err,
		"%s: it was not recorded here by this user, and what it names is not started unasked: 'upto probe' "
		"takes the command line, behind the probes: -- qemu-system-x86_64 …",
		path);
}
