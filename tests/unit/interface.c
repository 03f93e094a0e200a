/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints the numbers of QEMU's plugin interface that upto relies on, as the header that it is compiled with has them.
 */
#include <stdio.h>

#include "recorder/qemu/qemu_interface.h"

#define NUMBER(n) printf(#n " %ld\n", (long)(n))
#define SIZE(type) printf(#type " %zu\n", sizeof(type))
#define MEMBER(type, member) printf(#type "." #member " %zu\n", offsetof(type, member))

int main(void)
{
	NUMBER(QEMU_PLUGIN_CB_NO_REGS);
	NUMBER(QEMU_PLUGIN_CB_R_REGS);
	NUMBER(QEMU_PLUGIN_CB_RW_REGS);
	NUMBER(QEMU_PLUGIN_MEM_R);
	NUMBER(QEMU_PLUGIN_MEM_W);
	NUMBER(QEMU_PLUGIN_MEM_RW);
	NUMBER(QEMU_PLUGIN_INLINE_ADD_U64);
	NUMBER(QEMU_PLUGIN_INLINE_STORE_U64);
	NUMBER(QEMU_PLUGIN_MEM_VALUE_U8);
	NUMBER(QEMU_PLUGIN_MEM_VALUE_U16);
	NUMBER(QEMU_PLUGIN_MEM_VALUE_U32);
	NUMBER(QEMU_PLUGIN_MEM_VALUE_U64);
	NUMBER(QEMU_PLUGIN_MEM_VALUE_U128);
	SIZE(qemu_plugin_id_t);
	SIZE(qemu_plugin_meminfo_t);
	SIZE(qemu_info_t);
	MEMBER(qemu_info_t, target_name);
	MEMBER(qemu_info_t, version.min);
	MEMBER(qemu_info_t, version.cur);
	MEMBER(qemu_info_t, system_emulation);
	MEMBER(qemu_info_t, system.smp_vcpus);
	MEMBER(qemu_info_t, system.max_vcpus);
	SIZE(qemu_plugin_u64);
	MEMBER(qemu_plugin_u64, score);
	MEMBER(qemu_plugin_u64, offset);
	SIZE(qemu_plugin_mem_value);
	MEMBER(qemu_plugin_mem_value, type);
	MEMBER(qemu_plugin_mem_value, data);
	MEMBER(qemu_plugin_reg_descriptor, handle);
	MEMBER(qemu_plugin_reg_descriptor, name);
	MEMBER(qemu_plugin_reg_descriptor, feature);
	return 0;
}
