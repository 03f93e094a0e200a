/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json_output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "terminal.h"

static int write_output(void *context, const void *data, size_t n, struct error *err)
{
	(void)context;
	if (fwrite(data, 1, n, stdout) == n)
		return 0;
	terminal_failed(errno);
	return error_set(err, "standard output: %s", strerror(errno));
}

void json_output_begin(struct json *j)
{
	static const struct sink standard_output = { .write = write_output };

	json_init(j, &standard_output);
}

void json_output_end(struct json *j)
{
	struct error ignored; /* main() says it */

	json_end(j, &ignored);
}
