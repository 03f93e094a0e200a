/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of QEMU's plugin interface that upto uses, so that nobody needs
 * QEMU's source to build it: no distribution packages qemu-plugin.h.
 *
 * Names, types and numbers are those of QEMU's documentation of the interface
 * ("QEMU TCG Plugins", docs/devel/tcg-plugins) for versions 4 to 7:
 *
 *   4  QEMU 9.2, 10.0
 *   5  QEMU 10.1, 10.2, which take plugins of 2 to 5
 *   6  QEMU 11.0, which takes no older ones: qemu_plugin_read_register() answers
 *      bool instead of a size, the description of a register is longer, and
 *      there are callbacks for interrupts and exceptions
 *   7  QEMU 11.1, which takes no older ones: the callbacks for the plugin as a
 *      whole have other arguments
 *
 * What differs between them is not declared as any one of them has it, but such
 * that code written for this header is right with all of them. An installed
 * qemu-plugin.h of these versions is used instead (UPTO_QEMU_PLUGIN_H); a test
 * holds this file against one.
 */
#ifndef UPTO_RECORDER_QEMU_INTERFACE_H
#define UPTO_RECORDER_QEMU_INTERFACE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef UPTO_QEMU_PLUGIN_H
#include <qemu-plugin.h>
#else

#define QEMU_PLUGIN_EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;

typedef struct qemu_info_t {
	const char *target_name; /* "x86_64" … */
	struct {
		int min, cur;    /* of the interface, in this QEMU */
	} version;
	bool system_emulation;
	union {
		struct {
			int smp_vcpus; /* to begin with */
			int max_vcpus;
		} system;
	};
} qemu_info_t;

/* What a plugin exports. */
extern QEMU_PLUGIN_EXPORT int qemu_plugin_version;
QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

/* Opaque. A tb and its insns are valid during the translation callback only. */
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;
struct qemu_plugin_register;

/* A uint64_t in each vCPU's element of a scoreboard. */
typedef struct {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
} qemu_plugin_u64;

#define qemu_plugin_scoreboard_u64_in_struct(score, type, member) ((qemu_plugin_u64){ score, offsetof(type, member) })

/* Elements are zeroed, and move when QEMU makes room for more vCPUs. */
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t element_size);
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score, unsigned int vcpu_index);

/* May a callback read guest registers? */
enum qemu_plugin_cb_flags {
	QEMU_PLUGIN_CB_NO_REGS,
	QEMU_PLUGIN_CB_R_REGS,
	QEMU_PLUGIN_CB_RW_REGS,
};

enum qemu_plugin_mem_rw {
	QEMU_PLUGIN_MEM_R = 1,
	QEMU_PLUGIN_MEM_W,
	QEMU_PLUGIN_MEM_RW,
};

/* Inline operations with an immediate on a qemu_plugin_u64. */
enum qemu_plugin_op {
	QEMU_PLUGIN_INLINE_ADD_U64,
	QEMU_PLUGIN_INLINE_STORE_U64,
};

typedef void (*qemu_plugin_vcpu_udata_cb_t)(unsigned int vcpu_index, void *userdata);

/* In a translation callback. */
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t idx);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_plugin_vcpu_udata_cb_t cb,
					  enum qemu_plugin_cb_flags flags, void *userdata);
enum qemu_plugin_cond {
	QEMU_PLUGIN_COND_NEVER,
	QEMU_PLUGIN_COND_ALWAYS,
	QEMU_PLUGIN_COND_EQ,
	QEMU_PLUGIN_COND_NE,
	QEMU_PLUGIN_COND_LT,
	QEMU_PLUGIN_COND_LE,
	QEMU_PLUGIN_COND_GT,
	QEMU_PLUGIN_COND_GE,
};

void qemu_plugin_register_vcpu_tb_exec_cond_cb(struct qemu_plugin_tb *tb, qemu_plugin_vcpu_udata_cb_t cb,
					       enum qemu_plugin_cb_flags flags, enum qemu_plugin_cond cond,
					       qemu_plugin_u64 entry, uint64_t imm, void *userdata);
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *tb, enum qemu_plugin_op op,
						       qemu_plugin_u64 entry, uint64_t imm);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_udata_cb_t cb,
					    enum qemu_plugin_cb_flags flags, void *userdata);
