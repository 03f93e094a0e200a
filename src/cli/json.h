/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UPTO_CLI_JSON_H
#define UPTO_CLI_JSON_H

#include <stdio.h>

/* A quoted JSON string. Bytes that are no UTF-8 come out as U+FFFD. */
void json_string(FILE *out, const char *text);

#endif
