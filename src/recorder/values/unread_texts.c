/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unread_texts.h"

#include <pthread.h>
#include <stddef.h>

#ifdef UPTO_SMALL_TABLES
enum { CALLS = 4 };
#else
enum { CALLS = 256 };
#endif

static struct {
	pthread_mutex_t lock;
	struct unread_texts list[CALLS]; /* in a circle; a free place has task 0 */
	size_t next;
	size_t count; /* so many are there; read without the lock, by who kept his own */
} unread = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The place that has the call. */
static struct unread_texts *find(const struct unread_texts *call)
{
	for (size_t i = 0; i < CALLS; i++) {
		struct unread_texts *t = &unread.list[i];

		if (t->task == call->task && t->slot == call->slot && t->function == call->function)
			return t;
	}
	return NULL;
}

static void set_count(size_t count)
{
	__atomic_store_n(&unread.count, count, __ATOMIC_RELAXED);
}

void unread_texts_keep(const struct unread_texts *texts)
{
	struct unread_texts *to;

	if (!texts->task)
		return;
	pthread_mutex_lock(&unread.lock);
	to = find(texts); /* one that was never left there, as by longjmp() */
	if (!to) {
		to = &unread.list[unread.next++ % CALLS];
		set_count(unread.count + !to->task);
	}
	*to = *texts;
	pthread_mutex_unlock(&unread.lock);
}

bool unread_texts_take(struct unread_texts *call)
{
	struct unread_texts *found = NULL;

	if (!call->task || !__atomic_load_n(&unread.count, __ATOMIC_RELAXED))
		return false;
	pthread_mutex_lock(&unread.lock);
	found = find(call);
	if (found) {
		*call = *found;
		*found = (struct unread_texts){ 0 };
		set_count(unread.count - 1);
	}
	pthread_mutex_unlock(&unread.lock);
	return found;
}
