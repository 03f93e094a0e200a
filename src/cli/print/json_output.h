/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON (base/json.h) on standard output. What it did not take, main() says. */
#ifndef UPTO_CLI_PRINT_JSON_OUTPUT_H
#define UPTO_CLI_PRINT_JSON_OUTPUT_H

#include "base/json.h"

void json_output_begin(struct json *j);
void json_output_end(struct json *j);

#endif
