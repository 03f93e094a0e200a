/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

const char *check_kind_name(enum check_kind kind)
{
	static const char *const names[CHECK_KINDS] = {
		[CHECK_CONTAINER] = "container", [CHECK_LOST] = "lost", [CHECK_COUNTER] = "counter",
		[CHECK_CONSERVATION] = "conservation", [CHECK_FRAMES] = "frames", [CHECK_UNMATCHED] = "unmatched",
		[CHECK_SWITCH] = "switch", [CHECK_TASK] = "task", [CHECK_HALT] = "halt", [CHECK_EARLY] = "early",
		[CHECK_FLOW] = "flow", [CHECK_UNNAMED] = "unnamed",
	};

	return names[kind];
}

static void add(struct check *c, const struct finding *finding, const char *fmt, va_list ap)
{
	struct finding *f;

	if (c->n_findings++ >= CHECK_FINDINGS_MAX)
		return;
	c->findings = array_grow(c->findings, c->n_findings - 1, &c->cap, sizeof *c->findings);
	f = &c->findings[c->n_findings - 1];
	*f = *finding;
	vsnprintf(f->text, sizeof f->text, fmt, ap);
}

void check_found(struct check *c, enum check_kind kind, uint64_t count, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(c, &(struct finding){ .kind = kind, .cpu = -1, .count = count }, fmt, ap);
	va_end(ap);
}

void check_found_at(struct check *c, enum check_kind kind, uint64_t count, const struct check_place *place,
		    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(c, &(struct finding){
		.kind = kind, .cpu = (int)place->cpu, .ns = place->ns, .event = place->event, .count = count,
	}, fmt, ap);
	va_end(ap);
}

void check_deinit(struct check *c)
{
	free(c->findings);
	*c = (struct check){ 0 };
}
