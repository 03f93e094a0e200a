/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "history.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/thinned.h"
#include "wait_kinds.h"

/* Texts that were made for the history. */
struct history_memory {
	char **list;
	size_t count, cap;
};

const char *wait_kind_name(enum wait_kind kind)
{
	static const char *const names[WAIT_KINDS] = {
		"unknown", "timer", "disk", "lock", "child", "peer", "rcu", "work", "device", "idle",
	};

	return names[kind];
}

struct history history_empty(const struct session *session)
{
	unsigned n_cpus = reader_vcpus(session->reader);

	return (struct history){
		.memory = xcalloc(1, sizeof(struct history_memory)), .n_threads = session->threads->count + n_cpus,
		.n_cpus = n_cpus,
	};
}

const char *history_keep(struct history *h, const char *text, size_t len)
{
	struct history_memory *memory = h->memory;

	memory->list = array_grow(memory->list, memory->count, &memory->cap, sizeof *memory->list);
	memory->list[memory->count++] = xstrndup(text, len);
	return memory->list[memory->count - 1];
}

void history_deinit(struct history *h)
{
	free(h->slices);
	free(h->aways);
	free(h->spans);
	free(h->functions);
	free(h->queued);
	free(h->host_words);
	free(h->first_slice);
	free(h->by_thread);
	free(h->first_on_cpu);
	free(h->by_cpu);
	facts_deinit(&h->facts);
	for (size_t i = 0; h->memory && i < h->memory->count; i++)
		free(h->memory->list[i]);
	if (h->memory)
		free(h->memory->list);
	free(h->memory);
	*h = (struct history){ 0 };
}

bool history_tells_wakes(const struct history *h, const struct meta *meta)
{
	const char *lacks = meta_get(meta, "lacks");

	for (size_t i = 0; i < h->facts.count; i++)
		if (h->facts.list[i].kind == FACT_WAKE)
			return true;
	return thinned_by(meta) && meta_get(meta, "layout") && !(lacks && strstr(lacks, "try_to_wake_up"));
}
