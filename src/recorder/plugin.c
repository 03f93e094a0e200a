/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loaded by QEMU with one argument, config=FD: a file of key=value lines that
 * `upto record` wrote. Keys: out, stats (file descriptors), kernel, symbols.N
 * (paths), address.N (where that file's code lies, if the user said so), icount (it is on), icount_shift (the clock
 * goes by instructions alone, 2^that ns each), turns (several vCPUs share a thread: by what), inside (what of QEMU's
 * inside may be used: qemu_inside.h), thunks (their steps are recorded: thunks.h), snapshot (the guest goes on from
 * one), start, stop, every, before (what is to be recorded: waiting.h), spans (how many; condition_key()), meta.* (for
 * the trace).
 */
#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "boot.h"
#include "cpu.h"
#include "recorder/code/objects.h"
#include "recorder/qemu/guest_time.h"
#include "recorder/spans/waiting.h"
#include "recorder/values/arguments.h"
#include "recorder/values/probes.h"
#include "recorder/values/returns.h"
#include "recorder/values/trace_events.h"
#include "recorder/watch/watch.h"
#include "says.h"

struct recorder recorder = { .lock = PTHREAD_MUTEX_INITIALIZER };

void recorder_find_live(void)
{
	struct live *first = qemu_plugin_scoreboard_find(recorder.score, 0);

	if (first == recorder.live)
		return;
	recorder.live = first;
	for (unsigned i = 0; i < recorder.n_vcpus; i++)
		if (recorder.vcpus[i])
			recorder.vcpus[i]->live = qemu_plugin_scoreboard_find(recorder.score, i);
}

static struct vcpu *vcpu_new(unsigned index)
{
	struct vcpu *v = aligned_alloc(alignof(struct vcpu), sizeof *v);

	if (!v)
		abort();
	*v = (struct vcpu){ .index = index, .waited = recorder_waits() };
	v->waits = v->waited;
	ring_init(&v->ring);
	if (!registers_init(&v->regs))
		recorder_says(
			"QEMU does not offer the guest's registers: interrupts and system calls are not told right");
	return v;
}

static void on_vcpu_init(unsigned index)
{
	struct vcpu *v;

	pthread_mutex_lock(&recorder.lock);
	if (recorder.takes_turns)
		turns_tell(index);
	recorder_find_live();
	v = recorder.vcpus[index] ? recorder.vcpus[index] : vcpu_new(index);
	v->live = qemu_plugin_scoreboard_find(recorder.score, index);
	/* one that was unplugged, and is plugged in again, has other memory in QEMU */
	v->value = v->value_place = NULL;
	v->value_used = false;
	v->regs.direct = v->regs.place = NULL;
	if (!recorder.translate_regs.bytes)
		registers_init(&recorder.translate_regs);
	__atomic_store_n(&recorder.vcpus[index], v, __ATOMIC_RELEASE);
	if (index == 0)
		recorder.boot_thread = pthread_self();
	if (index >= recorder.n_vcpus)
		__atomic_store_n(&recorder.n_vcpus, index + 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&recorder.lock);
}

static void on_qemu_exit(void)
{
	waiting_finish();
	arguments_finish();
	probes_finish();
	returns_finish();
	trace_events_finish();
	watch_finish();
	boot_tell_learnt();
	objects_finish();
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
	return 0;
}

static void init_tables(void)
{
	sites_init(&recorder.sites);
	blocks_init(&recorder.blocks);
	recorder.cpu = &cpu_x86_64;
	recorder.kernel_stack = recorder.cpu->arch->kernel_stack;
	recorder.cpu->forget();
	recorder.score = qemu_plugin_scoreboard_new(sizeof(struct live));
	recorder.insns = qemu_plugin_scoreboard_u64_in_struct(recorder.score, struct live, insns);
	recorder.block = qemu_plugin_scoreboard_u64_in_struct(recorder.score, struct live, block);
	recorder.unwatched = qemu_plugin_scoreboard_u64_in_struct(recorder.score, struct live, unwatched);
	recorder.unlooked = qemu_plugin_scoreboard_u64_in_struct(recorder.score, struct live, unlooked);
	recorder.left = qemu_plugin_scoreboard_u64_in_struct(recorder.score, struct live, left);
	recorder.thunk = qemu_plugin_scoreboard_u64_in_struct(recorder.score, struct live, thunk);
	value_place_init(&recorder.value_place, INSIDE_VALUES);
	value_place_init(&recorder.rip_place, INSIDE_REGISTERS);
}

static void use_inside(const struct meta *config)
{
	const char *list = meta_get(config, "inside");
	struct buf used = { 0 };

	inside_on_suspend(watch_suspended);
	inside_init(list ? list : "", &used);
	recorder.inside = (char *)used.data;
}

