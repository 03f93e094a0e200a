/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UPTO_HANDLERS_CONSTANTS_H
#define UPTO_HANDLERS_CONSTANTS_H

#include <stdbool.h>
#include <stdint.h>

/* The number of that name in the kernel's headers. False: it is none that is known here. */
bool constant_find(const char *name, uint64_t *ret);

#endif
