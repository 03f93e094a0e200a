/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stands before handlers, or between them, and is C, or its preprocessor's: numbers by name, and conditions. */
#ifndef UPTO_HANDLERS_PARSE_C_H
#define UPTO_HANDLERS_PARSE_C_H

#include "script.h"

/*
 * What is behind it. Of #define, numbers and calculations with numbers count, of enum its names; what else is defined
 * is not known here, and an error where it is used. Structures are those of the guest's own kernel, whatever the
 * program says of them. What #if, #ifdef and #ifndef leave out is gone past.
 */
const char *parse_c_skip(struct script *p, const char *at);

#endif
