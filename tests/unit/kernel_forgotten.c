/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel is forgotten, and another one found, while vCPUs ask without the recorder's lock which functions it has:
 * what is freed meanwhile nobody reads.
 */
#include "recorder/recorder.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "recorder/watch/watch.h"

enum { KERNELS = 1000, READERS = 2, FUNCTIONS = 64, LENGTH = 256 };

#define FIRST 0xffffffff81000000u

struct recorder recorder = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool over;
static unsigned long right[READERS]; /* has the reader found a function? */

/* What is not asked for here. */
const struct hook hooks[1];
const size_t hooks_count = 0;
const char *const feature_functions[FEATURES];

uint64_t registers_ask(struct registers *r, enum reg reg)
{
	return r ? 0 : reg;
}

bool guest_read(struct registers *r, uint64_t addr, void *data, size_t n)
{
	return r && addr && data && n && false;
}

void watch_task_switch(unsigned cpu, void *data)
{
	abort();
	(void)cpu, (void)data;
}

/* A kernel that was read out of guest memory, as those are that are freed. */
static void find(struct kernel *k)
{
	struct symtab_function list[FUNCTIONS];
	size_t cap = 0;

	k->tab = (struct symtab){ 0 };
	symtab_add_section(&k->tab, &cap, 0, 0, "");
	symtab_add_section(&k->tab, &cap, FIRST, FIRST + FUNCTIONS * LENGTH, ".text");
	for (unsigned i = 0; i < FUNCTIONS; i++)
		list[i] = (struct symtab_function){ .addr = FIRST + (uint64_t)i * LENGTH, .name = "f", .section = 1 };
	symtab_put_functions(&k->tab, list, FUNCTIONS, NULL);
	__atomic_store_n(&k->found, true, __ATOMIC_RELEASE);
}

static void *ask(void *arg)
{
	unsigned long *n = arg;

	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		if (kernel_is_inside(&recorder.kernel, FIRST + LENGTH, FIRST + LENGTH + 8))
			__atomic_store_n(n, 1, __ATOMIC_RELAXED);
		if (kernel_is_inside(&recorder.kernel, FIRST + LENGTH, FIRST)) {
			printf("a function reaches into its neighbour\n");
			exit(1);
		}
		kernel_has_code(&recorder.kernel, FIRST);
	}
	return NULL;
}

static bool all_found(void)
{
	for (unsigned i = 0; i < READERS; i++)
		if (!__atomic_load_n(&right[i], __ATOMIC_RELAXED))
			return false;
	return true;
}

/*
 * It goes on until each reader has found a function: where others have the CPUs, that may be late. If none ever does,
 * it does not end.
 */
int main(void)
{
	pthread_t readers[READERS];

	for (unsigned i = 0; i < READERS; i++)
		if (pthread_create(&readers[i], NULL, ask, &right[i]))
			return 1;
	for (unsigned i = 0; i < KERNELS || !all_found(); i++) {
		find(&recorder.kernel);
		sched_yield();
		kernel_forget(&recorder.kernel);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	symtab_deinit(&recorder.kernel.tab);
	return 0;
}
