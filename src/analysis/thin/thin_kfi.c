/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kfi/log_meta.h"
#include "thin_make.h"

struct kfi_lines {
	struct buf *meta;
	size_t n;
};

static __attribute__((format(printf, 2, 3))) void put_kfi(struct kfi_lines *k, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	kfi_meta_put(k->meta, k->n++, text);
}

/* How many functions a list would have that has those that are chosen. */
static uint64_t list_length(const struct thin_filter *f, const struct names *names)
{
	uint64_t n = 0;

	for (size_t i = 0; i < names_count(names); i++)
		n += (!f->functions || f->functions[i]) && !(f->not && f->not[i]);
	return n;
}

static void put_kfi_filters(const struct thin_filter *f, const struct names *names, struct kfi_lines *k)
{
	if (f->min_duration_ns)
		put_kfi(k, "%" PRIu64 " usecs minimum execution time", f->min_duration_ns / 1000);
	if (f->max_duration_ns)
		put_kfi(k, "%" PRIu64 " usecs maximum execution time", f->max_duration_ns / 1000);
	if (f->no_interrupts)
		put_kfi(k, "no functions in interrupt context");
	if (f->only_interrupts)
		put_kfi(k, "no functions NOT in interrupt context");
	if (f->functions || f->not)
		put_kfi(k, "%" PRIu64 "-entry function list", list_length(f, names));
}

/* KFI has functions and times; what else begins or ends a span is told by its time. */
static void put_kfi_moment(const struct thinning *t, const char *what, const struct condition *c, uint64_t ns,
			   uint32_t function, struct kfi_lines *k)
{
	const char *name = function == UINT32_MAX ? NULL : names_function(t->session->names, function);

	if (name)
		put_kfi(k, "Logging %s at %" PRIu64 " usec by %s function %.*s", what, ns / 1000,
			c->kind == CONDITION_ENTRY ? "entry to" : "exit from", (int)strcspn(name, " "), name);
	else if (c->relative)
		put_kfi(k, "Logging %s at %" PRIu64 " usec by time at %" PRIu64 " usec from start trigger", what,
			ns / 1000, c->ns / 1000);
	else
		put_kfi(k, "Logging %s at %" PRIu64 " usec by time at %" PRIu64 " usec from boot", what, ns / 1000,
			(c->kind == CONDITION_TIME ? c->ns : ns) / 1000);
}

void thin_put_kfi(const struct thinning *t, struct buf *lines)
{
	const struct thin_options *o = t->options;
	const struct thin_span *first = t->spans, *last = t->spans + t->n_spans - 1;
	struct kfi_lines k = { .meta = lines };

	while (kfi_meta_line(&t->session->reader->meta, k.n))
		k.n++;
	if (o->start.condition.kind && t->n_spans)
		put_kfi_moment(t, "started", &o->start.condition, first->start_ns, first->start_function, &k);
	if (o->stop.condition.kind && t->n_spans && !t->counts.unstopped)
		put_kfi_moment(t, "stopped", &o->stop.condition, last->stop_ns, last->stop_function, &k);
	put_kfi_filters(&o->filter, t->session->names, &k);
}
