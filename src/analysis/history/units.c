/* SPDX-License-Identifier: GPL-2.0-or-later */
/* systemd's units: their control groups, and what systemd tells the audit subsystem of them. */
#include <string.h>

#include "making.h"

/* systemd.unit(5): kinds of units that have control groups */
static bool is_unit(const char *name)
{
	static const char *const kinds[] = { ".service", ".mount", ".socket", ".swap" };
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(dot, kinds[i]))
			return true;
	return false;
}

/*
 * Does the message say "unit=NAME", of a service without its suffix? AUDIT_SERVICE_START: systemd, src/core/manager.c.
 */
static bool is_about(const struct fact *f, const char *unit)
{
	enum { AUDIT_SERVICE_START = 1130 };
	const char *at =
		f->kind == FACT_AUDIT && f->numbers[0] == AUDIT_SERVICE_START ? strstr(fact_text(f, 0), "unit=") : NULL;
	size_t n = strlen(unit) - strlen(".service");

	return at && !strncmp(at + 5, unit, n) && at[5 + n] == ' ';
}

/* Where a mount unit's file system is: "dev-hugepages.mount" is /dev/hugepages. systemd.unit(5), "string escaping" */
static bool is_mounted_at(const char *unit, const char *path)
{
	size_t n = strlen(unit) - strlen(".mount");

	for (size_t i = 0; i < n && *path == '/'; path++) {
		const char *rest = path + 1;

		for (; i < n && unit[i] != '-'; i++, rest++) {
			bool escaped = !strncmp(unit + i, "\\x2d", 4);

			if (*rest != (escaped ? '-' : unit[i]))
				return false;
			i += escaped ? 3 : 0;
		}
		if (i == n)
			return !*rest;
		i++;
		path = rest - 1;
	}
	return false;
}

static void end_unit(struct span_of *unit, const struct fact *end)
{
	unit->end_ns = end->ns;
	unit->has_result = end->kind == FACT_AUDIT;
	unit->result = unit->has_result && strstr(fact_text(end, 0), "res=failed") ? 1 : 0;
}

/* The mount that the unit is for; HISTORY_NONE: none came. */
static uint32_t mount_of(const struct history *h, const struct span_of *unit)
{
	for (uint32_t i = 0; i < h->n_spans; i++) {
		const struct span_of *x = &h->spans[i];
		const char *on =
			x->kind == SPAN_MOUNT && x->start_ns >= unit->start_ns ? strstr(x->name, " on /") : NULL;

		if (on && is_mounted_at(unit->name, on + strlen(" on ")))
			return i;
	}
	return HISTORY_NONE;
}

/*
 * A unit is under way from when systemd makes its control group until it says that the unit is there, or removes the
 * group.
 */
static bool find_unit_end(const struct history *h, size_t made, struct span_of *unit)
{
	const struct fact *gone = NULL, *group = &h->facts.list[made];
	const char *dot = strrchr(unit->name, '.');
	uint32_t mount = !strcmp(dot, ".mount") ? mount_of(h, unit) : HISTORY_NONE;

	if (mount != HISTORY_NONE) {
		unit->end_ns = h->spans[mount].end_ns;
		unit->has_result = h->spans[mount].has_result;
		unit->result = h->spans[mount].result;
		return true;
	}
	for (size_t k = made + 1; k < h->facts.count; k++) {
		const struct fact *f = &h->facts.list[k];
		bool same = (f->kind == FACT_GROUP || f->kind == FACT_GROUP_GONE) &&
			    !strcmp(fact_text(f, 0), fact_text(group, 0));

		if (same && f->kind == FACT_GROUP)
			break;
		if (!strcmp(dot, ".service") && is_about(f, unit->name)) {
			end_unit(unit, f);
			return true;
		}
		if (same && !gone)
			gone = f;
	}
	if (gone)
		end_unit(unit, gone);
	return gone;
}

void spans_put_units(struct making *m)
{
	struct history *h = m->history;

	for (size_t i = 0; i < h->facts.count; i++) {
		const struct fact *f = &h->facts.list[i];
		const char *slash = f->kind == FACT_GROUP ? strrchr(fact_text(f, 0), '/') : NULL;
		struct span_of span = {
			.kind = SPAN_UNIT, .parent = HISTORY_NONE, .thread = HISTORY_NONE, .function = HISTORY_NONE,
			.start_ns = f->ns,
		};

		if (!slash || !is_unit(slash + 1))
			continue;
		span.name = history_keep(h, slash + 1, strlen(slash + 1));
		if (!find_unit_end(h, i, &span))
			continue;
		spans_add_all(h, &span);
		spans_add(m, &span);
	}
}
