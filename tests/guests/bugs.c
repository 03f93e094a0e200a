/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A module with a bug of each kind that kernels report, some of them debug kernels: `what` says which. It stays for
 * those that take long, which insmod would do twice.
 */
#include <linux/delay.h>
#include <linux/kfence.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static char *what = "";
module_param(what, charp, 0);

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static DEFINE_SPINLOCK(spinning);

static noinline char *make_object(void)
{
	return kzalloc(96, GFP_KERNEL);
}

static int free_object(void *object)
{
	kfree(object);
	return 0;
}

static noinline int use_object(char *object)
{
	return READ_ONCE(object[40]);
}

/* Another thread frees it. */
static int use_after_free(void)
{
	char *object = make_object();
	struct task_struct *freer = kthread_run(free_object, object, "bugs_freer");

	if (IS_ERR(freer))
		return PTR_ERR(freer);
	msleep(200);
	return use_object(object);
}

/* Of one of the objects that KFENCE gives out now and then, if it is on. */
static void use_fenced(void)
{
	unsigned long end = jiffies + 2 * HZ;
	char *object;
	bool fenced;

	do {
		object = make_object();
		fenced = object && is_kfence_address(object);
		kfree(object);
		if (!fenced)
			msleep(1);
	} while (!fenced && time_before(jiffies, end));
	if (fenced)
		use_object(object);
}

static noinline void take_both(struct mutex *a, struct mutex *b)
{
	mutex_lock(a);
	mutex_lock(b);
	mutex_unlock(b);
	mutex_unlock(a);
}

static noinline void sleep_while_atomic(void)
{
	spin_lock(&spinning);
	mutex_lock(&first);
	mutex_unlock(&first);
	spin_unlock(&spinning);
}

static noinline int read_nothing(int *at)
{
	return READ_ONCE(*at);
}

/* Longer than the watchdog allows a CPU to do nothing else. */
static noinline void keep_the_cpu(void)
{
	preempt_disable();
	mdelay(4000);
	preempt_enable();
}

static void stalled(struct rcu_head *head)
{
}

/* A grace period that a reader holds up: others may run meanwhile, if the kernel is preempted (preempt=full). */
static noinline void stall(void)
{
	static struct rcu_head head;

	call_rcu(&head, stalled);
	rcu_read_lock();
	mdelay(5000);
	rcu_read_unlock();
	rcu_barrier();
}

static noinline void hang(void)
{
	schedule_timeout_uninterruptible(4 * HZ);
}

/* Nothing comes any more: no interrupt, and no other thread. */
static noinline void stay(void)
{
	unsigned long flags;

	spin_lock_irqsave(&spinning, flags);
	for (;;)
		cpu_relax();
}

static int do_bug(void *unused)
{
	BUG();
}

/* Of a thread of its own: a module whose init dies can never be loaded again. */
static void bug(void)
{
	if (!IS_ERR(kthread_run(do_bug, NULL, "bugs_bug")))
		msleep(200);
}

static int __init bugs_init(void)
{
	if (!strcmp(what, "uaf"))
		use_after_free();
	if (!strcmp(what, "fenced"))
		use_fenced();
	if (!strcmp(what, "abba")) {
		take_both(&first, &second);
		take_both(&second, &first);
	}
	if (!strcmp(what, "atomic"))
		sleep_while_atomic();
	if (!strcmp(what, "warn"))
		WARN(1, "a warning of the tests");
	if (!strcmp(what, "soft")) {
		keep_the_cpu();
		return 0;
	}
	if (!strcmp(what, "stall")) {
		stall();
		return 0;
	}
	if (!strcmp(what, "hung")) {
		hang();
		return 0;
	}
	if (!strcmp(what, "stuck"))
		stay();
	if (!strcmp(what, "bug"))
		bug();
	if (!strcmp(what, "oops"))
		return read_nothing((int *)8) ? -EINVAL : -EAGAIN;
	return -EAGAIN;
}
module_init(bugs_init);

static void __exit bugs_exit(void)
{
}
module_exit(bugs_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("bugs for tests");
