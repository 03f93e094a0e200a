/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that the recorder and upto share while QEMU runs: the recorder's progress.
 * Each number is written by one thread and read without a lock; `end_asked` by upto, all others by the recorder.
 */
#ifndef UPTO_RECORDER_STATS_H
#define UPTO_RECORDER_STATS_H

#include <stdint.h>

#include "trace/facts.h"

struct stats {
	uint32_t finished;    /* the trace has its END */
	uint32_t begun;       /* the guest ran: while the recorder waits, no instructions are counted */
	uint64_t events;
	uint64_t insns;
	uint64_t guest_ns;
	uint64_t bytes;       /* of the trace so far */
	uint64_t lost;        /* events that could not be written */
	int32_t write_error;  /* errno; 0: none */
	uint32_t kernel;      /* 1: a kernel of Linux was found */
	uint32_t names;       /* 1: the kernel's symbols are in the trace */
	uint64_t limits;      /* things that were not watched since tables were full */
	uint64_t facts[FACT_KINDS], fact_ns[FACT_KINDS]; /* read from the kernel, and how long the host took for it */
	/*
	 * why what is to begin the recording cannot be told of this kernel, so that the guest was stopped; empty: it
	 * can
	 */
	char hopeless[256];
	char refused[1024];   /* why nothing can be recorded, so that QEMU did not start; empty: it did */
	char says[2048];      /* lines for the user, each with its end; says.h writes them */
	uint32_t waits;       /* nothing is kept now: 1: the start condition is awaited, 2: all spans are over */
	/* what upto reads in a kernel and this one lacks, as in the trace's META; empty: nothing */
	char lacks[1024];
	uint64_t learn_ns, learn_tries; /* how long the host took to look for them, and how often it did */
	uint32_t learnt;      /* members of the kernel's structures whose places were learnt from the guest */
	uint32_t objects;     /* 1: code of firmware or the like ran whose functions the user gave */
	char never_ran[1024]; /* files of such code that did not; empty: none */
	uint32_t end_asked;   /* 1: upto was asked to end the guest, and has told QEMU */
	char no_names[256];   /* why a kernel that was found has no names of functions; empty: it has */
};

#endif
