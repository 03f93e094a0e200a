/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to block devices, from when they go to the device to when all of them is done. */
#ifndef UPTO_ANALYSIS_DISK_REQUESTS_H
#define UPTO_ANALYSIS_DISK_REQUESTS_H

#include "trace/facts.h"
#include "trace/reader.h"

struct disk_request {
	uint64_t ns, end_ns;      /* UINT64_MAX: it was not done by the trace's end */
	uint64_t insns;           /* that the vCPU had retired when it was issued */
	uint32_t cpu;
	uint64_t task;            /* task_struct that ran then, which need not be who wanted it; 0: not known */
	unsigned operation;       /* enum req_op, include/linux/blk_types.h */
	uint64_t sector, bytes;   /* a sector has 512 bytes */
	uint64_t done;            /* of these bytes */
	unsigned error;           /* blk_status_t of the first part that failed; 0: none did */
	const char *device;       /* the facts'; "": not known */
};

struct disk_requests {
	struct disk_request *list; /* in the order in which they were issued */
	size_t count, cap;
};

/* From a gap between recorded spans, or a boot, on nothing is known of requests from before it. Facts outlive *ret. */
void disk_requests_init(struct disk_requests *ret, const struct facts *facts, const struct reader *reader);
void disk_requests_deinit(struct disk_requests *d);

/* "read", "write", "flush" …; NULL: it has no name here. */
const char *disk_operation_name(unsigned operation);

/* "I/O error" …: what the kernel calls a blk_status_t; NULL: it has no name here. */
const char *disk_error_name(unsigned error);

#endif
