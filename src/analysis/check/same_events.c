/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "same_events.h"

/* One trace's events of a vCPU. */
struct side {
	struct merged *merged;
	const struct event *event; /* NULL: there are no more */
};

/*
 * What the guest does not do: clocks and gaps come as the recorder's buffers are filled, and where control arrives in
 * code without symbols is noticed if the jump that leads there was translated before the place.
 */
static bool is_made_up(const struct event *e)
{
	return e->kind == EVENT_CLOCK || e->kind == EVENT_GAP || e->kind == EVENT_ARRIVE;
}

static int next(struct side *s, struct error *err)
{
	unsigned cpu;
	int r;

	do
		r = merged_next(s->merged, &s->event, &cpu, err);
	while (r > 0 && is_made_up(s->event));
	if (r <= 0)
		s->event = NULL;
	return r < 0 ? -1 : 0;
}

/* On to the first one behind that instruction. */
static int skip(struct side *s, uint64_t insns, struct error *err)
{
	while (s->event && s->event->insns <= insns)
		if (next(s, err) < 0)
			return -1;
	return 0;
}

static bool is_equal(const struct event *a, const struct event *b)
{
	if (a->kind != b->kind || a->insns != b->insns || a->slot != b->slot || a->from != b->from ||
	    a->target != b->target)
		return false;
	for (unsigned i = 0; i < event_n_args(a->kind); i++)
		if (a->args[i] != b->args[i])
			return false;
	return true;
}

static struct event_spot spot_of(const struct event *e)
{
	return e ? (struct event_spot){ e->kind, e->ns, e->insns, e->from, e->target } : (struct event_spot){ 0 };
}

static void note(struct same_events *ret, unsigned cpu, const struct event *a, const struct event *b)
{
	ret->differs = true;
	ret->cpu = cpu;
	ret->in_whole = spot_of(a);
	ret->in_part = spot_of(b);
}

/* The part has no more events. */
static void end_part(const struct side *whole, uint64_t until_ns, unsigned cpu, struct same_events *ret)
{
	if (whole->event && whole->event->ns < until_ns)
		note(ret, cpu, whole->event, NULL);
}

static int compare(struct side *whole, struct side *part, uint64_t until_ns, unsigned cpu, struct same_events *ret,
		   struct error *err)
{
	while (part->event) {
		struct event last = *part->event;

		if (!whole->event || !is_equal(whole->event, part->event)) {
			/* what it ends with may be cut, too */
			if (skip(part, last.insns, err) < 0)
				return -1;
			if (part->event || !whole->event || whole->event->insns < last.insns)
				note(ret, cpu, whole->event, &last);
			break;
		}
		ret->compared++;
		if (next(whole, err) < 0 || next(part, err) < 0)
			return -1;
	}
	if (!ret->differs)
		end_part(whole, until_ns, cpu, ret);
	return 0;
}

static int compare_vcpu(struct side *whole, struct side *part, uint64_t until_ns, unsigned cpu, struct same_events *ret,
			struct error *err)
{
	uint64_t from;

	if (next(part, err) < 0 || next(whole, err) < 0)
		return -1;
	if (!part->event) {
		end_part(whole, until_ns, cpu, ret);
		return 0;
	}
	/* what a part begins with is made up, or cut */
	from = part->event->insns;
	if (skip(part, from, err) < 0 || skip(whole, from, err) < 0)
		return -1;
	return compare(whole, part, until_ns, cpu, ret, err);
}

int same_events_compare(const struct reader *whole, const struct reader *part, uint64_t until_ns,
			struct same_events *ret, struct error *err)
{
	int r = 0;

	*ret = (struct same_events){ 0 };
	for (unsigned cpu = 0; cpu < reader_vcpus(part) && r == 0 && !ret->differs; cpu++) {
		struct span span = { .to_ns = UINT64_MAX, .cpu = (int)cpu };
		struct side a = { .merged = merged_new(whole, &span) }, b = { .merged = merged_new(part, &span) };

		r = compare_vcpu(&a, &b, until_ns, cpu, ret, err);
		merged_free(a.merged);
		merged_free(b.merged);
	}
	return r;
}
