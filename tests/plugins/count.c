/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An oracle that shares nothing with the recorder: counts how often the
 * instruction at each kernel function's start was executed, and all
 * instructions at kernel addresses, one by one.
 *
 * Arguments: narrow=on, of a kernel of 32 bits at 0xc0000000 and above, whose
 * addresses are told sign-extended; starts=FILE, link addresses modulo 2 MB (a slide is a multiple of
 * that) as hexadecimal lines; out=FILE, gets "address count" lines, and
 * "insns address count" lines: instructions from that address on, up to the
 * block's end or a function's start.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/qemu/qemu_interface.h"

enum { SLIDE_STEP = 2 << 20, SLOTS = 1 << 22 };

static uint8_t is_start[SLIDE_STEP];
static struct { uint64_t addr, count; } slots[SLOTS];
/* Pieces of blocks by their first address. Translated code counts their instructions itself. */
enum { PIECES = 1 << 19 };
static struct { uint64_t addr; uint32_t number; } pieces[PIECES];
static uint32_t n_pieces;
static struct qemu_plugin_scoreboard *insns;
static uint64_t *insns_at_end;
static unsigned n_vcpus;

static const char *out_path;
static int narrow;
static struct qemu_plugin_register *rip;
static GByteArray *bytes;
static GMutex lock;

/* Set once the guest has asked to be powered off: what runs after that is chance. */
static int (*shutdown_requested)(void);
static int over;

/* Firmware has its code in the last 4 MB. */
static uint64_t extend(uint64_t addr)
{
	return narrow && addr >= 0xc0000000u && addr < 0xffc00000u ? addr | 0xffffffff00000000u : addr;
}

static void end_insns(void)
{
	insns_at_end = g_new0(uint64_t, PIECES);
	for (unsigned cpu = 0; cpu < n_vcpus; cpu++) {
		const uint64_t *counters = qemu_plugin_scoreboard_find(insns, cpu);

		for (size_t i = 0; i < PIECES; i++)
			insns_at_end[i] += counters[i];
	}
}

static void bump(uint64_t addr)
{
	size_t i = (addr * 0x9e3779b97f4a7c15u) >> 42;

	if (over || (shutdown_requested && shutdown_requested())) {
		if (!over)
			end_insns();
		over = 1;
		return;
	}
	while (slots[i].addr != addr && slots[i].addr)
		i = (i + 1) % SLOTS;
	slots[i].addr = addr;
	slots[i].count++;
}

static void at_true(unsigned cpu, void *data)
{
	(void)cpu;
	g_mutex_lock(&lock);
	bump((uint64_t)data);
	g_mutex_unlock(&lock);
}

/* Where in the scoreboard a piece's instructions are counted. Under `lock`: vCPUs translate at the same time. */
static qemu_plugin_u64 counter_of(uint64_t addr)
{
	size_t i = (addr * 0x9e3779b97f4a7c15u) >> 45;

	while (pieces[i].addr != addr && pieces[i].addr)
		i = (i + 1) % PIECES;
	if (!pieces[i].addr) {
		if (n_pieces == PIECES - 1)
			abort();
		pieces[i].addr = addr;
		pieces[i].number = n_pieces++;
	}
	return (qemu_plugin_u64){ insns, pieces[i].number * sizeof(uint64_t) };
}

/*
 * A block first seen at a low address may run at a high one: its start tells. Of those, what begins a function is
 * counted.
 */
enum { LENGTH_BITS = 16 };

static void at_start(unsigned cpu, void *data)
{
	uint64_t pc = 0, *counters = qemu_plugin_scoreboard_find(insns, cpu);

	g_mutex_lock(&lock);
	g_byte_array_set_size(bytes, 0);
	qemu_plugin_read_register(rip, bytes);
	if (bytes->len == 8)
		memcpy(&pc, bytes->data, 8);
	pc = extend(pc + ((uintptr_t)data >> LENGTH_BITS));
	if (pc >> 63 && is_start[pc % SLIDE_STEP]) {
		bump(pc);
		counters[counter_of(pc).offset / sizeof *counters] += (uintptr_t)data & ((1 << LENGTH_BITS) - 1);
	}
	g_mutex_unlock(&lock);
}

