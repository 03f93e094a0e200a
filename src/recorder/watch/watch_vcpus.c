/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What becomes of vCPUs: they halt, go on, start, boot and stop; their page tables and clocks. */
#include "recorder/boot.h"
#include "recorder/cpu.h"
#include "recorder/qemu/guest_time.h"
#include "recorder/qemu/qemu_inside.h"
#include "recorder/spans/waiting.h"
#include "trace/boots.h"
#include "watch_put.h"

void watch_resumes(struct vcpu *v, uint64_t uncounted)
{
	if (!v->halted)
		return;
	v->halted = false;
	guest_time_resumed(v, uncounted);
	PUT(v, EVENT_RESUME, v->live->insns, guest_time(v));
}

static uint64_t put_halt(struct vcpu *v)
{
	uint64_t ns;

	watch_resumes(v, 0);
	guest_time_halted(v);
	v->halted = true;
	ns = guest_time(v);
	PUT(v, EVENT_HALT, v->live->insns, ns);
	return ns;
}

void watch_halt(unsigned cpu, void *data)
{
	(void)data;
	put_halt(vcpu_get(cpu));
}

void watch_resume(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	if (!v->halted)
		return;
	watch_resumes(v, (uintptr_t)data);
	waiting_look(v); /* the time that is waited for may have come meanwhile */
}

void watch_often(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);

	(void)data;
	v->live->unlooked = 0;
	waiting_look(v);
}

/* The vCPU begins anew: it runs no task, has no page tables, and its calls are over. */
static void begin_anew(struct vcpu *v, uint64_t ns)
{
	PUT(v, EVENT_TASK_SWITCH, v->live->insns, ns, v->task, 0);
	if (v->space)
		PUT(v, EVENT_ADDRESS_SPACE, v->live->insns, 0);
	v->task = v->space = v->user_from = 0;
	v->user_left = LEFT_UNKNOWN;
	v->unread.kinds = NULL;
	v->live->thunk = 0;
}

void watch_start(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	(void)data;
	/*
	 * vCPU 0 boots without such an interrupt; and the first instruction of a page is not always where one leads to
	 */
	if (cpu == 0 || registers_read(&v->regs, REG_IP))
		return;
	if (!v->begun) {
		/* it has waited for this since the guest began */
		PUT(v, EVENT_HALT, 0, 0);
		v->halted = v->begun = true;
	}
	watch_resumes(v, 0);
	begin_anew(v, guest_time(v));
}

/*
 * A reset has put the vCPU where it waits for a startup interrupt. It does not execute, so its ring may be written to.
 */
static void wait_for_start(struct vcpu *v)
{
	watch_resumes(v, 0);
	begin_anew(v, guest_time(v));
	v->halted = true;
	PUT(v, EVENT_HALT, v->live->insns, guest_time(v));
}

static void wait_others(const struct vcpu *v)
{
	recorder.puts_for_others = true;
	for (unsigned i = 0; i < recorder.n_vcpus; i++)
		if (i != v->index && vcpu_get(i) && vcpu_get(i)->begun)
			wait_for_start(vcpu_get(i));
	recorder.puts_for_others = false;
}

static void begin_boot(struct vcpu *v, uint32_t site, bool loaded)
{
	uint64_t ns;

	/* a kernel that starts another one has halted the others itself */
	if (!loaded)
		wait_others(v);
	/* a kernel that another one starts runs where that ended: that of a crash, on whichever vCPU panicked */
	pthread_mutex_lock(&recorder.lock);
	recorder.boot_thread = pthread_self();
	recorder.boot_vcpu = v->index;
	pthread_mutex_unlock(&recorder.lock);
	watch_resumes(v, 0);
	ns = guest_time(v);
	boot_begin(ns, loaded ? BOOT_KEXEC : BOOT_RESET);
	begin_anew(v, ns);
	recorder.cpu->reset_vcpu(v);
	put_arrival(v, site, v->live->insns, site_at(site)->addr);
}

/*
 * The guest has suspended to RAM. No vCPU executes, so their rings may be written to.
 */
