/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the guest's life ended, and what went wrong on the way: as the kernel's log and the trace tell it. */
#ifndef UPTO_ANALYSIS_ENDING_H
#define UPTO_ANALYSIS_ENDING_H

#include "kernel_log.h"
#include "lockups.h"
#include "replay/session.h"
#include "replay/walk.h"

enum ending_how {
	ENDED_UNKNOWN,    /* nothing tells: the trace has no log, or was imported */
	ENDED_POWER_OFF,
	ENDED_RESTART,
	ENDED_HALT,       /* it stands still, and has not the means to be powered off */
	ENDED_PANIC,
	ENDED_STOPPED,    /* it ran on until QEMU ended */
	ENDED_ASKED,      /* likewise; upto was asked to end it, by Ctrl-C or another signal, or exit() of a program */
	ENDED_OUTSIDE,    /* the trace is a part of a recording, and ends before the guest did */
	/* the trace has no end: it is being recorded, or its recorder was killed, or could not write any more */
	ENDED_CUT,
	ENDINGS,
};

/* What the kernel complained of. */
enum trouble_kind {
	TROUBLE_NONE,
	TROUBLE_PANIC,
	TROUBLE_OOPS,
	TROUBLE_BUG,
	TROUBLE_WARNING,
	TROUBLE_SOFT_LOCKUP,
	TROUBLE_HARD_LOCKUP,
	TROUBLE_HUNG_TASK,
	TROUBLE_STALL,
	TROUBLE_OUT_OF_MEMORY,
	TROUBLE_KINDS,
};

struct trouble {
	enum trouble_kind kind;
	size_t boot;         /* its number (trace/boots.h) */
	uint64_t ns;
	uint64_t task;       /* task_struct that ran; 0: not known */
	const char *text;    /* the line; the log's */
};

struct ending {
	enum ending_how how;
	size_t boot;         /* the last one: number */
	uint64_t ns;         /* when that was decided; if no line of the log tells it, where the trace ends */
	uint64_t task;       /* task_struct that did it; 0: not known, or nobody's deed */
	const char *text;    /* the line of the log that tells; NULL: none does */
	/* of STOPPED, ASKED and CUT: no process ran from then on (quiet.h); UINT64_MAX: that is not so, or not known */
	uint64_t quiet_ns;
	struct lockups lockups;   /* likewise; none: there is none, or that is not known */
	struct trouble *troubles; /* in the log's order */
	size_t n_troubles;
};

/* "power-off", "panic" …; "panic", "oops", "hung task" … */
const char *ending_how_name(enum ending_how how);
const char *trouble_name(enum trouble_kind kind);

/*
 * The log must outlive *ret. Of a guest that booted several times, how is that of the last boot. quiet_ns and
 * lockups are not known: see ending_find_hang().
 */
void ending_find(const struct reader *r, const struct kernel_log *log, struct ending *ret);

/* Sets quiet_ns and lockups, for which the trace's end is read. */
int ending_find_hang(const struct session *s, struct ending *e, struct error *err);
void ending_deinit(struct ending *e);

/* The first panic of the last boot that had one within that time; NULL: there was none. */
const struct trouble *ending_panic(const struct ending *e, const struct span *within);

/* "powered off by poweroff (55) at 3.057 s", for people. */
void ending_put(const struct ending *e, const struct session *s, struct buf *out);

/* "1 oops, 2 warnings"; nothing if there was nothing. Panics of the last boot are how it ended. */
void ending_put_troubles(const struct ending *e, struct buf *out);

#endif
