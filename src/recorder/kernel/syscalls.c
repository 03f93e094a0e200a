/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "syscalls.h"

#include <string.h>

#include "arch/arch.h"
#include "arch/syscall_args.h"
#include "recorder/limits.h"

enum {
	PATH_BYTES = 4096,   /* PATH_MAX, include/uapi/linux/limits.h */
	BYTES_MAX = 64,      /* of what is written: enough to know it again */
	TAP_MAX = 8192,      /* of what a test writes that tells how it ended, which may be several lines */
	DATAGRAM_MAX = 256,  /* of what is sent: a service says so that it is ready, and audit that it began or ended */
	PARKED_MAX = 256,    /* more tasks than that lose their strings */
	STEP = 64,           /* a string may end right before memory that is not there */
};

/* `ret_all`: false: it goes on where memory is not there. */
static size_t read_string(struct vcpu *v, uint64_t addr, char *out, bool *ret_all)
{
	*ret_all = true;
	for (size_t got = 0; got < PATH_BYTES;) {
		size_t step = STEP - (addr + got) % STEP;
		const char *end;

		if (step > PATH_BYTES - got)
			step = PATH_BYTES - got;
		if (!guest_read(&v->regs, addr + got, out + got, step)) {
			*ret_all = false;
			return got;
		}
		end = memchr(out + got, 0, step);
		if (end)
			return (size_t)(end - out);
		got += step;
	}
	return PATH_BYTES;
}

static void put_text(const struct unread *call, const struct text *text)
{
	struct buf out = { 0 };

	text_put(&out, text);
	drain_put_beside(CHUNK_TEXTS, &out, call->ns);
	buf_free(&out);
}

/* False: it is not all there. What is there is put nevertheless: the call may not return, as execve() does. */
static bool read_path(struct vcpu *v, const struct unread *call, unsigned arg, uint64_t addr)
{
	char path[PATH_BYTES];
	bool all = true;
	size_t n = addr ? read_string(v, addr, path, &all) : 0;

	if (n)
		put_text(call, &(struct text){
			.cpu = call->cpu, .insns = call->insns, .arg = arg, .cut = !all || n == PATH_BYTES,
			.bytes = path, .len = n,
		});
	return all;
}

static bool read_bytes(struct vcpu *v, const struct unread *call, unsigned arg, uint64_t addr, uint64_t size,
		       size_t max)
{
	char bytes[TAP_MAX];
	size_t n = size < max ? size : max, more = size < sizeof bytes ? size : sizeof bytes;

	if (!n || !guest_read(&v->regs, addr, bytes, n))
		return !n;
	if (more > n && text_is_tap(bytes, n) && guest_read(&v->regs, addr + n, bytes + n, more - n))
		n = more;
	put_text(call, &(struct text){
		.cpu = call->cpu, .insns = call->insns, .arg = arg, .cut = size > n, .bytes = bytes, .len = n,
	});
	return true;
}

/* struct iovec, include/uapi/linux/uio.h, of 64-bit programs */
struct vector {
	uint64_t addr, size;
};

/* What the pieces have, one after the other. */
static bool read_vector(struct vcpu *v, const struct unread *call, unsigned arg, uint64_t addr, uint64_t count)
{
	enum { PIECES_MAX = 16 };
	char bytes[TAP_MAX];
	uint64_t n = 0, size = 0, max = DATAGRAM_MAX;

	for (uint64_t i = 0; i < count && i < PIECES_MAX; i++) {
		struct vector piece;
		uint64_t some, rest;

		if (!guest_read(&v->regs, addr + i * sizeof piece, &piece, sizeof piece))
			return false;
		some = piece.size < max - n ? piece.size : max - n;
		if (some && !guest_read(&v->regs, piece.addr, bytes + n, some))
			return false;
		n += some;
		size += piece.size;
		if (n < max || max == sizeof bytes || !text_is_tap(bytes, n))
			continue;
		max = sizeof bytes;
		rest = piece.size - some < max - n ? piece.size - some : max - n;
		if (rest && !guest_read(&v->regs, piece.addr + some, bytes + n, rest))
			return false;
		n += rest;
	}
	if (n)
		put_text(call, &(struct text){
			.cpu = call->cpu, .insns = call->insns, .arg = arg, .cut = size > n || count > PIECES_MAX,
			.bytes = bytes, .len = n,
		});
	return true;
}

/* struct user_msghdr, include/linux/socket.h */
static bool read_message(struct vcpu *v, const struct unread *call, unsigned arg, uint64_t addr)
{
	enum { VECTOR = 16, COUNT = 24 };
	uint64_t vector, count;

	return guest_read(&v->regs, addr + VECTOR, &vector, sizeof vector) &&
	       guest_read(&v->regs, addr + COUNT, &count, sizeof count) && read_vector(v, call, arg, vector, count);
}

/* False: it is not all there. */
static bool read_argument(struct vcpu *v, const struct unread *call, unsigned i)
{
	switch (call->kinds[i]) {
	case ARG_PATH:
		return read_path(v, call, i, call->args[i]);
	case ARG_BYTES:
		return read_bytes(v, call, i, call->args[i], call->args[i + 1], BYTES_MAX);
	case ARG_DATAGRAM:
		return read_bytes(v, call, i, call->args[i], call->args[i + 1], DATAGRAM_MAX);
	case ARG_VECTOR:
		return !call->wide || read_vector(v, call, i, call->args[i], call->args[i + 1]);
	case ARG_MESSAGE:
		return !call->wide || read_message(v, call, i, call->args[i]);
	default:
		return true;
	}
}

static bool read_strings(struct vcpu *v, const struct unread *call)
{
	bool all = true;

	for (unsigned i = 0; call->kinds[i]; i++)
		all &= read_argument(v, call, i);
	return all;
}

void syscalls_read(struct vcpu *v, const struct syscall_abi *abi, const uint64_t call[7], uint64_t ns)
{
	struct unread unread = {
		.kinds = abi->call_args(call[0]), .insns = v->live->insns, .ns = ns, .cpu = v->index,
		.wide = abi->pointer == sizeof(uint64_t),
	};

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
