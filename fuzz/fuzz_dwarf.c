/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file of types that the user names: BTF, or an ELF file with debug information. */
#include "fuzz.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "guest/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("types", MFD_CLOEXEC);
	struct layout layout;
	struct error err;
	char path[64];

	must(fd >= 0 && write_all(fd, data, size) == 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (layout_from_file(path, &layout, &err) == 0)
		for (int i = 0; i < MEMBERS; i++)
			must(layout.offset[i] == MEMBER_UNKNOWN || layout.offset[i] >= 0);
	close(fd);
	return 0;
}
