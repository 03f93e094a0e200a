/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_formats.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* "sched:sched_switch", then the format's own lines. */
static int read_format(const char *key, const char *text, struct event_format *ret, struct error *err)
{
	size_t name = strcspn(text, "\n"), system = strcspn(text, ":\n");

	if (text[name] != '\n' || text[system] != ':')
		return error_set(err, "%s: no format of a trace event", key);
	ret->system = xstrndup(text, system);
	ret->name = xstrndup(text + system + 1, name - system - 1);
	ret->text = text + name + 1;
	return 0;
}

static void read_nowhere(const struct meta *meta, struct event_formats *ret)
{
	const char *text;
	char key[48];

	for (;; ret->n_nowhere++) {
		snprintf(key, sizeof key, "nowhere.%zu", ret->n_nowhere);
		text = meta_get(meta, key);
		if (!text)
			return;
		ret->nowhere = xreallocarray(ret->nowhere, ret->n_nowhere + 1, sizeof *ret->nowhere);
		ret->nowhere[ret->n_nowhere] = (struct event_nowhere){
			xstrndup(text, strcspn(text, "\n")), xstrdup(text[strcspn(text, "\n")] ? strchr(text, '\n') + 1 : ""),
		};
	}
}

int event_formats_read(const struct meta *meta, struct event_formats *ret, struct error *err)
{
	size_t cap = 0;
	const char *text;
	char key[48];

	*ret = (struct event_formats){ 0 };
	for (;;) {
		struct event_format *format;

		snprintf(key, sizeof key, "event.%zu", ret->count);
		text = meta_get(meta, key);
		if (!text)
			break;
		ret->list = array_grow(ret->list, ret->count, &cap, sizeof *ret->list);
		format = &ret->list[ret->count];
		*format = (struct event_format){ 0 };
		if (read_format(key, text, format, err) < 0)
			return -1;
		snprintf(key, sizeof key, "event.%zu.syscall", ret->count);
		format->syscall = (int32_t)meta_get_u64(meta, key, UINT32_MAX);
		snprintf(key, sizeof key, "event.%zu.faults", ret->count);
		format->faults = meta_get_u64(meta, key, 0);
		snprintf(key, sizeof key, "event.%zu.missing", ret->count);
		format->missing = meta_get_u64(meta, key, 0);
		snprintf(key, sizeof key, "event.%zu.why", ret->count++);
		format->why = meta_get(meta, key);
	}
	read_nowhere(meta, ret);
	return event_strings_read(meta, &ret->strings, err);
}

void event_formats_deinit(struct event_formats *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->list[i].system);
		free(f->list[i].name);
	}
	for (size_t i = 0; i < f->n_nowhere; i++) {
		free(f->nowhere[i].definition);
		free(f->nowhere[i].why);
	}
	free(f->nowhere);
	free(f->list);
	event_strings_deinit(&f->strings);
	*f = (struct event_formats){ 0 };
}

static bool fits(const char *pattern, const char *text)
{
	return !*pattern || !fnmatch(pattern, text, 0);
}

bool event_is_meant(const char *list, const char *system, const char *name, bool *fit)
{
	bool any = false;

	for (size_t i = 0, n; *list; i++, list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		cleanup_free char *word = xstrndup(list, n);
		char *colon = strchr(word, ':');
		bool is;

		if (colon) {
			*colon = '\0';
			is = fits(word, system) && fits(colon + 1, name);
		} else {
			is = n && (fits(word, system) || fits(word, name));
		}
		any |= is;
		if (fit)
			fit[i] |= is;
	}
	return any;
}
