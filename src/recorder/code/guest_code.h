/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records code that is loaded while the guest runs: modules of the kernel, with the
 * functions that the kernel keeps of them, and files that processes map to execute.
 * The functions below are called in a vCPU's thread, in a callback with registers.
 */
#ifndef UPTO_RECORDER_GUEST_CODE_H
#define UPTO_RECORDER_GUEST_CODE_H

#include "recorder/recorder.h"

/* A module stands where it will run. `file`: address of the kernel's copy of its file. */
void code_module_file(struct vcpu *v, unsigned cpu, uint64_t file);

/* A module is about to be initialised. `module`: address of its struct module. */
void code_module(struct vcpu *v, unsigned cpu, uint64_t module);

/* The kernel frees memory that held code. `start`: its address. */
void code_freed(struct vcpu *v, unsigned cpu, uint64_t start);

/* A BPF program, or a trampoline to one, was compiled, or is freed. `ksym`: address of its struct bpf_ksym. */
void code_bpf(struct vcpu *v, unsigned cpu, uint64_t ksym);
void code_bpf_gone(struct vcpu *v, unsigned cpu, uint64_t ksym);

/*
 * The same for any program. Only classic programs (of seccomp(2), socket(7)) are recorded here, since they have no
 * bpf_ksym. `prog`: address of its struct bpf_prog.
 */
void code_filter(struct vcpu *v, unsigned cpu, uint64_t prog);
void code_filter_gone(struct vcpu *v, unsigned cpu, uint64_t prog);

/*
 * The kernel tells perf about code that it made, or frees. Only code that it made for itself is recorded: ftrace's
 * trampolines and pages for kprobes. `type` is the first argument; the others are read from registers.
 */
void code_out_of_line(struct vcpu *v, unsigned cpu, uint64_t type);

/* A process has a new or changed mapping. `vma`: address of its vm_area_struct. */
void code_mapped(struct vcpu *v, unsigned cpu, uint64_t vma);

#endif
