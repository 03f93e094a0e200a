/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An oracle that shares nothing with the recorder: reads the interrupt flag at each block's begin, and writes a line
 * "cpu insns flag" where it has changed. `insns` counts every begin of an instruction, also of one that faults and is
 * begun again. Argument: out=FILE.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "recorder/qemu/qemu_interface.h"

enum { IF = 1 << 9, VCPUS = 16 };

static struct qemu_plugin_scoreboard *counts;
static qemu_plugin_u64 insns;
static struct qemu_plugin_register *eflags;
static GByteArray *bytes;
static GMutex lock;
static FILE *out;
static int last[VCPUS];

static void at_begin(unsigned cpu, void *data)
{
	uint32_t flags = 0;
	int on;

	(void)data;
	g_mutex_lock(&lock);
	g_byte_array_set_size(bytes, 0);
	qemu_plugin_read_register(eflags, bytes);
	if (bytes->len >= sizeof flags)
		memcpy(&flags, bytes->data, sizeof flags);
	on = !!(flags & IF);
	if (cpu < VCPUS && on != last[cpu]) {
		fprintf(out, "%u %" PRIu64 " %d\n", cpu, *(uint64_t *)qemu_plugin_scoreboard_find(counts, cpu), on);
		last[cpu] = on;
	}
	g_mutex_unlock(&lock);
}

static void on_block(struct qemu_plugin_tb *tb)
{
	qemu_plugin_register_vcpu_tb_exec_cb(tb, at_begin, QEMU_PLUGIN_CB_R_REGS, NULL);
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(qemu_plugin_tb_get_insn(tb, i),
								    QEMU_PLUGIN_INLINE_ADD_U64, insns, 1);
}

static void on_vcpu(unsigned cpu)
{
	GArray *all = qemu_plugin_get_registers();

	(void)cpu;
	for (guint i = 0; i < all->len; i++) {
		const qemu_plugin_reg_descriptor *d = qemu_register_at(all, i);

		if (!strcmp(d->name, "eflags"))
			eflags = d->handle;
	}
	if (!bytes)
		bytes = g_byte_array_new();
}

static void on_end(void)
{
	fclose(out);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4) || !(out = fopen(argv[0] + 4, "w")))
		return -1;
	counts = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	insns = (qemu_plugin_u64){ counts, 0 };
	qemu_register_callbacks(id, &(struct qemu_callbacks){
		.vcpu_begun = on_vcpu, .translated = on_block, .ended = on_end,
	});
	return 0;
}
