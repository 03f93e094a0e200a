/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pack.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/thread.h"
#include "recorder/spans/hold.h"
#include "trace/writer.h"

enum {
	QUEUE = 8,
	/* zstd's levels: the first while few chunks wait and CPUs are free, the second otherwise */
	THOROUGH = 6, QUICK = 3,
	LITTLE = 1,
	SLOW_MS = 200,          /* if a chunk took so long, and mostly waited for a CPU, CPUs are not free … */
	SLOW_CHUNKS = 8,        /* … and that many more chunks are packed quickly */
	/* vCPUs and the drain go first, but only by a little: a chunk must not wait too long when all CPUs are busy */
	NICE = 3,
};

struct item {
	struct chunk_header header;
	struct buf payload;
	int level;
};

static struct {
	pthread_t thread;
	pthread_mutex_t lock;   /* for the queue: */
	pthread_cond_t changed;
	struct item queue[QUEUE];
	uint64_t put, done;     /* how many chunks were queued so far, and how many are finished */
	struct buf spare;       /* memory of one of them, for the next: else each would be faulted in anew */
	bool stop;

	unsigned slow;          /* only for the thread: how many chunks are still to be packed quickly */
	struct writer writer;   /* only for the thread; for the drain after pack_flush() */
	uint64_t lost;
} pack = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* Chunks of events do not wait for a better level: kill -9 would lose what is not in the file yet. */
static int level_of(const struct item *item, uint64_t waiting)
{
	if (item->level)
		return item->level;
	if (pack.slow) {
		pack.slow--;
		return QUICK;
	}
	return waiting <= LITTLE ? THOROUGH : QUICK;
}

static void write_item(struct item *item, uint64_t waiting)
{
	int level = level_of(item, waiting);
	uint64_t begun = clock_ms(), ran = clock_thread_ms();

	if (hold_chunk(&pack.writer, &item->header, &item->payload, level) < 0 &&
	    item->header.type == CHUNK_EVENTS)
		__atomic_fetch_add(&pack.lost, item->header.events, __ATOMIC_RELAXED);
	if (!item->level && clock_ms() - begun > SLOW_MS && clock_ms() - begun > 2 * (clock_thread_ms() - ran))
		pack.slow = SLOW_CHUNKS;
}

/* Under the lock: the larger one is kept. */
static void keep_spare(struct buf *payload)
{
	struct buf smaller = *payload;

	if (payload->cap > pack.spare.cap) {
		smaller = pack.spare;
		pack.spare = *payload;
		pack.spare.len = 0;
	}
	buf_free(&smaller);
}

static void *work(void *arg)
{
	uint64_t waiting;

	(void)arg;
	thread_step_back(NICE);
	pthread_mutex_lock(&pack.lock);
	for (;;) {
		while (pack.put == pack.done && !pack.stop)
			pthread_cond_wait(&pack.changed, &pack.lock);
		if (pack.put == pack.done)
			break;
		waiting = pack.put - pack.done;
		pthread_mutex_unlock(&pack.lock);
		write_item(&pack.queue[pack.done % QUEUE], waiting);
		pthread_mutex_lock(&pack.lock);
		keep_spare(&pack.queue[pack.done % QUEUE].payload);
		pack.done++;
		pthread_cond_broadcast(&pack.changed);
	}
	pthread_mutex_unlock(&pack.lock);
	return NULL;
}

bool pack_start(int fd)
{
	return writer_init(&pack.writer, fd) == 0 && pthread_create(&pack.thread, NULL, work, NULL) == 0;
}

void pack_put(const struct chunk_header *header, struct buf *payload, int level)
{
	pthread_mutex_lock(&pack.lock);
	while (pack.put - pack.done == QUEUE)
		pthread_cond_wait(&pack.changed, &pack.lock);
	pack.queue[pack.put++ % QUEUE] = (struct item){ .header = *header, .payload = *payload, .level = level };
	*payload = (struct buf){ 0 };
	if (header->type == CHUNK_EVENTS) {
		*payload = pack.spare;
		pack.spare = (struct buf){ 0 };
	}
	pthread_cond_broadcast(&pack.changed);
	pthread_mutex_unlock(&pack.lock);
}

void pack_flush(void)
{
	pthread_mutex_lock(&pack.lock);
	while (pack.put != pack.done)
		pthread_cond_wait(&pack.changed, &pack.lock);
	pthread_mutex_unlock(&pack.lock);
}

void pack_let_go(void)
{
	hold_end(&pack.writer);
}

void pack_retry(void)
{
	writer_retry(&pack.writer);
}

void pack_finish(void)
{
	pthread_mutex_lock(&pack.lock);
	pack.stop = true;
	pthread_cond_broadcast(&pack.changed);
	pthread_mutex_unlock(&pack.lock);
	pthread_join(pack.thread, NULL);
	writer_deinit(&pack.writer);
	buf_free(&pack.spare);
}

int pack_failed(void)
{
	return __atomic_load_n(&pack.writer.failed, __ATOMIC_RELAXED);
}

uint64_t pack_size(void)
{
	return __atomic_load_n(&pack.writer.size, __ATOMIC_RELAXED);
}

uint64_t pack_lost(void)
{
	return __atomic_load_n(&pack.lost, __ATOMIC_RELAXED) + hold_lost();
}
