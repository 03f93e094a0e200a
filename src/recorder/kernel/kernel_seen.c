/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel_seen.h"

#include <inttypes.h>
#include <stdio.h>

#include "kernel_types.h"
#include "guest_address.h"
#include "learning.h"
#include "narrow_learning.h"
#include "recorder/boot.h"
#include "recorder/cpu.h"
#include "recorder/spans/snapshot.h"
#include "recorder/spans/waiting.h"
#include "recorder/values/arguments.h"
#include "recorder/values/probes.h"
#include "recorder/values/trace_events.h"
#include "recorder/watch/watch.h"

/* Each table is written once, also if the same kernel boots again. */
static void tell_symbols(struct buf *lines)
{
	struct kernel *k = &recorder.kernel;

	if (k->from_image && k->image_table >= 0) {
		k->table = k->image_table;
	} else {
		k->table = k->tables++;
		drain_symbols(&k->tab);
	}
	if (k->from_image)
		k->image_table = k->table;
	if (recorder.boot)
		meta_put_u64(lines, boot_meta_key("symbols"), (uint64_t)k->table);
}

static void put_build_id(const struct kernel *k, struct buf *lines)
{
	struct buf id = { 0 };

	if (!k->from_image || !k->known.image.build_id.len)
		return;
	build_id_put(&k->known.image.build_id, &id);
	buf_put_u8(&id, 0);
	meta_put(lines, boot_meta_key("build_id"), (char *)id.data);
	buf_free(&id);
}

/*
 * Places that would else be watched only from when a jump to them is translated, which may be later than they are
 * themselves.
 */
static void expect_tail_jumps(void)
{
	uint64_t addr;

	for (size_t i = 0; (addr = kernel_jumps_to(&recorder.kernel, i)); i++)
		translate_expect(addr);
}

/* arch/x86/include/asm/page_64_types.h: KASAN_STACK_ORDER. Linux 5.12 renamed check_memory_region(). */
static unsigned stack_order(const struct kernel *k)
{
	return kernel_function_named(k, "kasan_check_range") || kernel_function_named(k, "check_memory_region");
}

/* What the kernel has, and what it lacks. */
static void tell_kernel(struct buf *lines)
{
	const struct kernel *k = &recorder.kernel;
	struct buf lacks = { 0 };

	if (k->banner)
		meta_put(lines, boot_meta_key("kernel_banner"), k->banner);
	if (guest_is_narrow() && !k->tables) /* the first kernel of a trace decides */
		meta_put(lines, "arch", recorder.cpu->narrow_arch->name);
	put_build_id(k, lines);
	if (k->no_names)
		meta_put(lines, boot_meta_key("no_names"), k->no_names);
	if (recorder.tables.thunks.count)
		meta_put(lines, "absent", "thunks");
	kernel_lacks(k, &lacks);
	if (lacks.len) {
		buf_put_u8(&lacks, 0);
		meta_put(lines, boot_meta_key("lacks"), (char *)lacks.data);
		snprintf(recorder.stats->lacks, sizeof recorder.stats->lacks, "%s", (char *)lacks.data);
	}
	snprintf(recorder.stats->no_names, sizeof recorder.stats->no_names, "%s", k->no_names ? k->no_names : "");
	recorder.stats->kernel = 1;
	boot_put_layout(&k->layout, lines);
	recorder.kernel_stack = recorder.cpu->arch->kernel_stack << stack_order(k);
	if (recorder.kernel_stack != recorder.cpu->arch->kernel_stack)
		meta_put_u64(lines, "kernel_stack", recorder.kernel_stack);
	buf_printf(lines, "%s=0x%" PRIx64 "\n", boot_meta_key("slide"), k->slide);
	buf_free(&lacks);
}

/* Code runs where a kernel lies. Whether it will be found or not: from now on it is neither firmware nor a loader. */
static void see_kernel(uint64_t insns, uint64_t ns, struct buf *lines)
{
	recorder.kernel.seen = true;
	meta_put_u64(lines, boot_meta_key("kernel_insns"), insns);
	/* a snapshot's ran before */
	meta_put_u64(lines, boot_meta_key("kernel_ns"), waiting_snapshot() ? recorder.boot_ns : ns);
}

void kernel_seen_look(uint64_t addr)
{
	uint64_t insns = vcpu_get(recorder.boot_vcpu)->live->insns, ns;
	struct buf lines = { 0 };
	bool found;

	/* a vCPU's clock is told by its own thread only */
	if (!pthread_equal(pthread_self(), recorder.boot_thread) || !kernel_due(&recorder.kernel))
		return;
	ns = watch_clock(recorder.boot_vcpu);
	found = kernel_find(&recorder.kernel, &recorder.translate_regs, addr);
	if (!recorder.kernel.seen && (found || addr >= NARROW_LOWEST))
		see_kernel(insns, ns, &lines);
	if (found) {
		watch_clock(recorder.boot_vcpu);
		guest_is_narrow() ? narrow_learning_begin() : learning_begin();
		expect_tail_jumps();
		if (waiting_snapshot())
			recorder.cpu->kernel_resumed(&recorder.kernel);
		waiting_found(&recorder.kernel);
		recorder.cpu->kernel_found(&recorder.kernel);
		tell_kernel(&lines);
		tell_symbols(&lines);
		kernel_types_found();
		arguments_found(&lines);
		probes_found(&lines);
		trace_events_found(vcpu_get(recorder.boot_vcpu), &lines);
	}
	if (lines.len)
		drain_put(CHUNK_META, &lines);
	buf_free(&lines);
}

void kernel_seen_look_for_efi(uint64_t addr)
{
	if (pthread_equal(pthread_self(), recorder.boot_thread) &&
	    recorder.cpu->firmware_starts(&recorder.translate_regs, addr))
		drain_decompressor(vcpu_get(recorder.boot_vcpu)->live->insns, watch_clock(recorder.boot_vcpu));
}
