/* SPDX-License-Identifier: GPL-2.0-or-later */
/* systemd's units: their control groups, and what systemd tells the audit subsystem of them. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
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
 * Of which service the message says "unit=NAME", without its suffix; NULL: of none. AUDIT_SERVICE_START: systemd,
 * src/core/manager.c.
 */
static const char *service_of(const struct fact *f, size_t *ret_len)
{
	enum { AUDIT_SERVICE_START = 1130 };
	const char *at =
		f->kind == FACT_AUDIT && f->numbers[0] == AUDIT_SERVICE_START ? strstr(fact_text(f, 0), "unit=") : NULL;

	*ret_len = at ? strcspn(at + 5, " ") : 0;
	return at && at[5 + *ret_len] ? at + 5 : NULL;
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

/* A control group was made; where its unit's start-up ended: numbers of facts + 1; 0: nothing tells. */
struct made {
	size_t group, end;
};

struct groups {
	struct made *list;
	size_t count, cap;
	/* from the end back: the next fact of that kind of a path's, or of a service's name, + 1 */
	struct map made, gone, told;
	bool *tells; /* by boot: systemd said of any service that it is there */
	uint32_t *mounts; /* numbers of all mounts' spans */
	size_t n_mounts, mounts_cap;
};

static size_t next_of(const struct map *m, uint64_t key)
{
	const uint64_t *next = map_get(m, key);

	return next ? *next : 0;
}

/*
 * The group was made, and its name is a unit's. A unit is under way from then on until systemd says that it is there,
 * or removes the group; both only before the group is made again. Where systemd never says it, nothing tells when a
 * service is there: its group remains while it runs.
 */
static void put_made(struct groups *g, size_t group, size_t boot, const char *path, const char *unit)
{
	size_t len = strlen(unit) - strlen(strrchr(unit, '.'));
	uint64_t key = hash_text(0, path);
	size_t again = next_of(&g->made, key), gone = next_of(&g->gone, key);
	bool is_service = !strcmp(unit + len, ".service");
	size_t told = is_service ? next_of(&g->told, hash_bytes(0, unit, len)) : 0;
	size_t end = told && (!again || told < again) ? told : gone && (!again || gone < again) ? gone : 0;

	if (is_service && !g->tells[boot])
		end = 0;
	g->list = array_grow(g->list, g->count, &g->cap, sizeof *g->list);
	g->list[g->count++] = (struct made){ group + 1, end };
}

/* Go from the last fact to the first: what comes next of a group, and of a service, is known then. */
static void find_groups(struct groups *g, const struct facts *facts, const struct boots *boots)
{
	size_t ignored;

	for (size_t i = 0; i < facts->count; i++)
		if (service_of(&facts->list[i], &ignored))
			g->tells[boots_at(boots, facts->list[i].ns)] = true;
	for (size_t i = facts->count; i-- > 0;) {
		const struct fact *f = &facts->list[i];
		const char *path = fact_text(f, 0), *slash = strrchr(path, '/'), *service;
		size_t len;

		if (f->kind == FACT_GROUP) {
			if (slash && is_unit(slash + 1))
				put_made(g, i, boots_at(boots, f->ns), path, slash + 1);
			*map_put(&g->made, hash_text(0, path), 0) = i + 1;
		} else if (f->kind == FACT_GROUP_GONE) {
			*map_put(&g->gone, hash_text(0, path), 0) = i + 1;
		} else if ((service = service_of(f, &len))) {
			*map_put(&g->told, hash_bytes(0, service, len), 0) = i + 1;
		}
	}
}

static void find_mounts(struct groups *g, const struct history *h)
{
	for (uint32_t i = 0; i < h->n_spans; i++)
		if (h->spans[i].kind == SPAN_MOUNT) {
			g->mounts = array_grow(g->mounts, g->n_mounts, &g->mounts_cap, sizeof *g->mounts);
			g->mounts[g->n_mounts++] = i;
		}
}

/* The mount that the unit is for; NULL: none came. */
static const struct span_of *mount_of(const struct groups *g, const struct history *h, const struct span_of *unit)
{
	for (size_t i = 0; i < g->n_mounts; i++) {
		const struct span_of *x = &h->spans[g->mounts[i]];
		const char *on = x->start_ns >= unit->start_ns ? strstr(x->name, " on /") : NULL;

		if (on && is_mounted_at(unit->name, on + strlen(" on ")))
			return x;
	}
	return NULL;
}

static bool find_unit_end(const struct groups *g, const struct made *made, const struct history *h,
			  struct span_of *unit)
{
	const struct span_of *mount = strcmp(strrchr(unit->name, '.'), ".mount") ? NULL : mount_of(g, h, unit);

	if (mount) {
		unit->end_ns = mount->end_ns;
		unit->has_result = mount->has_result;
		unit->result = mount->result;
	} else if (made->end) {
		end_unit(unit, &h->facts.list[made->end - 1]);
	}
	return mount || made->end;
}

void spans_put_units(struct making *m)
{
	struct history *h = m->history;
	const struct boots *boots = &m->reader->boots;
	struct groups g = { .tells = xcalloc(boots->count, sizeof *g.tells) };

	find_groups(&g, &h->facts, boots);
	find_mounts(&g, h);
	for (size_t i = g.count; i-- > 0;) {
		const struct fact *f = &h->facts.list[g.list[i].group - 1];
		const char *name = strrchr(fact_text(f, 0), '/') + 1;
		struct span_of span = {
			.kind = SPAN_UNIT, .parent = HISTORY_NONE, .thread = HISTORY_NONE, .function = HISTORY_NONE,
			.start_ns = f->ns,
		};

		span.name = history_keep(h, name, strlen(name));
		if (!find_unit_end(&g, &g.list[i], h, &span))
			continue;
		spans_add_all(h, &span);
		spans_add(m, &span);
	}
	map_free(&g.made);
	map_free(&g.gone);
	map_free(&g.told);
	free(g.mounts);
	free(g.tells);
	free(g.list);
}
