/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loaded by QEMU with one argument, config=FD: a file of key=value lines that
 * `upto record` wrote. Keys: out, stats (file descriptors), kernel, symbols
 * (paths), icount (it is on), drop_stores (this QEMU and its other plugins
 * allow it), meta.* (for the trace).
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "stores.h"
#include "watch.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

struct recorder recorder = { .lock = PTHREAD_MUTEX_INITIALIZER };

enum { QEMU_CLOCK_VIRTUAL = 1 };

uint64_t recorder_ns(void)
{
	struct timespec t;

	if (recorder.guest_clock)
		return (uint64_t)recorder.guest_clock(QEMU_CLOCK_VIRTUAL);
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void on_vcpu_init(qemu_plugin_id_t id, unsigned index)
{
	struct vcpu *v;

	(void)id;
	if (index >= VCPUS_MAX)
		return;
	pthread_mutex_lock(&recorder.lock);
	/* the scoreboard may have moved to make room for this one */
	for (unsigned i = 0; i < recorder.n_vcpus; i++)
		recorder.vcpus[i] = qemu_plugin_scoreboard_find(recorder.score, i);
	v = qemu_plugin_scoreboard_find(recorder.score, index);
	if (!v->ring.words) {
		ring_init(&v->ring);
		if (!registers_init(&v->regs))
			snprintf(recorder.stats->message, sizeof recorder.stats->message,
				 "QEMU does not offer the guest's registers: interrupts and system calls are not told right");
	}
	if (!recorder.translate_regs.bytes)
		registers_init(&recorder.translate_regs);
	recorder.vcpus[index] = v;
	v->index = index;
	if (index == 0)
		recorder.boot_thread = pthread_self();
	if (index >= recorder.n_vcpus)
		__atomic_store_n(&recorder.n_vcpus, index + 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&recorder.lock);
}

static void on_qemu_exit(qemu_plugin_id_t id, void *data)
{
	(void)id;
	(void)data;
	watch_finish();
	drain_finish();
}

static int read_config(const char *arg, struct meta *ret, struct error *err)
{
	struct buf data = { 0 };
	char step[4096];
	ssize_t n;
	int fd, r;

	if (strncmp(arg, "config=", 7))
		return error_set(err, "%s: not an argument of this plugin; it is started by 'upto record'", arg);
	fd = atoi(arg + 7);
	while ((n = read(fd, step, sizeof step)) > 0)
		buf_put(&data, step, (size_t)n);
	close(fd);
	r = meta_parse(ret, data.data, data.len, err);
	buf_free(&data);
	return r;
}

static int map_stats(int fd, struct error *err)
{
	recorder.stats = mmap(NULL, sizeof *recorder.stats, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (recorder.stats == MAP_FAILED)
		return error_set(err, "shared statistics: %s", strerror(errno));
	recorder.stats->version = STATS_VERSION;
	return 0;
}

/* QEMU's struct Notifier: include/qemu/notify.h. */
struct notifier {
	void (*notify)(struct notifier *notifier, void *data);
	void *next, **prev;
};

static void on_shutdown(struct notifier *notifier, void *data)
{
	(void)notifier;
	(void)data;
	__atomic_store_n(&recorder.shut_down, true, __ATOMIC_RELEASE);
}

/* QEMU's main loop may take up a power-off, and forget the request, before the vCPU gets on. */
static void watch_for_shutdown(void)
{
	static struct notifier notifier = { .notify = on_shutdown };
	void (*enlist)(struct notifier *) = (void (*)(struct notifier *))dlsym(RTLD_DEFAULT, "qemu_register_shutdown_notifier");

	if (enlist)
		enlist(&notifier);
}

static void init_tables(void)
{
	sites_init(&recorder.sites);
	blocks_init(&recorder.blocks);
	idts_init(&recorder.idts);
	recorder.score = qemu_plugin_scoreboard_new(sizeof(struct vcpu));
	recorder.insns = qemu_plugin_scoreboard_u64_in_struct(recorder.score, struct vcpu, insns);
	recorder.block = qemu_plugin_scoreboard_u64_in_struct(recorder.score, struct vcpu, block);
	recorder.unwatched = qemu_plugin_scoreboard_u64_in_struct(recorder.score, struct vcpu, unwatched);
	recorder.guest_clock = (int64_t (*)(int))dlsym(RTLD_DEFAULT, "qemu_clock_get_ns");
	recorder.shutdown_requested = (int (*)(void))dlsym(RTLD_DEFAULT, "qemu_shutdown_requested_get");
}

static int start(const struct meta *config, struct error *err)
{
	const char *symbols = meta_get(config, "symbols"), *kernel = meta_get(config, "kernel");

	if (map_stats((int)meta_get_u64(config, "stats", 0), err) < 0)
		return -1;
	init_tables();
	recorder.cuts_blocks = meta_get(config, "icount");
	recorder.drops_stores = meta_get(config, "drop_stores") && stores_init();
	kernel_start(&recorder.kernel, symbols ? symbols : kernel, symbols != NULL);
	if (symbols && !recorder.kernel.have_image)
		return error_set(err, "%s", recorder.kernel.error.text);
	if (ftruncate((int)meta_get_u64(config, "out", 0), 0) < 0 || !drain_start((int)meta_get_u64(config, "out", 0), config))
		return error_set(err, "cannot write the trace");
	if (recorder.kernel.found)
		drain_symbols(&recorder.kernel.tab);
	return 0;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	struct meta config = { 0 };
	struct error err;

	if (!info->system_emulation || strcmp(info->target_name, "x86_64")) {
		fprintf(stderr, "upto: %s guests cannot be recorded: only qemu-system-x86_64's\n", info->target_name);
		return -1;
	}
	if (argc != 1 || read_config(argv[0], &config, &err) < 0 || start(&config, &err) < 0) {
		fprintf(stderr, "upto: %s\n", argc == 1 ? err.text : "the recorder is started by 'upto record'");
		return -1;
	}
	meta_deinit(&config);
	recorder.id = id;
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu_init);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate_block);
	qemu_plugin_register_atexit_cb(id, on_qemu_exit, NULL);
	watch_for_shutdown();
	return 0;
}
