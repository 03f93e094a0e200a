/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of the kernel at whose entry something is learnt of its tasks and of code. */
#include "recorder/boot.h"
#include "recorder/code/contents.h"
#include "recorder/code/guest_code.h"
#include "recorder/kernel/hooks.h"
#include "recorder/kernel/kernel_argument.h"
#include "recorder/kernel/learning.h"
#include "recorder/kernel/narrow_learning.h"
#include "recorder/kernel/syscalls.h"
#include "recorder/kernel/tasks.h"
#include "recorder/qemu/guest_time.h"
#include "recorder/spans/waiting.h"
#include "recorder/values/returns.h"
#include "watch_put.h"

/* Only the first vCPU that switches tasks gets to it. */
static void tell_command_line(struct vcpu *v)
{
	uint64_t addr = __atomic_exchange_n(&recorder.kernel.command_line, 0, __ATOMIC_RELAXED);
	char text[2048];
	struct buf lines = { 0 };

	if (addr && guest_read(&v->regs, addr, text, sizeof text)) {
		text[sizeof text - 1] = '\0';
		pthread_mutex_lock(&recorder.lock);
		meta_put(&lines, boot_meta_key("command_line"), text);
		pthread_mutex_unlock(&recorder.lock);
		drain_put(CHUNK_META, &lines);
		buf_free(&lines);
	}
}

void watch_task_switch(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t previous = kernel_argument(&v->regs, 0), next;

	(void)data;
	waiting_look(v);
	if (__atomic_load_n(&recorder.kernel.command_line, __ATOMIC_RELAXED))
		tell_command_line(v);
	next = kernel_argument(&v->regs, 1);
	learning_switch(v, cpu, previous, next);
	narrow_learning_switch(v, cpu, previous, next);
	v->user_from = tasks_switch(previous, v->user_from, next);
	syscalls_switch(v, previous, next);
	tasks_meet(v, cpu, previous);
	tasks_meet(v, cpu, next);
	if (recorder.kernel.no_names) {
		learning_exec(v, next);
		tasks_look(v, cpu, previous);
		tasks_look(v, cpu, next);
	}
	v->task = next;
	contents_switch(v, next);
	v->user_left = LEFT_UNKNOWN;
	PUT(v, EVENT_TASK_SWITCH, v->live->insns, guest_time(v), previous, next);
}

void watch_new_task(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	(void)data;
	/* so that what its maker did comes before what it does on another vCPU */
	watch_clock(cpu);
	syscalls_gone(kernel_argument(&v->regs, 0));
	tasks_tell(v, cpu, TASK_NEW, kernel_argument(&v->regs, 0));
}

void watch_task_name(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	bool exec = kernel_argument(&v->regs, 1) & 0xff;

	(void)data;
	if (exec) { /* the new program's code comes after it */
		syscalls_forget(v);
		watch_clock(cpu);
		learning_exec(v, kernel_argument(&v->regs, 0));
		narrow_learning_exec(v, kernel_argument(&v->regs, 0));
	}
	tasks_tell(v, cpu, exec ? TASK_EXEC : TASK_NAME, kernel_argument(&v->regs, 0));
}

void watch_task_exit(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	(void)data;
	syscalls_forget(v);
	returns_gone(v->task);
	tasks_tell(v, cpu, TASK_EXIT, v->task);
}

void watch_code(unsigned cpu, void *data)
{
	const struct hook *hook = data;
	struct vcpu *v = vcpu_get(cpu);

	hook->code(v, cpu, kernel_argument(&v->regs, 0));
}
