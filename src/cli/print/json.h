/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UPTO_CLI_PRINT_JSON_H
#define UPTO_CLI_PRINT_JSON_H

#include <stdio.h>

#include "base/buf.h"

/* A quoted JSON string. Bytes that are no UTF-8 come out as U+FFFD. */
void json_string(FILE *out, const char *text);
void json_put_string(struct buf *out, const char *text);

/* "0xffff…": a string, since many programs keep numbers as doubles, which are exact up to 2^53 only. */
void json_address(FILE *out, uint64_t addr);

#endif
