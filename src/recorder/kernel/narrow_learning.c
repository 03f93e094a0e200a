/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "narrow_learning.h"

#include "guest/narrow_tasks.h"
#include "guest_address.h"
#include "learning.h"
#include "recorder/boot.h"
#include "tasks.h"

static struct {
	pthread_mutex_t lock;
	struct learner learner;
} learning = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool lacks(enum member member)
{
	return guest_is_narrow() && !recorder.kernel.layout.whole &&
	       __atomic_load_n(&recorder.kernel.layout.offset[member], __ATOMIC_RELAXED) == MEMBER_UNKNOWN;
}

void narrow_learning_begin(void)
{
	pthread_mutex_lock(&learning.lock);
	learn_begin(&learning.learner, &recorder.kernel.layout);
	pthread_mutex_unlock(&learning.lock);
}

/* META has what is known by now. */
static void tell(void)
{
	struct buf lines = { 0 };

	pthread_mutex_lock(&recorder.lock);
	boot_put_layout(&recorder.kernel.layout, &lines);
	pthread_mutex_unlock(&recorder.lock);
	drain_put(CHUNK_META, &lines);
	buf_free(&lines);
}

void narrow_learning_switch(struct vcpu *v, unsigned cpu, uint64_t previous, uint64_t next)
{
	struct learn_memory m = learning_memory(v);
	bool nameless = lacks(TASK_PID), news;

	if (!nameless && !lacks(TASK_STATE) && !lacks(TASK_REAL_PARENT))
		return;
	pthread_mutex_lock(&learning.lock);
	news = learn_switch(&learning.learner, &m, previous, next);
	news |= narrow_learn_parent(&learning.learner, &m);
	pthread_mutex_unlock(&learning.lock);
	if (news)
		tell();
	if (nameless && !lacks(TASK_PID))
		tasks_name_all(v, cpu);
}

void narrow_learning_exec(struct vcpu *v, uint64_t task)
{
	struct learn_memory m = learning_memory(v);
	bool news;

	if (!lacks(TASK_MM))
		return;
	pthread_mutex_lock(&learning.lock);
	news = narrow_learn_mm(&learning.learner, &m, &guest_narrow, task, v->space);
	pthread_mutex_unlock(&learning.lock);
	if (news)
		tell();
}
