/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest_code.h"

#include <string.h>

#include "base/alloc.h"
#include "guest/tail_jumps.h"
#include "mapped_files.h"
#include "module_image.h"
#include "recorder/kernel/kernel_types.h"
#include "recorder/kernel/kernel_argument.h"
#include "recorder/kernel/learning.h"
#include "recorder/kernel/structures.h"
#include "recorder/spans/waiting.h"
#include "recorder/values/arguments.h"
#include "recorder/values/probes.h"
#include "recorder/values/trace_events.h"
#include "recorder/watch/watch.h"
#include "symbols/symtab_codec.h"
#include "trace/code_records.h"

enum {
	VM_EXEC = 4,                 /* include/linux/mm.h */
	BPF_PROG_TYPE_UNSPEC = 0,    /* include/uapi/linux/bpf.h */
	KSYM_LEN = 512,              /* KSYM_NAME_LEN, include/linux/kallsyms.h */
	GUEST_PAGE = 4096,
	SPECIAL_NAME = 32,
	OUT_OF_LINE_NAME = 64,
	PERF_RECORD_KSYMBOL_TYPE_OOL = 2, /* include/uapi/linux/perf_event.h */
};

static void put_change(struct code_record *record, struct vcpu *v, unsigned cpu)
{
	struct buf out = { 0 };

	record->cpu = cpu;
	record->ns = watch_clock(cpu);
	record->insns = v->live->insns;
	code_record_put(&out, record);
	drain_put(CHUNK_CODE, &out);
	buf_free(&out);
}

/*
 * What conditional jumps lead to in other functions of the new code is to be watched before it runs:
 * guest/tail_jumps.h.
 */
static void expect_jumps(struct vcpu *v, const struct symtab *tab)
{
	struct buf found = { 0 };
	uint64_t addr;

	for (size_t i = 1; i < tab->n_sections; i++) {
		struct buf code = { 0 };

		structure_block(v, tab->sections[i].addr, tab->sections[i].end - tab->sections[i].addr, &code);
		tail_jumps_find(code.data, code.len, tab->sections[i].addr, symtab_bounds, tab, &found);
		buf_free(&code);
	}
	pthread_mutex_lock(&recorder.lock);
	for (size_t at = 0; at + sizeof addr <= found.len; at += sizeof addr) {
		memcpy(&addr, found.data + at, sizeof addr);
		translate_expect(addr);
	}
	pthread_mutex_unlock(&recorder.lock);
	buf_free(&found);
}

/* What is asked of functions and of events by name is asked of the module's, too. */
static void tell_module(struct vcpu *v, uint64_t module, const char *name, const struct symtab *tab)
{
	struct btf_prototypes *types = kernel_types_of_module(v, module);

	arguments_module(types, tab);
	probes_module(v, types, name, tab);
	trace_events_module(v, module);
	btf_prototypes_free(types);
}

/*
 * Add new code of the kernel to the trace, and its bounds to those that translation uses. `module`: its struct module;
 * 0: it is none. Frees the image.
 */
static void tell_functions(struct vcpu *v, unsigned cpu, const char *name, uint64_t module, struct kernel_image *image)
{
	struct code_record record = { .change = CODE_MODULE, .name = name };
	struct buf symbols = { 0 };
	struct symtab tab;

	waiting_object(v, name);
	symtab_from_image(&tab, image);
	kernel_image_deinit(image);
	symtab_encode(&tab, &symbols);
	record.symbols = symbols.data;
	record.symbols_len = symbols.len;
	put_change(&record, v, cpu);
	buf_free(&symbols);
	if (tab.count > 1)
		expect_jumps(v, &tab);
	if (module)
		tell_module(v, module, name, &tab);
	pthread_mutex_lock(&recorder.lock);
	modules_add(&recorder.kernel.modules, &tab);
	pthread_mutex_unlock(&recorder.lock);
}

void code_module_file(struct vcpu *v, unsigned cpu, uint64_t file)
{
	(void)cpu;
	module_image_keep(v, file, kernel_argument(&v->regs, 1), kernel_argument(&v->regs, 2));
}

void code_module(struct vcpu *v, unsigned cpu, uint64_t module)
{
	char name[MODULE_NAME_LEN + 1];
	struct kernel_image image;

	if (module_image_read(v, module, name, &image))
		tell_functions(v, cpu, name, module, &image);
}

/* Add a function of something that counts as a module. Without a name it is only code of the module. */
static void tell_function(struct vcpu *v, unsigned cpu, const char *module, const char *name, uint64_t start,
			  uint64_t size)
{
	struct kernel_image image = { 0 };

	/* it reaches beyond the highest address: the guest's data is wrong */
	if (start + size <= start)
		return;
	module_image_add(&image, ".text", start, size);
	if (*name)
		symbol_list_add(&image.symbols, start, size, 't', name, strlen(name));
	tell_functions(v, cpu, module, 0, &image);
}

void code_bpf(struct vcpu *v, unsigned cpu, uint64_t ksym)
{
	uint64_t start = structure_pointer(v, ksym, BPF_START), end = structure_pointer(v, ksym, BPF_END);
	char name[KSYM_LEN];

	if (start && end > start && structure_at(BPF_NAME) != MEMBER_UNKNOWN)
		tell_function(v, cpu, "bpf",
			      structure_text(v, ksym + (uint64_t)structure_at(BPF_NAME), name, sizeof name), start,
			      end - start);
}

