/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "boot.h"

#include <stdio.h>

#include "cpu.h"
#include "recorder/code/mapped_files.h"
#include "recorder/code/module_image.h"
#include "recorder/code/objects.h"
#include "recorder/kernel/learning.h"
#include "recorder/kernel/syscalls.h"
#include "recorder/kernel/tasks.h"
#include "recorder/spans/waiting.h"
#include "trace/boots.h"

const char *boot_meta_key(const char *key)
{
	static char buffer[BOOT_KEY];

	return boot_key(recorder.boot, key, buffer);
}

void boot_put_layout(const struct layout *l, struct buf *lines)
{
	struct buf text = { 0 };

	layout_put_text(l, &text);
	if (text.len) {
		buf_put_u8(&text, 0);
		meta_put(lines, boot_meta_key("layout"), (char *)text.data);
	}
	buf_free(&text);
}

static unsigned count_learnt(const struct layout *l)
{
	unsigned n = 0;

	for (int i = 0; i < MEMBERS; i++)
		n += l->from[i] == LAYOUT_LEARNT;
	return n;
}

void boot_tell_learnt(void)
{
	struct buf lines = { 0 }, lacks = { 0 }, early = { 0 };

	pthread_mutex_lock(&recorder.lock);
	kernel_lacks(&recorder.kernel, &lacks);
	if (learning_end(&lacks, &early)) {
		buf_put_u8(&lacks, 0);
		buf_put_u8(&early, 0);
		meta_put(&lines, boot_meta_key("early"), (char *)early.data);
		meta_put(&lines, boot_meta_key("lacks"), (char *)lacks.data);
		snprintf(recorder.stats->lacks, sizeof recorder.stats->lacks, "%s", (char *)lacks.data);
		recorder.stats->learnt = count_learnt(&recorder.kernel.layout);
		boot_put_layout(&recorder.kernel.layout, &lines);
	}
	pthread_mutex_unlock(&recorder.lock);
	if (lines.len)
		drain_put(CHUNK_META, &lines);
	buf_free(&lines);
	buf_free(&lacks);
	buf_free(&early);
}

static void put_boot(uint64_t ns, enum boot_cause cause)
{
	static const char *const by[] = { "reset", "kexec", "snapshot" };
	struct buf lines = { 0 };

	meta_put_u64(&lines, boot_meta_key("start_ns"), ns);
	meta_put(&lines, boot_meta_key("by"), by[cause]);
	if (cause == BOOT_KEXEC)
		meta_put_u64(&lines, boot_meta_key("decompressor_ns"), ns);
	if (recorder.kernel.no_linux)
		meta_put_u64(&lines, boot_meta_key("symbols"), 0);
	drain_put(CHUNK_META, &lines);
	buf_free(&lines);
}

/* Else the first table would be taken for the first boot's, which is a later one's. */
static void tell_not_found(void)
{
	struct buf lines = { 0 };

	if (recorder.boot || !recorder.kernel.seen || kernel_found(&recorder.kernel) || recorder.kernel.no_linux)
		return;
	meta_put_u64(&lines, boot_meta_key("symbols"), UINT64_MAX);
	drain_put(CHUNK_META, &lines);
	buf_free(&lines);
}

/* Another kernel's code will lie there. Firmware stays as it is, and stays translated. */
static void forget_kernel(struct map *places)
{
	struct map kept = { 0 };
	uint64_t addr, value;

	for (size_t at = 0; map_next(places, &at, &addr, &value);)
		if (!addr_is_kernel(addr))
			*map_put(&kept, addr, 0) = value;
	map_free(places);
	*places = kept;
}

void boot_begin(uint64_t ns, enum boot_cause cause)
{
	boot_tell_learnt();
	pthread_mutex_lock(&recorder.lock);
	tell_not_found();
	recorder.boot++;
	recorder.boot_ns = ns;
	recorder.kexec = false;
	kernel_forget(&recorder.kernel);
	recorder.cpu->forget();
	objects_forget();
	/* blocks that are still translated have their numbers, but an address does not lead to them */
	blocks_forget(&recorder.blocks);
	map_free(&recorder.results);
	forget_kernel(&recorder.successors);
	forget_kernel(&recorder.arrivals);
	forget_kernel(&recorder.call_targets);
	waiting_forget();
	put_boot(ns, cause);
	pthread_mutex_unlock(&recorder.lock);
	drain_boot(cause != BOOT_RESET);
	tasks_forget();
	module_image_forget();
	mapped_files_forget_all();
	syscalls_forget_all();
}