void watch_suspended(void)
{
	struct buf lines = { 0 };
	char key[BOOT_KEY];
	uint64_t ns = 0;

	recorder.puts_for_others = true;
	for (unsigned i = 0; i < recorder.n_vcpus; i++) {
		struct vcpu *v = vcpu_get(i);

		if (v && v->begun && !v->halted && !v->ended)
			ns = put_halt(v);
	}
	recorder.puts_for_others = false;
	meta_put_u64(&lines, wake_key(recorder.wakes, "sleep_ns", key), ns ? ns : guest_time(vcpu_get(0)));
	drain_put(CHUNK_META, &lines);
	buf_free(&lines);
}

/*
 * It was woken: firmware runs, on behalf of whoever had suspended the machine, until the kernel goes on where that was.
 * All tasks are still there.
 */
static void wake_up(struct vcpu *v, uint32_t site)
{
	struct buf lines = { 0 };
	char key[BOOT_KEY];

	wait_others(v);
	watch_resumes(v, 0);
	recorder.cpu->reset_vcpu(v);
	meta_put_u64(&lines, wake_key(recorder.wakes++, "start_ns", key), watch_clock(v->index));
	drain_put(CHUNK_META, &lines);
	buf_free(&lines);
	put_arrival(v, site, v->live->insns, site_at(site)->addr);
}

void watch_woken(unsigned cpu, void *data)
{
	struct buf lines = { 0 };
	char key[BOOT_KEY];

	(void)data;
	if (cpu || !recorder.wakes)
		return;
	meta_put_u64(&lines, wake_key(recorder.wakes - 1, "kernel_ns", key), watch_clock(cpu));
	drain_put(CHUNK_META, &lines);
	buf_free(&lines);
}

void watch_reset(unsigned cpu, void *data)
{
	struct vcpu *v = vcpu_get(cpu);
	bool woken = inside_woken() && kernel_found(&recorder.kernel) && kernel_has_hook(&recorder.kernel, "wakeup_long64");

	/* that is also how it begins when the machine is switched on */
	if (cpu == 0 && woken)
		wake_up(v, site_of(data));
	else if (cpu == 0 && (v->begun || v->live->insns))
		begin_boot(v, site_of(data), false);
	v->begun = true;
}

void watch_kexec_begins(unsigned cpu, void *data)
{
	(void)cpu;
	(void)data;
	pthread_mutex_lock(&recorder.lock);
	recorder.kexec = true;
	pthread_mutex_unlock(&recorder.lock);
}

void watch_kexec(unsigned cpu, void *data)
{
	if (recorder.kexec)
		begin_boot(vcpu_get(cpu), site_of(data), true);
}

/*
 * A power-off is asked for by a port write, but the vCPUs only stop when the
 * host gets round to it. The recording ends here, at the same place each time.
 */
void watch_shutdown(unsigned cpu, void *data)
{
	uint64_t ns;

	if (!inside_shut_down())
		return;
	ns = guest_time_ahead(vcpu_get(cpu), (uintptr_t)data);
	recorder.puts_for_others = true;
	for (unsigned i = 0; i < recorder.n_vcpus; i++) {
		struct vcpu *v = vcpu_get(i);

		/* another vCPU's ring is only its own thread's, unless all share one */
		if (!v || v->ended || (i != cpu && !recorder.cuts_blocks))
			continue;
		v->ended = true;
		v->end_insns = v->live->insns;
		PUT(v, EVENT_CLOCK, v->live->insns, ns);
		put(v, EVENT_NONE, v->live->insns, NULL, 0);
	}
	recorder.puts_for_others = false;
}

uint64_t watch_clock(unsigned cpu)
{
	struct vcpu *v = vcpu_get(cpu);
	uint64_t ns = guest_time(v);

	PUT(v, EVENT_CLOCK, v->live->insns, ns);
	return ns;
}

void watch_finish(void)
{
	recorder.puts_for_others = true;
	for (unsigned i = 0; i < recorder.n_vcpus; i++) {
		struct vcpu *v = vcpu_get(i);

		if (!v || v->ended)
			continue;
		v->end_insns = v->live->insns;
		PUT(v, EVENT_CLOCK, v->end_insns, guest_time(v));
	}
}