/* bpf_prog_was_classic(), include/linux/filter.h */
static bool was_classic(struct vcpu *v, uint64_t prog)
{
	return structure_at(PROG_TYPE) != MEMBER_UNKNOWN &&
	       structure_read(v, prog, PROG_TYPE, 4) == BPF_PROG_TYPE_UNSPEC;
}

void code_filter(struct vcpu *v, unsigned cpu, uint64_t prog)
{
	uint64_t start = structure_pointer(v, prog, PROG_FUNCTION), size = structure_read(v, prog, PROG_JITED_LEN, 4);

	if (start && size && was_classic(v, prog))
		tell_function(v, cpu, "bpf", "bpf_filter", start, size);
}

void code_filter_gone(struct vcpu *v, unsigned cpu, uint64_t prog)
{
	/* a program that the interpreter runs has no code */
	if (structure_read(v, prog, PROG_JITED_LEN, 4) && was_classic(v, prog))
		code_freed(v, cpu, structure_pointer(v, prog, PROG_FUNCTION));
}

void code_bpf_gone(struct vcpu *v, unsigned cpu, uint64_t ksym)
{
	code_freed(v, cpu, structure_pointer(v, ksym, BPF_START));
}

void code_out_of_line(struct vcpu *v, unsigned cpu, uint64_t type)
{
	unsigned next = guest_is_narrow() ? 3 : 2; /* the address has 64 bits: two words of a kernel of 32 */
	uint64_t start = kernel_argument(&v->regs, 1), size = (uint32_t)kernel_argument(&v->regs, next);
	bool gone = kernel_argument(&v->regs, next + 1) & 0xff;
	char name[OUT_OF_LINE_NAME];
	const char *module;

	if ((uint16_t)type != PERF_RECORD_KSYMBOL_TYPE_OOL || !size)
		return;
	if (gone) {
		code_freed(v, cpu, start);
		return;
	}
	structure_text(v, kernel_argument(&v->regs, next + 2), name, sizeof name);
	/* the modules' names are those in /proc/kallsyms: include/linux/ftrace.h, kernel/kprobes.c */
	module = !strncmp(name, "ftrace", 6)   ? "__builtin__ftrace"
		 : !strncmp(name, "kprobe", 6) ? "__builtin__kprobes"
					       : "__builtin__";
	tell_function(v, cpu, module, name, start, size);
}

void code_freed(struct vcpu *v, unsigned cpu, uint64_t start)
{
	if (!start)
		return;
	pthread_mutex_lock(&recorder.lock);
	modules_free(&recorder.kernel.modules, start);
	pthread_mutex_unlock(&recorder.lock);
	put_change(&(struct code_record){ .change = CODE_FREED, .start = start, .name = "" }, v, cpu);
}

/*
 * The name of what is mapped and no file, "[vdso]": memory that has operations of
 * its own is one of struct vm_special_mapping. Other memory has no name.
 */
static const char *special_name(struct vcpu *v, uint64_t vma, char *name, size_t size)
{
	uint64_t text = structure_pointer(v, vma, VMA_OPS) ?
			structure_pointer(v, structure_pointer(v, vma, VMA_PRIVATE), MAPPING_NAME) : 0;

	if (!text)
		return "";
	structure_text(v, text, name, size);
	return *name == '[' && name[strlen(name) - 1] == ']' ? name : "";
}

static void tell_file(struct vcpu *v, uint64_t vma, uint64_t file, struct code_record *record)
{
	uint64_t inode = structure_pointer(v, file, FILE_INODE);

	record->offset = structure_long(v, vma, VMA_PGOFF) * GUEST_PAGE;
	record->device = structure_read(v, structure_pointer(v, inode, INODE_SUPER), SUPER_DEVICE, 4);
	record->inode = structure_long(v, inode, INODE_NUMBER);
	record->file_size = structure_read(v, inode, INODE_SIZE, 8);
}

static void tell_mapping(struct vcpu *v, unsigned cpu, uint64_t vma)
{
	uint64_t start = structure_pointer(v, vma, VMA_START), end = structure_pointer(v, vma, VMA_END);
	uint64_t file = structure_pointer(v, vma, VMA_FILE), mm = structure_pointer(v, vma, VMA_MM);
	char path[STRUCTURE_PATH];
	struct code_record record = {
		.change = CODE_MAPPED, .mm = mm, .start = start, .size = end - start,
	};

	if (!(structure_long(v, vma, VMA_FLAGS) & VM_EXEC) || !mm || end <= start)
		return;
	if (file)
		tell_file(v, vma, file, &record);
	record.name = file ? structure_path(v, file, path) : special_name(v, vma, path, SPECIAL_NAME);
	waiting_object(v, record.name);
	put_change(&record, v, cpu);
	mapped_files_add(v, &record);
}

void code_mapped(struct vcpu *v, unsigned cpu, uint64_t vma)
{
	learning_mapping(v, vma);
	tell_mapping(v, cpu, vma);
}
