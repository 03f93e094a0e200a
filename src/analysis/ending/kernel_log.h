/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's log, as it was stored line by line. */
#ifndef UPTO_ANALYSIS_KERNEL_LOG_H
#define UPTO_ANALYSIS_KERNEL_LOG_H

#include <stdbool.h>

#include "trace/facts.h"

enum { LOG_LEVELS = 8 };

struct log_line {
	size_t boot;         /* number of the boot */
	uint64_t number;     /* the kernel's own in that boot: the next line has the next one */
	uint64_t ns, insns;  /* when it was stored first; what was added to it later is in `text`, too */
	/* it was there as the recording began: `ns` is by the kernel's clock, and `insns`, `cpu` and `task` are 0 */
	bool earlier;
	uint32_t caller;     /* of struct printk_info: a thread, or 2^31 and a CPU */
	uint32_t cpu;
	uint64_t task;       /* task_struct that ran; 0: not known */
	unsigned level;      /* 0 (emergency) to 7 (debug): include/linux/kern_levels.h */
	unsigned facility;   /* of syslog(3): 0 is the kernel's own, others are of programs that wrote to /dev/kmsg */
	const char *text;    /* the facts' */
};

struct kernel_log {
	struct log_line *lines; /* in the log's order, boot after boot */
	size_t count;
};

/* "emerg" … "debug", as dmesg(1) calls levels. */
const char *log_level_name(unsigned level);

/* The number of a level that is given by its name or number; -1: there is none. */
int log_level_find(const char *name);

/* "kern", "user", "daemon" …, as dmesg(1) calls facilities; NULL: it has no name. */
const char *log_facility_name(unsigned facility);

/* Call kernel_log_deinit(). The facts must outlive *ret. */
void kernel_log_init(struct kernel_log *ret, const struct facts *facts, const struct boots *boots);

/* Likewise of the lines that were there as the recording began, which the other does not have. */
void kernel_log_init_earlier(struct kernel_log *ret, const struct facts *facts, const struct boots *boots);
void kernel_log_deinit(struct kernel_log *log);

#endif
