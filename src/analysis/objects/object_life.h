/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of an object of the kernel's slab allocator, of a kernel with KASAN: who allocated and freed it, and who
 * used it when KASAN reported that.
 */
#ifndef UPTO_ANALYSIS_OBJECT_LIFE_H
#define UPTO_ANALYSIS_OBJECT_LIFE_H

#include "analysis/ending/kernel_log.h"
#include "replay/session.h"
#include "replay/stacks.h"

/* What KASAN says: two lines of the log, "BUG: KASAN: …" and "Read of size 8 at addr …". */
struct object_report {
	const struct log_line *line;
	uint64_t address;
	uint64_t object, size;      /* that it belongs to; 0: the report does not say */
};

/*
 * The first report about that address, or, with address 0, of all; behind it `ret->line` is set. False: there is none.
 */
bool object_report_find(const struct kernel_log *log, uint64_t address, struct object_report *ret);

enum object_event { OBJECT_ALLOCATED, OBJECT_FREED, OBJECT_USED };

/* "allocated" … */
const char *object_event_name(enum object_event what);

struct object_moment {
	enum object_event what;
	uint64_t ns;
	unsigned cpu;
	uint64_t address, size; /* of the object; size 0: not known. Of a use 0 */
	struct stack stack;     /* of who did it, without what is KASAN's own. Its frames are the moment's */
};

struct object_life {
	struct object_moment *list; /* in the order of time */
	size_t count, cap;
	struct stacks stacks;       /* for the names of the frames; at the trace's end */
};

/*
 * All that is told of objects in which the address lay, and the use that the report is about; `report` NULL: there is
 * none. The session must fold no calls, and outlive *ret. Call object_life_deinit() also after an error.
 */
int object_life_read(const struct session *session, uint64_t address, const struct object_report *report,
		     struct object_life *ret, struct error *err);
void object_life_deinit(struct object_life *life);

/*
 * The last allocation before moment number `end`, in the life's list, and what came behind that: all that matters to
 * somebody who asks about that moment. Returns where it begins.
 */
size_t object_life_last(const struct object_life *life, size_t end);

#endif
