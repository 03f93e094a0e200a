/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/file.h"
#include "elf_section.h"
#include "layout.h"

/* BTF of its own, or a section of an ELF file; else debug information. */
int layout_from_file(const char *path, struct layout *ret, struct error *err)
{
	enum { TYPES_MAX = 2047 << 20 };
	struct buf file = { 0 };
	size_t at, len;
	int r;

	if (file_read(path, TYPES_MAX, &file, err) < 0)
		return -1;
	if (file.len > 4 && !memcmp(file.data, "\x9f\xeb\x01", 3))
		r = layout_from_btf(file.data, file.len, ret, err);
	else if (file.len > 4 && !memcmp(file.data, "\177ELF", 4) && elf_section(&file, ".BTF", &at, &len))
		r = layout_from_btf(file.data + at, len, ret, err);
	else
		r = layout_from_dwarf(path, ret, err);
	buf_free(&file);
	if (r == 0 && !layout_any(ret))
		r = error_set(err, "describes no kernel's types");
	return r < 0 ? error_prefix(err, "%s", path) : 0;
}
