/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "syscalls.h"

#include <string.h>

#include "arch/arch.h"
#include "arch/syscall_args.h"
#include "limits.h"

enum {
	PATH_BYTES = 4096,   /* PATH_MAX, include/uapi/linux/limits.h */
	BYTES_MAX = 64,      /* of what is written: enough to know it again */
	PARKED_MAX = 256,    /* more tasks than that lose their strings */
	STEP = 64,           /* a string may end right before memory that is not there */
};

static size_t read_string(struct vcpu *v, uint64_t addr, char *out)
{
	for (size_t got = 0; got < PATH_BYTES;) {
		size_t step = STEP - (addr + got) % STEP;
		const char *end;

		if (step > PATH_BYTES - got)
			step = PATH_BYTES - got;
		if (!guest_read(&v->regs, addr + got, out + got, step))
			return got;
		end = memchr(out + got, 0, step);
		if (end)
			return (size_t)(end - out);
		got += step;
	}
	return PATH_BYTES;
}

static void put_text(const struct text *text)
{
	struct buf out = { 0 };

	text_put(&out, text);
	drain_put(CHUNK_TEXTS, &out);
	buf_free(&out);
}

/* False: it is not there. */
static bool read_path(struct vcpu *v, const struct unread *call, unsigned arg, uint64_t addr)
{
	char path[PATH_BYTES];
	size_t n = addr ? read_string(v, addr, path) : 0;

	if (n)
		put_text(&(struct text){
			.cpu = call->cpu, .insns = call->insns, .arg = arg, .cut = n == PATH_BYTES, .bytes = path, .len = n,
		});
	return n || !addr;
}

static bool read_bytes(struct vcpu *v, const struct unread *call, unsigned arg, uint64_t addr, uint64_t size)
{
	char bytes[BYTES_MAX];
	size_t n = size < BYTES_MAX ? size : BYTES_MAX;

	if (!n || !guest_read(&v->regs, addr, bytes, n))
		return !n;
	put_text(&(struct text){ .cpu = call->cpu, .insns = call->insns, .arg = arg, .cut = size > n, .bytes = bytes, .len = n });
	return true;
}

static bool read_strings(struct vcpu *v, const struct unread *call)
{
	const char *kinds = call->kinds;
	bool all = true;

	for (unsigned i = 0; kinds[i]; i++) {
		if (kinds[i] == ARG_PATH)
			all &= read_path(v, call, i, call->args[i]);
		else if (kinds[i] == ARG_BYTES)
			all &= read_bytes(v, call, i, call->args[i], call->args[i + 1]);
	}
	return all;
}

void syscalls_read(struct vcpu *v, const struct syscall_abi *abi, const uint64_t call[7])
{
	struct unread unread = { .kinds = abi->call_args(call[0]), .insns = v->live->insns, .cpu = v->index };

	memcpy(unread.args, call + 1, sizeof unread.args);
	v->unread.kinds = NULL;
	if (unread.kinds && !read_strings(v, &unread))
		v->unread = unread;
}

void syscalls_returned(struct vcpu *v)
{
	if (v->unread.kinds)
		read_strings(v, &v->unread);
	v->unread.kinds = NULL;
}

void syscalls_forget(struct vcpu *v)
{
	v->unread.kinds = NULL;
}

/* Calls of tasks that do not run. */
static struct {
	pthread_mutex_t lock;
	struct {
		uint64_t task;
		struct unread call;
	} list[PARKED_MAX];
	size_t count;
} parked = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Take the task's call out of the list. Under the lock. */
static bool unpark(uint64_t task, struct unread *ret)
{
	for (size_t i = 0; i < parked.count; i++)
		if (parked.list[i].task == task) {
			*ret = parked.list[i].call;
			parked.list[i] = parked.list[--parked.count];
			return true;
		}
	return false;
}

void syscalls_gone(uint64_t task)
{
	struct unread call;

	pthread_mutex_lock(&parked.lock);
	unpark(task, &call);
	pthread_mutex_unlock(&parked.lock);
}

void syscalls_forget_all(void)
{
	pthread_mutex_lock(&parked.lock);
	parked.count = 0;
	pthread_mutex_unlock(&parked.lock);
}

void syscalls_switch(struct vcpu *v, uint64_t previous, uint64_t next)
{
	if (!v->unread.kinds && !__atomic_load_n(&parked.count, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&parked.lock);
	if (v->unread.kinds && parked.count < PARKED_MAX) {
		parked.list[parked.count].task = previous;
		parked.list[parked.count++].call = v->unread;
	} else if (v->unread.kinds) {
		limits_reached(LIMIT_STRINGS);
	}
	if (!unpark(next, &v->unread))
		v->unread.kinds = NULL;
	pthread_mutex_unlock(&parked.lock);
}
