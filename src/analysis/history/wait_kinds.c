/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wait_kinds.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/*
 * Patterns are shell's; the names are those of Linux 5.10 to 7.2, from
 * kernel/, fs/, mm/, net/ and drivers/base/.
 */
static const struct {
	const char *pattern;
	enum wait_kind kind;
	unsigned weak; /* others use it to wait: of all that are here the least weak counts, then the innermost */
} waits[] = {
	{ "schedule_timeout*", WAIT_TIMER, 2 },
	{ "schedule_hrtimeout*", WAIT_TIMER, 2 },
	{ "wait_woken", WAIT_PEER, 1 },
	{ "__wait_for_common*", WAIT_PEER, 1 },
	{ "wait_for_completion*", WAIT_PEER, 1 },
	{ "swait_event*", WAIT_PEER, 1 },
	{ "msleep*", WAIT_TIMER },
	{ "usleep_range*", WAIT_TIMER },
	{ "do_nanosleep", WAIT_TIMER },
	{ "hrtimer_nanosleep", WAIT_TIMER },
	{ "do_clock_nanosleep", WAIT_TIMER },
	{ "__mutex_lock*", WAIT_LOCK },
	{ "mutex_lock*", WAIT_LOCK },
	{ "__ww_mutex_lock*", WAIT_LOCK },
	{ "rwsem_down_*", WAIT_LOCK },
	{ "__down_*", WAIT_LOCK },
	{ "__down", WAIT_LOCK },
	{ "down", WAIT_LOCK },
	{ "rt_mutex_slowlock*", WAIT_LOCK },
	{ "rtlock_slowlock*", WAIT_LOCK },
	{ "percpu_rwsem_wait", WAIT_LOCK },
	{ "futex_wait*", WAIT_LOCK },
	{ "__futex_wait", WAIT_LOCK },
	{ "futex_do_wait", WAIT_LOCK },
	{ "__lock_sock", WAIT_LOCK },
	{ "io_schedule*", WAIT_DISK },
	{ "folio_wait_bit_common", WAIT_DISK },
	{ "bit_wait_io*", WAIT_DISK },
	{ "out_of_line_wait_on_bit*", WAIT_DISK },
	{ "__wait_on_buffer", WAIT_DISK },
	{ "blk_execute_rq", WAIT_DISK },
	{ "submit_bio_wait", WAIT_DISK },
	{ "blk_mq_freeze_queue*", WAIT_DISK },
	{ "jbd2_log_wait_commit", WAIT_DISK },
	{ "pipe_read", WAIT_PEER },
	{ "anon_pipe_read", WAIT_PEER },
	{ "pipe_write", WAIT_PEER },
	{ "anon_pipe_write", WAIT_PEER },
	{ "wait_for_partner", WAIT_PEER },
	{ "handle_userfault", WAIT_PEER },
	{ "unix_stream_*", WAIT_PEER },
	{ "unix_wait_for_peer", WAIT_PEER },
	{ "__skb_wait_for_more_packets", WAIT_PEER },
	{ "sk_wait_data", WAIT_PEER },
	{ "sk_stream_wait_*", WAIT_PEER },
	{ "inet_csk_accept", WAIT_PEER },
	{ "do_epoll_wait", WAIT_PEER },
	{ "ep_poll", WAIT_PEER },
	{ "do_sys_poll", WAIT_PEER },
	{ "do_select", WAIT_PEER },
	{ "do_poll*", WAIT_PEER },
	{ "core_sys_select", WAIT_PEER },
	{ "eventfd_read", WAIT_PEER },
	{ "signalfd_dequeue", WAIT_PEER },
	{ "do_sigtimedwait*", WAIT_PEER },
	{ "sigsuspend", WAIT_PEER },
	{ "__x64_sys_pause", WAIT_PEER },
	{ "do_signal_stop", WAIT_PEER },
	{ "devtmpfs_submit_req", WAIT_PEER },
	{ "n_tty_read", WAIT_DEVICE },
	{ "tty_wait_until_sent", WAIT_DEVICE },
	{ "n_tty_write", WAIT_DEVICE },
	{ "hwrng_*", WAIT_DEVICE },
	{ "virtio_read", WAIT_DEVICE },
	{ "wait_for_random_bytes", WAIT_DEVICE },
	{ "do_wait", WAIT_CHILD },
	{ "__do_wait", WAIT_CHILD },
	{ "wait_for_vfork_done", WAIT_CHILD },
	{ "call_usermodehelper_exec*", WAIT_CHILD },
	{ "kernel_wait", WAIT_CHILD },
	{ "synchronize_rcu*", WAIT_RCU },
	{ "__wait_rcu_gp", WAIT_RCU },
	{ "rcu_barrier*", WAIT_RCU },
	{ "__synchronize_srcu", WAIT_RCU },
	{ "synchronize_srcu*", WAIT_RCU },
	{ "flush_work", WAIT_WORK },
	{ "__flush_work*", WAIT_WORK },
	{ "__flush_workqueue", WAIT_WORK },
	{ "flush_workqueue", WAIT_WORK },
	{ "drain_workqueue", WAIT_WORK },
	{ "wait_for_initramfs", WAIT_WORK },
	{ "async_synchronize_*", WAIT_WORK },
	{ "wait_for_device_probe", WAIT_WORK },
	{ "__kthread_create_on_node", WAIT_WORK },
	{ "kthread_stop*", WAIT_WORK },
	{ "kthread_park", WAIT_WORK },
	{ "cpuhp_*", WAIT_WORK, 1 },
	{ "stop_one_cpu", WAIT_WORK },
	{ "stop_cpus", WAIT_WORK },
	{ "__stop_cpus*", WAIT_WORK },
	{ "worker_thread", WAIT_IDLE, 3 },
	{ "rescuer_thread", WAIT_IDLE, 3 },
	{ "kthreadd", WAIT_IDLE, 3 },
	{ "smpboot_thread_fn", WAIT_IDLE, 3 },
	{ "rcu_gp_fqs_loop", WAIT_RCU },
	{ "rcu_gp_kthread", WAIT_IDLE, 3 },
	{ "rcu_tasks_one_gp", WAIT_IDLE, 3 },
	{ "kthread_worker_fn", WAIT_IDLE, 3 },
	{ "kswapd", WAIT_IDLE, 3 },
	{ "kcompactd", WAIT_IDLE, 3 },
	{ "kauditd_thread", WAIT_IDLE, 3 },
	{ "irq_thread", WAIT_IDLE, 3 },
	{ "kthread", WAIT_IDLE, 3 },
};

