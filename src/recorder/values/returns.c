/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "returns.h"

#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "probes.h"
#include "recorder/says.h"
#include "recorder/watch/watch_put.h"
#include "recorder/x86/entry_call.h"

enum {
	FUNCTIONS_MAX = 8192,
	LEFT_MAX = 1024,
};

static struct {
	struct function {
		uint64_t begin;
		uint32_t args, probe; /* read without the lock */
	} list[FUNCTIONS_MAX];
	uint32_t count;
	struct map at; /* begin → number + 1 */
} functions;

/* Calls that go on in another function. A stack is one task's. */
static struct {
	pthread_mutex_t lock;
	size_t count, lost; /* lost: there was no room for more */
	struct left {
		uint64_t slot, task, returns_to, entry; /* entry: in a program; else 0 */
		const struct function *function;
	} list[LEFT_MAX];
} left = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct function *function_at(uint64_t begin)
{
	uint64_t *number = map_put(&functions.at, begin, 0);

	if (!*number && functions.count == FUNCTIONS_MAX)
		return NULL;
	if (!*number) {
		functions.list[functions.count].begin = begin;
		*number = ++functions.count;
	}
	return &functions.list[*number - 1];
}

void returns_choose_args(uint64_t function, uint32_t args)
{
	struct function *f = function_at(function);

	if (f)
		__atomic_store_n(&f->args, args, __ATOMIC_RELEASE);
}

void returns_choose_probe(uint64_t function, uint32_t probe)
{
	struct function *f = function_at(function);

	if (f)
		__atomic_store_n(&f->probe, probe, __ATOMIC_RELEASE);
}

bool returns_are_watched(void)
{
	return functions.count;
}

uint32_t returns_at(uint64_t function)
{
	const uint64_t *number = functions.count ? map_get(&functions.at, function) : NULL;
	const struct function *f = number && *number ? &functions.list[*number - 1] : NULL;

	return f && (f->args || f->probe) ? (uint32_t)*number : 0;
}

static const char *name_of(const struct kernel *k, long function)
{
	return modules_is_number(function) ? modules_name(&k->modules, function) : symtab_name(&k->tab, function);
}

/* The chosen function of that name and of the same table. */
static uint32_t returns_named(long beside, const char *name, size_t len)
{
	struct kernel *k = &recorder.kernel;

	for (uint32_t i = 0; i < functions.count; i++) {
		long function = kernel_function(k, functions.list[i].begin);
		const char *text = function == SYMTAB_NONE ? "" : name_of(k, function);

		if (modules_number(function) == modules_number(beside) && !strncmp(text, name, len) && !text[len])
			return returns_at(functions.list[i].begin);
	}
	return 0;
}

uint32_t returns_of(long function)
{
	uint64_t start, end;
	const char *name, *cold;

	if (function == SYMTAB_NONE || !functions.count)
		return 0;
	kernel_bounds(&recorder.kernel, function, &start, &end);
	name = name_of(&recorder.kernel, function);
	cold = strstr(name, ".cold");
	return cold ? returns_named(function, name, (size_t)(cold - name)) : returns_at(start);
}

uint32_t returns_probe(uint64_t function)
{
	uint32_t number = returns_at(function);

	return number ? functions.list[number - 1].probe : 0;
}

/* All vCPUs look at that number, each at its own: a task goes from one to the other. Under the lock. */
static void tell_count(void)
{
	for (unsigned i = 0; i < recorder.n_vcpus; i++)
		if (recorder.vcpus[i])
			__atomic_store_n(&recorder.vcpus[i]->live->left, left.count, __ATOMIC_RELAXED);
}

static void take_out(size_t i)
{
	left.list[i] = left.list[--left.count];
	tell_count();
}

static struct left here(struct vcpu *v, const struct function *f)
{
	struct left l = { .slot = registers_read(&v->regs, REG_SP), .task = v->task, .function = f };

	guest_read(&v->regs, l.slot, &l.returns_to, sizeof l.returns_to);
	return l;
}

static bool same_call(const struct left *a, const struct left *b)
{
	return a->slot == b->slot && a->task == b->task && a->returns_to == b->returns_to;
}

/* Forget what was left there by that function; with `others`, also calls that can return no more. Under the lock. */
static void forget(const struct left *l, bool others)
{
	for (size_t i = left.count; i-- > 0;) {
		const struct left *old = &left.list[i];

		if (same_call(old, l) ? old->function == l->function
				      : others && old->slot == l->slot && old->task == l->task)
			take_out(i);
	}
}

static void keep(struct left l)
{
	pthread_mutex_lock(&left.lock);
	forget(&l, true);
	if (left.count == LEFT_MAX) {
		left.lost++;
		take_out(0);
	}
	left.list[left.count++] = l;
	tell_count();
	pthread_mutex_unlock(&left.lock);
}

void watch_leaves(unsigned cpu, void *data)
{
	keep(here(vcpu_get(cpu), &functions.list[(uintptr_t)data]));
}

void watch_may_leave(unsigned cpu, void *data)
{
	struct entry_call call;

	/* in the middle of a function, as at a switch's table, something else is on the top of the stack */
	entry_call_find(vcpu_get(cpu), &call);
	if (call.known)
		watch_leaves(cpu, data);
}

void returns_await(struct vcpu *v, uint64_t function, uint64_t entry)
{
	const struct function *f;
	struct left l;

	pthread_mutex_lock(&recorder.lock);
	f = function_at(function);
	pthread_mutex_unlock(&recorder.lock);
	if (!f)
		return;
	l = here(v, f);
	l.entry = entry;
	keep(l);
}

void returns_gone(uint64_t task)
{
	pthread_mutex_lock(&left.lock);
	for (size_t i = left.count; i-- > 0;)
		if (left.list[i].task == task)
			take_out(i);
	pthread_mutex_unlock(&left.lock);
}

void returns_finish(void)
{
	if (left.lost)
		recorder_says(
			"%zu returns of chosen functions were not seen: more than %d calls at a time were left to others",
			left.lost, LEFT_MAX);
}

static void tell(struct vcpu *v, const struct function *f, uint64_t entry, uint64_t behind)
{
	uint32_t args = __atomic_load_n(&f->args, __ATOMIC_ACQUIRE),
		 probe = __atomic_load_n(&f->probe, __ATOMIC_ACQUIRE);

	if (args)
		arguments_returns(v, args - 1);
	if (probe)
		probes_hit(v, probe, entry, behind);
}

void watch_own_return(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	const struct function *f = &functions.list[site_of(data)];
	struct left l;

	if (v->live->left) { /* by a jump that was not taken */
		l = here(v, f);
		pthread_mutex_lock(&left.lock);
		forget(&l, false);
		pthread_mutex_unlock(&left.lock);
	}
	tell(v, f, 0, above(data));
}

/* One that returns here, the last one that was left first. False: there is none more. */
static bool take_one(const struct left *at, struct left *ret)
{
	bool found = false;

	pthread_mutex_lock(&left.lock);
	for (size_t i = left.count; i-- > 0 && !found;) {
		found = same_call(&left.list[i], at);
		if (!found)
			continue;
		*ret = left.list[i];
		take_out(i);
	}
	pthread_mutex_unlock(&left.lock);
	return found;
}

void watch_left_return(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	struct left at = here(v, NULL), l;

	while (take_one(&at, &l))
		tell(v, l.function, l.entry, (uintptr_t)data);
}
