/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What may be dpkg's list of a package's files: the path of the list, a line of zero, and what is in it. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "fuzz.h"
#include "guest/packages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct packaged_file files[] = { { .path = "/usr/lib/libc.so.6" }, { .path = "/bin/true" }, { .path = "" } };
	size_t len = strnlen((const char *)data, size);
	char *path = xstrndup((const char *)data, len);

	if (len < size)
		packages_take(path, (const char *)data + len + 1, size - len - 1, files, 3);
	for (size_t i = 0; i < 3; i++) {
		if (files[i].package)
			free(package_of_symbols(files[i].package));
		free(files[i].package);
	}
	free(path);
	return 0;
}