/* What the clock is: it has been said in META what it should be. */
static void start_clock(const struct meta *config)
{
	struct buf lines = { 0 };

	recorder.counts_time = inside_has(INSIDE_CLOCK) && meta_get(config, "icount_shift");
	recorder.icount_shift = (unsigned)meta_get_u64(config, "icount_shift", 0);
	if (inside_has(INSIDE_CLOCK))
		return;
	recorder.host_begin_ns = inside_ns();
	meta_put(&lines, "clock",
		 "instructions retired; host ns since the recording began: QEMU's clock cannot be read");
	drain_put(CHUNK_META, &lines);
	buf_free(&lines);
	recorder_says("QEMU's clock cannot be read: times are the host's since the recording began");
}

/* The configuration goes, and its files' names are needed for long. */
static const char *kept(const struct meta *config, const char *key)
{
	const char *value = meta_get(config, key);

	return value ? xstrdup(value) : NULL;
}

static void read_sources(const struct meta *config, struct kernel_sources *ret)
{
	*ret = (struct kernel_sources){
		.image = kept(config, "kernel"),
		.types = kept(config, "types"),
		.cache = kept(config, "cache"),
	};
	while (ret->n_symbols < KERNEL_FILES_MAX) {
		struct symbol_file *file = &ret->symbols[ret->n_symbols];
		char key[32];

		snprintf(key, sizeof key, "symbols.%zu", ret->n_symbols);
		if (!meta_get(config, key))
			break;
		file->path = kept(config, key);
		snprintf(key, sizeof key, "address.%zu", ret->n_symbols++);
		file->placed = meta_get(config, key);
		file->address = meta_get_u64(config, key, 0);
	}
}

static int start(const struct meta *config, struct error *err)
{
	struct kernel_sources sources;

	if (map_stats((int)meta_get_u64(config, "stats", 0), err) < 0)
		return -1;
	use_inside(config);
	init_tables();
	if (waiting_init(config, err) < 0)
		return -1;
	recorder.thunk_steps = meta_get(config, "thunks");
	recorder.cuts_blocks = meta_get(config, "icount");
	recorder.guest_goes_on = meta_get(config, "guest_goes_on");
	recorder.takes_turns = meta_get(config, "turns");
	if (recorder.takes_turns && !inside_has(INSIDE_TURNS))
		return error_set(
			err,
			"%s: several vCPUs share a thread then, and QEMU does not tell which one runs: give -smp 1, or go without it",
			meta_get(config, "turns"));
	start_clock(config);
	read_sources(config, &sources);
	kernel_start(&recorder.kernel, &sources);
	arguments_init(meta_get(config, "args"));
	if (probes_init(config, err) < 0)
		return -1;
	trace_events_init(meta_get(config, "event"), meta_get(config, "meta.event_check"));
	if ((sources.n_symbols || sources.types) && !recorder.kernel.have_image)
		return error_set(err, "%s", recorder.kernel.error.text);
	if (sources.n_symbols && objects_start(&sources, &recorder.kernel.known, err) < 0)
		return -1;
	if (ftruncate((int)meta_get_u64(config, "out", 0), 0) < 0 ||
	    !drain_start((int)meta_get_u64(config, "out", 0), config))
		return error_set(err, "cannot write the trace");
	probes_begin();
	if (kernel_found(&recorder.kernel)) {
		drain_symbols(&recorder.kernel.tab);
		waiting_found(&recorder.kernel);
	}
	return 0;
}

/*
 * upto prints what is put here as its one line. QEMU's own of a plugin that could not be loaded would say nothing more.
 */
static int refuse(const char *why)
{
	if (!recorder.stats) {
		fprintf(stderr, "upto: %s\n", why);
		return -1;
	}
	snprintf(recorder.stats->refused, sizeof recorder.stats->refused, "%s", why);
	exit(1);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	struct meta config = { 0 };
	struct error err;

	if (!info->system_emulation || strcmp(info->target_name, "x86_64")) {
		fprintf(stderr, "upto: %s guests cannot be recorded: only qemu-system-x86_64's\n", info->target_name);
		return -1;
	}
	if (info->system.max_vcpus > VCPUS_MAX) {
		fprintf(stderr, "upto: %d vCPUs: at most %d can be recorded\n", info->system.max_vcpus, VCPUS_MAX);
		return -1;
	}
	if (argc != 1)
		return refuse("the recorder is started by 'upto record'");
	if (read_config(argv[0], &config, &err) < 0 || start(&config, &err) < 0)
		return refuse(err.text);
	meta_deinit(&config);
	recorder.told_interrupts = qemu_register_callbacks(id, &(struct qemu_callbacks){
								       .vcpu_begun = on_vcpu_init,
								       .translated = translate_block,
								       .discontinuity = watch_discontinuity,
								       .ended = on_qemu_exit,
							       });
	return 0;
}
