/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_list.h"

#include <stdlib.h>

#include "base/alloc.h"

static bool has_thread(const struct event_choice *choice, const struct threads *threads, const struct fact *f)
{
	long thread;

	if (!choice->processes && !choice->threads)
		return true;
	thread = f->task ? threads_find(threads, f->task, f->ns) : THREAD_NONE;
	return thread != THREAD_NONE && (!choice->processes || choice->processes[thread]) &&
	       (!choice->threads || choice->threads[thread]);
}

static bool is_asked(const struct event_choice *choice, const struct threads *threads, const struct fact *f)
{
	const struct span *span = &choice->span;

	return f->ns >= span->from_ns && f->ns < span->to_ns && (span->cpu < 0 || (unsigned)span->cpu == f->cpu) &&
	       intervals_have(choice->intervals, f->ns) && has_thread(choice, threads, f);
}

void event_list_init(struct event_list *ret, const struct facts *facts, const struct event_formats *formats,
		     struct event_decoder *d, const struct threads *threads, const struct event_choice *choice)
{
	*ret = (struct event_list){ .intervals = choice->intervals };
	for (size_t i = 0; i < facts->count; i++) {
		const struct fact *f = &facts->list[i];
		struct event_record r;

		if (!event_record_of(formats, f, &r) || !choice->events[r.event] || !is_asked(choice, threads, f) ||
		    (choice->filter && !event_filter_fits(choice->filter, d, &r, event_comm(threads, f))))
			continue;
		ret->list = array_grow(ret->list, ret->count, &ret->cap, sizeof *ret->list);
		ret->list[ret->count++] = f;
	}
}

void event_list_deinit(struct event_list *l)
{
	free(l->list);
	*l = (struct event_list){ 0 };
}

const char *event_comm(const struct threads *threads, const struct fact *fact)
{
	const struct task_record *task = fact->task ? threads_record(threads, fact->task, fact->ns) : NULL;

	if (task && task->comm)
		return task->comm;
	return fact->cpu ? "swapper" : "swapper/0";
}
