/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "learning.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "tasks.h"

static struct {
	pthread_mutex_t lock;
	bool on;
	bool asked[MEMBERS];     /* it was needed, and was not known */
	uint64_t early[MEMBERS]; /* facts that were not read, as they came before it was known */
	struct learner learner;
} learning = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool read_memory(void *context, uint64_t addr, void *data, size_t n)
{
	return guest_read(context, addr, data, n);
}

struct learn_memory learning_memory(struct vcpu *v)
{
	return (struct learn_memory){ .read = read_memory, .context = &v->regs };
}

void learning_begin(void)
{
	pthread_mutex_lock(&learning.lock);
	learn_begin(&learning.learner, &recorder.kernel.layout);
	memset(learning.asked, 0, sizeof learning.asked);
	memset(learning.early, 0, sizeof learning.early);
	__atomic_store_n(&learning.on, !recorder.kernel.layout.whole, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&learning.lock);
}

static void put_member(struct buf *list, int member)
{
	buf_printf(list, "%s%s", list->len ? ", " : "", layout_member((enum member)member));
}

bool learning_end(struct buf *missing, struct buf *early)
{
	bool was_on;

	pthread_mutex_lock(&learning.lock);
	was_on = learning.on;
	for (int i = 0; i < MEMBERS && was_on; i++) {
		if (learning.asked[i] && recorder.kernel.layout.offset[i] == MEMBER_UNKNOWN) {
			put_member(missing, i);
		} else if (learning.early[i]) {
			put_member(early, i);
			buf_printf(early, " %" PRIu64, learning.early[i]);
		}
	}
	learning.on = false;
	pthread_mutex_unlock(&learning.lock);
	return was_on;
}

static bool is_on(void)
{
	return __builtin_expect(__atomic_load_n(&learning.on, __ATOMIC_ACQUIRE), 0);
}

/* What looks for a place runs with the lock. Returns the host's time. */
static uint64_t begin_look(void)
{
	pthread_mutex_lock(&learning.lock);
	return clock_ns();
}

static void end_look(uint64_t begun)
{
	recorder.stats->learn_ns += clock_ns() - begun;
	recorder.stats->learn_tries++;
	pthread_mutex_unlock(&learning.lock);
}

static bool lacks(enum member member)
{
	if (!is_on() || __atomic_load_n(&recorder.kernel.layout.offset[member], __ATOMIC_RELAXED) != MEMBER_UNKNOWN)
		return false;
	learning.asked[member] = true;
	return true;
}

static bool learnt_from_guest(enum member member)
{
	return is_on() && recorder.kernel.layout.from[member] == LAYOUT_LEARNT;
}

void learning_switch(struct vcpu *v, unsigned cpu, uint64_t previous, uint64_t next)
{
	struct learn_memory m = learning_memory(v);
	bool nameless = lacks(TASK_PID), now;
	uint64_t begun;

	if (!nameless && !lacks(TASK_STATE) && !lacks(TASK_REAL_PARENT))
		return;
	begun = begin_look();
	learn_switch(&learning.learner, &m, previous, next);
	now = nameless && !lacks(TASK_PID);
	end_look(begun);
	if (now)
		tasks_name_all(v, cpu);
}

void learning_exec(struct vcpu *v, uint64_t task)
{
	struct learn_memory m = learning_memory(v);
	uint64_t begun;

	if (!lacks(TASK_MM) && !lacks(MM_EXE_FILE))
		return;
	begun = begin_look();
	learn_exec(&learning.learner, &m, task, v->space);
	end_look(begun);
}

void learning_mapping(struct vcpu *v, uint64_t vma)
{
	struct learn_memory m = learning_memory(v);
	uint64_t begun;

	if (!lacks(VMA_FILE) && !lacks(VMA_FLAGS))
		return;
	begun = begin_look();
	learn_mapping(&learning.learner, &m, v->task, vma);
	end_look(begun);
}

/* At other functions it is one argument, or two, that tells. */
#define LEARNING(name, member, ...)                                     \
	{                                                               \
		struct learn_memory m = learning_memory(v);             \
		uint64_t begun;                                         \
                                                                        \
		if (!lacks(member))                                     \
			return;                                         \
		begun = begin_look();                                   \
		learn_##name(&learning.learner, &m, __VA_ARGS__);       \
		learning.early[member] += lacks(member);                \
		end_look(begun);                                        \
	}

void learning_arguments(struct vcpu *v, uint64_t mm) LEARNING(arguments, MM_ARG_START, mm)

void learning_log(struct vcpu *v, uint64_t entry)
{
	struct learn_memory m = learning_memory(v);
	uint64_t begun;

	if (!lacks(LOG_ENTRY_RING) && !learnt_from_guest(LOG_ENTRY_RING))
		return;
	begun = begin_look();
	if (!learning.learner.log_is_sure)
		learn_log(&learning.learner, &m, entry);
	end_look(begun);
}

void learning_probe(struct vcpu *v, uint64_t device, uint64_t driver) LEARNING(probe, DRIVER_NAME, device, driver)
void learning_request(struct vcpu *v, uint64_t request) LEARNING(request, REQUEST_SECTOR, request)
void learning_work(struct vcpu *v, uint64_t work) LEARNING(work, WORK_FUNCTION, work)
void learning_timer(struct vcpu *v, uint64_t timer) LEARNING(timer, TIMER_FUNCTION, timer)
void learning_group(struct vcpu *v, uint64_t node) LEARNING(group, GROUP_NODE, node)
