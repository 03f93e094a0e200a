/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kept_values.h"

#include <pthread.h>
#include <stddef.h>

#include "base/map.h"

#ifdef UPTO_SMALL_TABLES
enum { VALUES = 64 };
#else
enum { VALUES = 1 << 16 };
#endif

enum { NEAR = 16 }; /* places where a key may be */

static struct {
	pthread_mutex_t lock;
	uint64_t clock;
	struct kept_value {
		uint64_t key, value, when; /* when 0: free */
	} list[VALUES];
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct kept_value *place(uint64_t key, unsigned i)
{
	return &kept.list[(hash64(key) + i) % VALUES];
}

/* NULL: it is not there. */
static struct kept_value *find(uint64_t key)
{
	for (unsigned i = 0; i < NEAR; i++) {
		struct kept_value *v = place(key, i);

		if (v->when && v->key == key)
			return v;
	}
	return NULL;
}

static struct kept_value *oldest(uint64_t key)
{
	struct kept_value *ret = place(key, 0);

	for (unsigned i = 1; i < NEAR; i++)
		if (place(key, i)->when < ret->when)
			ret = place(key, i);
	return ret;
}

void kept_values_put(uint64_t key, uint64_t value)
{
	struct kept_value *v;

	pthread_mutex_lock(&kept.lock);
	v = find(key);
	if (!v)
		v = oldest(key);
	*v = (struct kept_value){ key, value, ++kept.clock };
	pthread_mutex_unlock(&kept.lock);
}

bool kept_values_get(uint64_t key, uint64_t *ret)
{
	const struct kept_value *v;

	pthread_mutex_lock(&kept.lock);
	v = find(key);
	if (v)
		*ret = v->value;
	pthread_mutex_unlock(&kept.lock);
	return v;
}