void qemu_plugin_register_vcpu_insn_exec_cond_cb(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_udata_cb_t cb,
						 enum qemu_plugin_cb_flags flags, enum qemu_plugin_cond cond,
						 qemu_plugin_u64 entry, uint64_t imm, void *userdata);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn, enum qemu_plugin_op op,
							 qemu_plugin_u64 entry, uint64_t imm);

/* The memory access that a callback is told of, which has succeeded. */
typedef uint32_t qemu_plugin_meminfo_t;
typedef void (*qemu_plugin_vcpu_mem_cb_t)(unsigned int vcpu_index, qemu_plugin_meminfo_t info, uint64_t vaddr,
					  void *userdata);

void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_mem_cb_t cb,
				      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw, void *userdata);

enum qemu_plugin_mem_value_type {
	QEMU_PLUGIN_MEM_VALUE_U8,
	QEMU_PLUGIN_MEM_VALUE_U16,
	QEMU_PLUGIN_MEM_VALUE_U32,
	QEMU_PLUGIN_MEM_VALUE_U64,
	QEMU_PLUGIN_MEM_VALUE_U128,
};

/* What it loaded or stored, in the host's byte order. */
typedef struct {
	enum qemu_plugin_mem_value_type type;
	union {
		uint8_t u8;
		uint16_t u16;
		uint32_t u32;
		uint64_t u64;
		struct {
			uint64_t low;
			uint64_t high;
		} u128;
	} data;
} qemu_plugin_mem_value;

unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info); /* log2 of its bytes */
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
qemu_plugin_mem_value qemu_plugin_mem_get_value(qemu_plugin_meminfo_t info);

/* The beginning of each element of qemu_plugin_get_registers()'s array; how long one is, the array knows. */
typedef struct {
	struct qemu_plugin_register *handle;
	const char *name;
	const char *feature;
} qemu_plugin_reg_descriptor;

/* In the vCPU's thread. The caller frees the array, but not what it points to. */
GArray *qemu_plugin_get_registers(void);

/*
 * Appends the register, in the guest's byte order: whether that went well, and
 * how long it is, is seen from `buf`. The answer is a size, and negative for a
 * failure, up to version 5, and a bool since.
 */
int qemu_plugin_read_register(struct qemu_plugin_register *handle, GByteArray *buf);

/* Guest memory as the vCPU that runs in this thread has it mapped. False: it is not. */
bool qemu_plugin_read_memory_vaddr(uint64_t addr, GByteArray *data, size_t len);

#endif

/* Why control went elsewhere, as bits. */
enum {
	QEMU_DISCON_INTERRUPT = 1 << 0, /* asynchronous; from: the next instruction that would have run */
	QEMU_DISCON_EXCEPTION = 1 << 1, /* of an instruction; from: that one */
};

/* Called for the plugin as a whole, in a vCPU's thread but for `ended`. */
struct qemu_callbacks {
	void (*vcpu_begun)(unsigned cpu);
	void (*translated)(struct qemu_plugin_tb *tb);
	/*
	 * From version 6 on; registers and stack are already as the handler at `to`
	 * finds them, and can be read.
	 */
	void (*discontinuity)(unsigned cpu, int type, uint64_t from, uint64_t to);
	void (*ended)(void);
};

/* While the plugin is installed. *callbacks is copied. Returns whether discontinuities are going to be told. */
bool qemu_register_callbacks(qemu_plugin_id_t id, const struct qemu_callbacks *callbacks);

/*
 * Have QEMU forget all code that it has translated, and show it anew when it runs next. In a callback in a vCPU's
 * thread; when all vCPUs are stopped, `done` is called once. While that is still to come, nothing more happens.
 */
void qemu_translate_anew(void (*done)(void));

/* A register's description of the array, whichever version's it is. */
static inline const qemu_plugin_reg_descriptor *qemu_register_at(GArray *registers, guint i)
{
	return (const void *)(registers->data + (size_t)i * g_array_get_element_size(registers));
}

#endif
