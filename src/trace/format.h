/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The container: a file header, then chunks. docs/format.md describes every
 * byte; what changes here changes there, and FORMAT_VERSION with it.
 */
#ifndef UPTO_TRACE_FORMAT_H
#define UPTO_TRACE_FORMAT_H

#include <assert.h>
#include <stdint.h>

#define FORMAT_MAGIC "\x89upto\r\n\x1a"
#define CHUNK_MAGIC 0x4b4e4843u /* "CHNK" */

enum {
	FORMAT_VERSION = 9,
	FORMAT_OLDEST = 5, /* that is still read: it has no gaps and no sums */
};

enum chunk_type {
	CHUNK_META = 1,    /* key=value lines; a later key replaces an earlier one */
	CHUNK_SITES = 2,
	CHUNK_EVENTS = 3,
	CHUNK_SYMBOLS = 4,
	CHUNK_END = 5,     /* key=value lines; nothing follows */
	CHUNK_TASKS = 6,   /* tasks of the guest that began, changed and ended */
	CHUNK_CODE = 7,    /* code that was loaded, mapped and freed */
	CHUNK_FILES = 8,   /* functions of files that were mapped */
	CHUNK_TEXTS = 9,   /* strings that system calls' arguments point to */
	CHUNK_FACTS = 10,  /* what the kernel was about to do: facts.h */
	CHUNK_SUMS = 11,   /* sums of calls that were left out: left_sums.h */
	CHUNK_HELD = 12,   /* calls that are here only for others' sake: analysis/calls/held_calls.h */
	CHUNK_STACKS = 13, /* what threads were in the middle of where a gap ends: stack_records.h */
	CHUNK_TYPES,
};

struct file_header {
	char magic[8];
	uint32_t version;
	uint32_t crc; /* of the 12 bytes before, as in zlib; before version 9: 0 */
};
static_assert(sizeof(struct file_header) == 16, "file header is 16 bytes");

/* Little-endian. The payload follows: one zstd frame with a content checksum. */
struct chunk_header {
	uint32_t magic;
	uint16_t type;
	uint16_t cpu;         /* EVENTS: which vCPU */
	uint32_t stored;      /* payload bytes in the file */
	uint32_t unpacked;    /* payload bytes when unpacked */
	uint64_t number;      /* 0, 1, 2 … in the file */
	uint64_t first_insns; /* EVENTS: the vCPU's clocks before the first event … */
	uint64_t last_insns;  /* … and at the last one */
	uint64_t first_ns;
	uint64_t last_ns;     /* of the last event that carries a clock */
	uint64_t place;       /* EVENTS: where control is before the first event, … */
	uint64_t space;       /* … the page tables … */
	uint64_t task;        /* … and the running task's task_struct; 0: not known */
	uint32_t events;
	uint32_t flags;       /* enum chunk_flags */
	uint32_t reserved;
	uint32_t crc;         /* of the 92 bytes before, as in zlib */
};
static_assert(sizeof(struct chunk_header) == 96, "chunk header is 96 bytes");

enum chunk_flags {
	CHUNK_HALTED = 1,     /* EVENTS: the vCPU is halted before the first event */
	/* EVENTS: events before it are not here, and its first event is the GAP that says so; its state is its own */
	CHUNK_GAP = 4,
	/* EVENTS: goes on with the model of this vCPU's chunk before, which must be decoded first */
	CHUNK_CONTINUES = 2,
};

enum {
	CHUNK_UNPACKED_MAX = 256 << 20,
	CHUNK_STORED_MAX = CHUNK_UNPACKED_MAX + (1 << 20),
	CPUS_MAX = 1024,
};

#endif
