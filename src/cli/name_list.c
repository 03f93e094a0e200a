/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "name_list.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "near.h"

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

static bool mark_all(const struct name_list *all, bool (*is_it)(const char *, const char *), const char *wanted, bool *marks)
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

static int mark_list(const struct name_list *all, const char *list, bool *marks, struct error *err)
{
	if (!list[strspn(list, ",")])
		return error_set(err, "no %s is named: the list is empty", all->what);
	if (mark_all(all, is_same, list, marks))
		return 0;
	while (*list) {
		size_t len = first_length(list);
		cleanup_free char *wanted = xstrndup(list, len);

		/* a name may have characters of patterns in it: "operator*" */
		if (len && !mark_all(all, is_same, wanted, marks) &&
		    (!strpbrk(wanted, "*?[") || !mark_all(all, fits, wanted, marks)))
			return no_such_name(all, wanted, err);
		list += len + (list[len] == ',');
	}
	return 0;
}

int name_list_mark(const struct name_list *all, const char *const *lists, size_t n_lists, bool *marks, struct error *err)
{
	for (size_t i = 0; i < n_lists; i++)
		if (lists[i] && mark_list(all, lists[i], marks, err) < 0)
			return -1;
	return 0;
}
