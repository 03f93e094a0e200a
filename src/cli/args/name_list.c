/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "name_list.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/near.h"
#include "guest/function_name.h"

/* Length of a name without its object: "ext4_mount" in "ext4_mount [ext4]". */
static size_t short_length(const char *name)
{
	const char *more = strstr(name, " [");

	return more ? (size_t)(more - name) : strlen(name);
}

static bool is_same(const char *wanted, const char *name)
{
	size_t len = strlen(wanted);

	return !strncmp(name, wanted, len) && (!name[len] || len == short_length(name));
}

static bool fits(const char *pattern, const char *name)
{
	cleanup_free char *stripped = NULL;

	if (!fnmatch(pattern, name, 0))
		return true;
	if (!strstr(name, " ["))
		return false;
	stripped = xstrndup(name, short_length(name));
	return !fnmatch(pattern, stripped, 0);
}

/* Parts for what seldom runs, NAME.cold, are entered by jumps: they are meant by their own name alone. */
static bool is_made_of(const char *wanted, const char *name)
{
	size_t len = short_length(name), source = function_name_source(name, len);

	return source < len && strlen(wanted) == source && !memcmp(wanted, name, source) &&
	       !memmem(name, len, ".cold", strlen(".cold"));
}

static bool mark_all(const struct name_list *all, bool (*is_it)(const char *, const char *), const char *wanted,
		     bool *marks)
{
	bool any = false;

	for (size_t i = 0; i < all->count; i++) {
		const char *name = all->at(all->data, i);

		if (name && *name && is_it(wanted, name))
			any = marks[i] = true;
	}
	return any;
}

static int no_such_name(const struct name_list *all, const char *wanted, struct error *err)
{
	struct buf similar = { 0 };
	struct near near;

	near_init(&near, wanted, strlen(wanted));
	for (size_t i = 0; i < all->count; i++) {
		const char *name = all->at(all->data, i);

		if (name && *name)
			near_offer(&near, name);
	}
	near_put(&near, &similar);
	if (all->hint && !strpbrk(wanted, "*?["))
		buf_printf(&similar, "%s", all->hint);
	buf_put_u8(&similar, 0);
	error_set(err, "no %s %s%s%s", all->what, wanted, all->where, (char *)similar.data);
	buf_free(&similar);
	near_deinit(&near);
	return -1;
}

/* Length of the first name: up to a comma that is not between brackets, "f(int, char)". */
static size_t first_length(const char *list)
{
	int depth = 0;
	size_t i;

	for (i = 0; list[i] && (list[i] != ',' || depth > 0); i++)
		depth += (list[i] == '(' || list[i] == '<') - (depth && (list[i] == ')' || list[i] == '>'));
	return i;
}

/* What came of the names of some lists. */
struct marking {
	bool any;               /* one of them is there */
	bool misses;            /* … and one is not: */
	struct error missing;   /* the first of those */
};

static int mark_list(const struct name_list *all, const char *list, bool *marks, struct marking *m, struct error *err)
{
	if (!list[strspn(list, ",")])
		return error_set(err, "no %s is named: the list is empty", all->what);
	if (mark_all(all, is_same, list, marks)) {
		m->any = true;
		return 0;
	}
	while (*list) {
		size_t len = first_length(list);
		cleanup_free char *wanted = xstrndup(list, len);

		list += len + (list[len] == ',');
		if (!len)
			continue;
		/* a name may have characters of patterns in it: "operator*" */
		if (mark_all(all, is_same, wanted, marks) ||
		    (strpbrk(wanted, "*?[") && mark_all(all, fits, wanted, marks)) ||
		    (all->by_source && mark_all(all, is_made_of, wanted, marks)))
			m->any = true;
		else if (!m->misses)
			m->misses = no_such_name(all, wanted, &m->missing) < 0;
	}
	return 0;
}

int name_list_mark(const struct name_list *all, const char *const *lists, size_t n_lists, bool *marks,
		   struct error *missed, struct error *err)
{
	struct marking m = { 0 };

	for (size_t i = 0; i < n_lists; i++)
		if (lists[i] && mark_list(all, lists[i], marks, &m, err) < 0)
			return -1;
	if (!m.misses)
		return 0;
	if (missed && m.any) {
		*missed = m.missing;
		return 0;
	}
	*err = m.missing;
	return -1;
}
