/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An oracle that shares nothing with the recorder: counts how often the
 * instruction at each kernel function's start was executed.
 *
 * Arguments: starts=FILE, link addresses modulo 2 MB (a slide is a multiple of
 * that) as hexadecimal lines; out=FILE, gets "address count" lines.
 */
#include <dlfcn.h>
#include <glib.h>
#include <inttypes.h>
#include <qemu-plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

QEMU_PLUGIN_EXPORT int qemu_plugin_version = 4;

enum { SLIDE_STEP = 2 << 20, SLOTS = 1 << 22 };

static uint8_t is_start[SLIDE_STEP];
static struct { uint64_t addr, count; } slots[SLOTS];
static const char *out_path;
static struct qemu_plugin_register *rip;
static GByteArray *bytes;
static GMutex lock;

/* Set once the guest has asked to be powered off: what runs after that is chance. */
static int (*shutdown_requested)(void);
static int over;

static void bump(uint64_t addr)
{
	size_t i = (addr * 0x9e3779b97f4a7c15u) >> 42;

	if (over || (shutdown_requested && shutdown_requested())) {
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

/* A block first seen at a low address may run at a high one: its start tells. */
static void at_start(unsigned cpu, void *data)
{
	uint64_t pc = 0;

	(void)cpu;
	g_mutex_lock(&lock);
	g_byte_array_set_size(bytes, 0);
	if (qemu_plugin_read_register(rip, bytes) == 8)
		memcpy(&pc, bytes->data, 8);
	pc += (uintptr_t)data;
	if (pc >> 63 && is_start[pc % SLIDE_STEP])
		bump(pc);
	g_mutex_unlock(&lock);
}

static void on_block(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t first = qemu_plugin_tb_vaddr(tb);

	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t addr = qemu_plugin_insn_vaddr(insn);

		/* also where the kernel stands in physical memory is a multiple of that: low addresses are of its identity mapping */
		if (!is_start[addr % SLIDE_STEP])
			continue;
		if (first >> 63)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, at_true, QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)addr);
		else
			qemu_plugin_register_vcpu_tb_exec_cb(tb, at_start, QEMU_PLUGIN_CB_R_REGS,
							     (void *)(uintptr_t)(addr - first));
	}
}

static void on_vcpu(qemu_plugin_id_t id, unsigned cpu)
{
	GArray *all = qemu_plugin_get_registers();

	(void)id;
	(void)cpu;
	for (guint i = 0; i < all->len; i++) {
		qemu_plugin_reg_descriptor *d = &g_array_index(all, qemu_plugin_reg_descriptor, i);

		if (!strcmp(d->name, "rip"))
			rip = d->handle;
	}
	if (!bytes)
		bytes = g_byte_array_new();
}

static void on_end(qemu_plugin_id_t id, void *data)
{
	FILE *out = fopen(out_path, "w");

	(void)id;
	(void)data;
	for (size_t i = 0; out && i < SLOTS; i++)
		if (slots[i].addr)
			fprintf(out, "%" PRIx64 " %" PRIu64 "\n", slots[i].addr, slots[i].count);
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
		} else if (!strncmp(argv[i], "out=", 4)) {
			out_path = strdup(argv[i] + 4);
		}
	}
	if (!out_path)
		return -1;
	shutdown_requested = (int (*)(void))dlsym(RTLD_DEFAULT, "qemu_shutdown_requested_get");
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}