static const struct {
	const char *pattern;
	enum wake_context context;
} wakes[] = {
	{ "process_timeout", WAKE_TIMER },
	{ "hrtimer_wakeup", WAKE_TIMER },
	{ "call_timer_fn", WAKE_TIMER },
	{ "__hrtimer_run_queues*", WAKE_TIMER },
	{ "delayed_work_timer_fn", WAKE_TIMER },
	{ "it_real_fn", WAKE_TIMER },
	{ "timerfd_tmrproc", WAKE_TIMER },
	{ "blk_update_request", WAKE_DISK },
	{ "blk_mq_end_request", WAKE_DISK },
	{ "blk_mq_complete_request*", WAKE_DISK },
	{ "blk_done_softirq", WAKE_DISK },
	{ "rcu_do_batch", WAKE_RCU },
	{ "rcu_core", WAKE_RCU },
	{ "rcu_report_*", WAKE_RCU },
	{ "rcu_sched_clock_irq", WAKE_RCU },
};

/*
 * kernel/irq/handle.c, kernel/softirq.c, kernel/time/, kernel/rcu/tree.c, block/blk-mq.c, kernel/irq_work.c,
 * kernel/smp.c
 */
static const char *const hands_on[] = { "__handle_irq_event_percpu",
					"handle_softirqs",
					"__do_softirq",
					"tasklet_action_common*",
					"call_timer_fn",
					"expire_timers",
					"__run_timers*",
					"__hrtimer_run_queues*",
					"rcu_do_batch",
					"blk_complete_reqs",
					"irq_work_single",
					"__flush_smp_call_function_queue",
					"net_rx_action" };

static const char *const scheduler[] = {
	"__switch_to_asm", "__switch_to",       "__schedule",     "schedule",        "schedule_preempt_disabled",
	"schedule_idle",   "preempt_schedule*", "__cond_resched", "schedule_rtlock", "rt_mutex_schedule"
};

static bool matches(const char *pattern, const char *name)
{
	size_t n = strcspn(pattern, "*");
	size_t len = strcspn(name, ". "); /* "name.constprop.0", "name [module]" */

	if (strncmp(pattern, name, n))
		return false;
	return pattern[n] ? !fnmatch(pattern, name, 0) : len == n;
}

static void mark(struct wait_kinds *k, uint32_t function, const char *name)
{
	for (size_t i = 0; i < sizeof waits / sizeof *waits && !k->kinds[function]; i++)
		if (matches(waits[i].pattern, name))
			k->kinds[function] = (uint8_t)(waits[i].kind | waits[i].weak << WAIT_WEAK_SHIFT);
	for (size_t i = 0; i < sizeof wakes / sizeof *wakes && !k->contexts[function]; i++)
		if (matches(wakes[i].pattern, name))
			k->contexts[function] = (uint8_t)wakes[i].context;
	for (size_t i = 0; i < sizeof hands_on / sizeof *hands_on && !k->hands_on[function]; i++)
		k->hands_on[function] = matches(hands_on[i], name);
	for (size_t i = 0; i < sizeof scheduler / sizeof *scheduler && !k->scheduler[function]; i++)
		k->scheduler[function] = matches(scheduler[i], name);
}

void wait_kinds_init(struct wait_kinds *ret, const struct names *names)
{
	size_t n = names_count(names);

	*ret = (struct wait_kinds){
		.kinds = xcalloc(n, 1), .contexts = xcalloc(n, 1), .hands_on = xcalloc(n, 1),
		.scheduler = xcalloc(n, 1),
	};
	for (uint32_t i = 0; i < n; i++)
		if (names_is_kernel(names, i) && !names_is_group(names, i))
			mark(ret, i, names_function(names, i));
}

void wait_kinds_deinit(struct wait_kinds *k)
{
	free(k->kinds);
	free(k->contexts);
	free(k->hands_on);
	free(k->scheduler);
}

enum wait_kind wait_kind_of(const struct wait_kinds *k, const uint32_t *functions, size_t n, size_t *ret_at)
{
	unsigned least = UINT8_MAX >> WAIT_WEAK_SHIFT;

	*ret_at = n;
	for (size_t i = 0; i < n; i++) {
		uint8_t here = k->kinds[functions[i]];

		if (here && (unsigned)here >> WAIT_WEAK_SHIFT < least) {
			least = (unsigned)here >> WAIT_WEAK_SHIFT;
			*ret_at = i;
		}
	}
	return *ret_at < n ? k->kinds[functions[*ret_at]] & WAIT_KIND_MASK : WAIT_UNKNOWN;
}
