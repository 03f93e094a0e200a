/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which content each mapping of a trace has. */
#ifndef UPTO_TRACE_MAPPED_CONTENTS_H
#define UPTO_TRACE_MAPPED_CONTENTS_H

#include "boots.h"
#include "code_records.h"

/*
 * For each record, if it is MAPPED, the number of the content of what it maps; 0: not known. Where a mapping's own was
 * not read, others of the same boot, path, device, inode and size tell, if they all agree. The caller frees it.
 */
uint64_t *mapped_contents(const struct code_records *records, const struct boots *boots);

#endif
