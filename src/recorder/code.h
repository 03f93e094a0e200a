/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that comes while the guest runs: the kernel's modules, with the functions
 * that it keeps of them itself, and what processes map to execute. The functions
 * below are called in a vCPU's thread, in a callback with registers.
 */
#ifndef UPTO_RECORDER_CODE_H
#define UPTO_RECORDER_CODE_H

#include "recorder.h"

/* Which of these a function of the kernel is for; they get its first argument. */
struct code_hook {
	void (*take)(struct vcpu *v, unsigned cpu, uint64_t argument);
};

/* A module that is about to be initialised; address of its struct module. */
void code_module(struct vcpu *v, unsigned cpu, uint64_t module);

/* Memory for code in the kernel is given back; its address. */
void code_freed(struct vcpu *v, unsigned cpu, uint64_t start);

/* A BPF program, or a trampoline to one, was compiled, or is given up; address of its struct bpf_ksym. */
void code_bpf(struct vcpu *v, unsigned cpu, uint64_t ksym);
void code_bpf_gone(struct vcpu *v, unsigned cpu, uint64_t ksym);

/* Likewise any program, of which only classic ones (of seccomp(2), socket(7)) are told: they have no bpf_ksym. Address of its struct bpf_prog. */
void code_filter(struct vcpu *v, unsigned cpu, uint64_t prog);
void code_filter_gone(struct vcpu *v, unsigned cpu, uint64_t prog);

/*
 * What the kernel tells perf of code that it made, or gives up: only what it made for itself is told, ftrace's
 * trampolines and pages for kprobes. The first argument; the others are read here.
 */
void code_out_of_line(struct vcpu *v, unsigned cpu, uint64_t type);

/* A process has a new or changed mapping; address of its vm_area_struct. */
void code_mapped(struct vcpu *v, unsigned cpu, uint64_t vma);

#endif