static void count_insns(struct qemu_plugin_tb *tb)
{
	qemu_plugin_u64 counter = { 0 };

	g_mutex_lock(&lock);
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t addr = extend(qemu_plugin_insn_vaddr(insn));

		if (!i || is_start[addr % SLIDE_STEP])
			counter = counter_of(addr);
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64, counter, 1);
	}
	g_mutex_unlock(&lock);
}

/* Instructions from there up to the block's end, or where another function begins. */
static size_t length_of(const struct qemu_plugin_tb *tb, size_t begin)
{
	size_t i = begin + 1;

	while (i < qemu_plugin_tb_n_insns(tb) &&
	       !is_start[qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, i)) % SLIDE_STEP])
		i++;
	return i - begin;
}

static void on_block(struct qemu_plugin_tb *tb)
{
	uint64_t first = extend(qemu_plugin_tb_vaddr(tb));

	if (first >> 63)
		count_insns(tb);
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t addr = extend(qemu_plugin_insn_vaddr(insn));

		/*
		 * also where the kernel stands in physical memory is a multiple of that: low addresses are of its
		 * identity mapping
		 */
		if (!is_start[addr % SLIDE_STEP])
			continue;
		if (first >> 63)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, at_true, QEMU_PLUGIN_CB_NO_REGS,
							       (void *)(uintptr_t)addr);
		else
			qemu_plugin_register_vcpu_tb_exec_cb(tb, at_start, QEMU_PLUGIN_CB_R_REGS,
							     (void *)(uintptr_t)((addr - first) << LENGTH_BITS |
										 length_of(tb, i)));
	}
}

static void on_vcpu(unsigned cpu)
{
	GArray *all = qemu_plugin_get_registers();

	if (cpu >= n_vcpus)
		n_vcpus = cpu + 1;
	for (guint i = 0; i < all->len; i++) {
		const qemu_plugin_reg_descriptor *d = qemu_register_at(all, i);

		if (!strcmp(d->name, "rip"))
			rip = d->handle;
	}
	if (!bytes)
		bytes = g_byte_array_new();
}

static void on_end(void)
{
	FILE *out = fopen(out_path, "w");

	for (size_t i = 0; out && i < SLOTS; i++)
		if (slots[i].addr)
			fprintf(out, "%" PRIx64 " %" PRIu64 "\n", slots[i].addr, slots[i].count);
	if (!insns_at_end)
		end_insns();
	for (size_t i = 0; out && i < PIECES; i++)
		if (pieces[i].addr)
			fprintf(out, "insns %" PRIx64 " %" PRIu64 "\n", pieces[i].addr, insns_at_end[pieces[i].number]);
	if (out)
		fclose(out);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "starts=", 7)) {
			FILE *in = fopen(argv[i] + 7, "r");
			unsigned offset;

			while (in && fscanf(in, "%x", &offset) == 1)
				is_start[offset % SLIDE_STEP] = 1;
			if (in)
				fclose(in);
		} else if (!strcmp(argv[i], "narrow=on")) {
			narrow = 1;
		} else if (!strncmp(argv[i], "out=", 4)) {
			out_path = strdup(argv[i] + 4);
		}
	}
	if (!out_path)
		return -1;
	insns = qemu_plugin_scoreboard_new(PIECES * sizeof(uint64_t));
	shutdown_requested = (int (*)(void))dlsym(RTLD_DEFAULT, "qemu_shutdown_requested_get");
	qemu_register_callbacks(id, &(struct qemu_callbacks){
		.vcpu_begun = on_vcpu, .translated = on_block, .ended = on_end,
	});
	return 0;
}
