/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "digest.h"

static uint64_t mix(uint64_t digest, uint64_t value)
{
	digest = (digest ^ value) * 0x9e3779b97f4a7c15u;
	return digest ^ digest >> 29;
}

/* Where clocks are depends on how the recorder's buffers are filled. */
static uint64_t add(uint64_t digest, const struct event *e)
{
	if (e->kind == EVENT_CLOCK)
		return digest;
	digest = mix(digest, e->kind);
	digest = mix(digest, e->insns);
	digest = mix(digest, e->slot);
	digest = mix(digest, e->from);
	digest = mix(digest, e->target);
	for (unsigned i = 0; i < event_n_args(e->kind); i++)
		digest = mix(digest, e->args[i]);
	return digest;
}

int digest_analyse(const struct reader *r, uint64_t *ret, struct error *err)
{
	uint64_t all = 0;
	int result = 0;

	for (unsigned cpu = 0; cpu < reader_vcpus(r) && result >= 0; cpu++) {
		struct span span = { .to_ns = UINT64_MAX, .cpu = (int)cpu };
		struct merged *m = merged_new(r, &span);
		const struct event *e;
		uint64_t digest = cpu;
		unsigned on;

		while ((result = merged_next(m, &e, &on, err)) > 0)
			digest = add(digest, e);
		merged_free(m);
		all = mix(all, digest);
	}
	*ret = all;
	return result;
}
