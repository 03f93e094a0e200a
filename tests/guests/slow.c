// SPDX-License-Identifier: GPL-2.0-or-later
/* A module that takes its time, in the way that its parameter names, so that who asks why can be held to it. */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/firmware.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/rcupdate.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("slow on purpose");

static char *what = "";
module_param(what, charp, 0);

static DEFINE_MUTEX(slow_lock);
static DECLARE_COMPLETION(slow_held);
static DECLARE_COMPLETION(slow_ping);
static DECLARE_COMPLETION(slow_pong);
static DECLARE_COMPLETION(slow_over);
static DECLARE_COMPLETION(slow_answer);

/* Reads the disk while it holds what others want. */
static int slow_holder(void *unused)
{
	struct file *disk = filp_open("/dev/vda", O_RDONLY | O_DIRECT, 0);
	void *page = (void *)__get_free_pages(GFP_KERNEL, 4);
	loff_t at = 0;

	mutex_lock(&slow_lock);
	complete(&slow_held);
	for (int i = 0; !IS_ERR(disk) && i < 20; i++) {
		kernel_read(disk, page, 16 << PAGE_SHIFT, &at);
		msleep(50);
	}
	mutex_unlock(&slow_lock);
	return 0;
}

static noinline void slow_take_lock(void)
{
	kthread_run(slow_holder, NULL, "slow_holder");
	wait_for_completion(&slow_held);
	mutex_lock(&slow_lock);
	mutex_unlock(&slow_lock);
}

static int slow_pinger(void *unused)
{
	for (int i = 0; i < 200; i++) {
		udelay(500);
		complete(&slow_ping);
		wait_for_completion(&slow_pong);
	}
	complete(&slow_over);
	return 0;
}

static int slow_ponger(void *unused)
{
	for (int i = 0; i < 200; i++) {
		wait_for_completion(&slow_ping);
		udelay(500);
		complete(&slow_pong);
	}
	return 0;
}

/* Nobody waits for it. */
static int slow_daemon(void *unused)
{
	while (!kthread_should_stop())
		msleep(5);
	return 0;
}

static noinline void slow_play(void)
{
	kthread_run(slow_daemon, NULL, "slow_daemon");
	kthread_run(slow_ponger, NULL, "slow_ponger");
	kthread_run(slow_pinger, NULL, "slow_pinger");
	wait_for_completion(&slow_over);
}

static int slow_probe(struct platform_device *device)
{
	return wait_for_completion_timeout(&slow_answer, 2 * HZ) ? 0 : -ETIMEDOUT;
}

static struct platform_driver slow_driver = { .probe = slow_probe, .driver = { .name = "slow_device" } };

static noinline void slow_clear(void)
{
	for (int i = 0; i < 3000; i++)
		free_pages(__get_free_pages(GFP_KERNEL | __GFP_ZERO, 8), 8);
}

static noinline void slow_print(void)
{
	for (int i = 0; i < 15000; i++)
		pr_info("a long line for a slow console, again and again and again and again and again %d\n", i);
}

static void slow_work(struct work_struct *unused)
{
	msleep(1500);
}

static DECLARE_WORK(slow_item, slow_work);

static void slow_tick(struct timer_list *timer)
{
	static int ticks;

	mdelay(12);
	if (ticks++ < 150)
		mod_timer(timer, jiffies + 1);
}

static DEFINE_TIMER(slow_timer, slow_tick);

/* Nobody is told before a timer has run out and its work is done, or before another one's function tells it itself. */
static void slow_later(struct work_struct *unused)
{
	complete(&slow_over);
}

static DECLARE_DELAYED_WORK(slow_delayed, slow_later);

static void slow_alarm(struct timer_list *unused)
{
	complete(&slow_answer);
}

static DEFINE_TIMER(slow_clock, slow_alarm);

static noinline void slow_wait_long(void)
{
	queue_delayed_work(system_wq, &slow_delayed, HZ);
	wait_for_completion(&slow_over);
	mod_timer(&slow_clock, jiffies + HZ * 3 / 2);
	wait_for_completion(&slow_answer);
}

static noinline void slow_ask_for_file(struct device *device)
{
	const struct firmware *file;

	if (!request_firmware(&file, "slow/nothing.bin", device))
		release_firmware(file);
}

static int __init slow_init(void)
{
	if (!strcmp(what, "sleep"))
		msleep(2000);
	else if (!strcmp(what, "spin"))
		mdelay(1500);
	else if (!strcmp(what, "lock"))
		slow_take_lock();
	else if (!strcmp(what, "pingpong"))
		slow_play();
	else if (!strcmp(what, "clear"))
		slow_clear();
	else if (!strcmp(what, "console"))
		slow_print();
	else if (!strcmp(what, "work")) {
		schedule_work(&slow_item);
		flush_work(&slow_item);
	} else if (!strcmp(what, "rcu"))
		for (int i = 0; i < 90; i++)
			synchronize_rcu();
	else if (!strcmp(what, "later"))
		slow_wait_long();
	else if (!strcmp(what, "firmware"))
		slow_ask_for_file(&platform_device_register_simple("slow_device", -1, NULL, 0)->dev);
	else if (!strcmp(what, "softirq"))
		mod_timer(&slow_timer, jiffies + 1);
	else if (!strcmp(what, "probe")) {
		platform_driver_register(&slow_driver);
		platform_device_register_simple("slow_device", -1, NULL, 0);
	}
	return 0;
}
module_init(slow_init);
