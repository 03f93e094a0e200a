/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view_sessions.h"

#include <pthread.h>

#include "base/alloc.h"
#include "replay/index.h"

enum { AT_ONCE = 4 };

struct view_sessions {
	const struct session *session;
	pthread_mutex_t lock;
	pthread_cond_t given_back;
	unsigned taken;
	struct index *idle[AT_ONCE]; /* that nobody reads from */
	unsigned n_idle;
};

struct view_sessions *view_sessions_new(const struct session *session)
{
	struct view_sessions *v = xcalloc(1, sizeof *v);

	v->session = session;
	pthread_mutex_init(&v->lock, NULL);
	pthread_cond_init(&v->given_back, NULL);
	return v;
}

void view_sessions_free(struct view_sessions *v)
{
	while (v->n_idle)
		index_free(v->idle[--v->n_idle]);
	pthread_cond_destroy(&v->given_back);
	pthread_mutex_destroy(&v->lock);
	free(v);
}

struct session view_sessions_take(struct view_sessions *v)
{
	struct session ret = *v->session;

	pthread_mutex_lock(&v->lock);
	while (v->taken == AT_ONCE)
		pthread_cond_wait(&v->given_back, &v->lock);
	v->taken++;
	ret.index = v->n_idle ? v->idle[--v->n_idle] : NULL;
	pthread_mutex_unlock(&v->lock);
	if (!ret.index) /* it may have come since, of a trace without an end */
		ret.index = index_open(ret.reader, ret.names);
	return ret;
}

void view_sessions_give_back(struct view_sessions *v, const struct session *session)
{
	pthread_mutex_lock(&v->lock);
	v->taken--;
	if (session->index)
		v->idle[v->n_idle++] = session->index;
	pthread_cond_signal(&v->given_back);
	pthread_mutex_unlock(&v->lock);
}
