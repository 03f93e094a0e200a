/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the container. Opening walks the chunk headers, so a trace that is
 * still being written, or was cut short, opens with what is whole; and one
 * that is damaged in places with what is not (docs/format.md).
 */
#ifndef UPTO_TRACE_READER_H
#define UPTO_TRACE_READER_H

#include <stdbool.h>
#include <zstd.h>

#include "arch/arch.h"
#include "base/cursor.h"
#include "boots.h"
#include "code_records.h"
#include "codec.h"
#include "format.h"
#include "meta.h"
#include "sites.h"
#include "stack_records.h"
#include "task_records.h"

struct chunk {
	uint64_t offset; /* of its header in the file */
	struct chunk_header header;
	bool behind_hole; /* chunks right before it, of whatever type, cannot be found, since a header is damaged */
	bool behind_gap;  /* events of its vCPU right before it are missing (damage.h): it begins with a GAP … */
	bool halted;      /* … and with a HALT, since its vCPU is */
	uint64_t missing; /* how many these events are; 0: that is not known */
};

/* Chunks that are damaged: of events of one vCPU, one after the other, a hole, or one of another type. */
struct damage {
	enum chunk_type type; /* DAMAGE_HOLE: chunks whose types are not known */
	uint64_t chunks;
	uint64_t offset;         /* in the file, of the first; 0: in another one, of which this trace is a part */
	uint64_t bytes;          /* of a hole; 0 if the chunks are not there at all. What follows is of EVENTS only */
	uint64_t events;
	uint64_t from_ns, to_ns; /* as their headers tell */
	unsigned cpu;
	bool at_end;             /* nothing of that vCPU follows, so that no GAP tells of it */
};

#define DAMAGE_HOLE ((enum chunk_type)0)

struct reader {
	char *path;
	int fd;
	uint64_t size;           /* of the file */
	uint32_t version;        /* of its format */
	struct chunk *chunks;    /* all whole chunks, in file order, and numbered so */
	size_t n_chunks, chunks_cap;
	uint64_t next_number;    /* that the next chunk's header has */
	const struct arch *arch; /* of the guest */
	uint64_t kernel_stack;   /* bytes of a task's, and its alignment: as META tells, or as usual on that CPU */
	struct meta meta;        /* of all META chunks and END */
	struct boots boots;      /* as META tells of them */
	struct sites sites;
	bool sites_lost;         /* some of them are not known: events that have them are damaged */
	struct task_records tasks; /* of all TASKS chunks */
	struct stack_records stacks; /* of all STACKS chunks, in the order of gaps */
	struct code_records code;  /* of all CODE chunks */
	struct code_files files;   /* of all FILES chunks */
	struct buf *symbols;     /* payloads of the SYMBOLS chunks */
	size_t n_symbols, symbols_cap;
	bool ended;              /* the recorder came to write END */
	uint64_t cut_at;         /* where the whole chunks end */
	const char *cut_why;     /* NULL: nothing follows them */
	/*
	 * Called from any thread for each chunk of events that was decoded; `chunks`: how many there are. NULL: nobody
	 * looks.
	 */
	void (*progress)(void *context, size_t chunks);
	void *progress_context;  /* whoever sets `progress` keeps it as long as the reader is used */
	size_t n_event_chunks;
	struct damage *damages;  /* what is missing since it is damaged */
	size_t n_damages, damages_cap;
};

/* Where the chunks of events are damaged, or a hole is, damage_take_out() is to be called before they are decoded. */
struct damage *reader_add_damage(struct reader *r, enum chunk_type type, uint64_t offset);

/* What could not be watched since tables were full: an entry of META whose key begins so has how often. */
#define READER_LIMIT "limit."

/* Errors name the file. */
int reader_open(const char *path, struct reader **ret, struct error *err);
void reader_free(struct reader *r);

/* Of a trace that is being recorded: take in what has come to it since. Nobody else may use the reader meanwhile. */
int reader_go_on(struct reader *r, struct error *err);

/*
 * Unpack chunk number i into *out (replacing what is there); *packed then has it as it is in the file. Safe from
 * several threads at once, each with its own zstd context.
 */
int reader_chunk(const struct reader *r, size_t i, ZSTD_DCtx *zstd, struct buf *packed, struct buf *out,
		 struct error *err);

/* Takes the payload of a chunk. An error says only what is wrong there. */
typedef int reader_take(void *state, struct cursor *in, struct error *err);

/*
 * Hand over the payloads of all chunks of a type, one after the other; they are not kept. Errors name the file and the
 * chunk.
 */
int reader_chunks_of(const struct reader *r, enum chunk_type type, reader_take *take, void *state, struct error *err);

/* Likewise of the chunks from number `first` on. */
int reader_chunks_since(const struct reader *r, size_t first, enum chunk_type type, reader_take *take, void *state,
			struct error *err);

/* Is there a chunk of that type? */
bool reader_has(const struct reader *r, enum chunk_type type);

/* The trace has everything that happened: it ended in order and lost nothing. */
bool reader_complete(const struct reader *r);
uint64_t reader_lost(const struct reader *r);
/* It does not have that, since what it was imported from does not: a word of META's `absent` (docs/format.md). */
bool reader_lacks(const struct reader *r, const char *what);
unsigned reader_vcpus(const struct reader *r);

/* About how many events come before that time. */
uint64_t reader_events_before(const struct reader *r, uint64_t ns);

#endif
