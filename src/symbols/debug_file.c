/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "debug_file.h"

#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "guest/debuginfod.h"

enum { DEBUG_FILE_MAX = 1 << 30 };

static Elf *open_elf(const void *data, size_t len)
{
	Elf *elf;

	elf_version(EV_CURRENT);
	/* libelf does not write to it */
	elf = elf_memory((char *)data, len);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		return elf;
	elf_end(elf);
	return NULL;
}

bool elf_is_stripped(const void *data, size_t len)
{
	Elf *elf = open_elf(data, len);
	Elf_Scn *scn = NULL;
	bool stripped = elf;
	GElf_Shdr h;

	while (elf && (scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &h) && h.sh_type == SHT_SYMTAB)
			stripped = false;
	elf_end(elf);
	return stripped;
}

static bool read_below(const char *folder, const struct build_id *id, struct buf *ret)
{
	struct buf path = { 0 };
	struct error ignored;
	bool found;

	buf_printf(&path, "%s/usr/lib/debug/.build-id/%02x/", folder, id->bytes[0]);
	for (size_t i = 1; i < id->len; i++)
		buf_printf(&path, "%02x", id->bytes[i]);
	buf_printf(&path, ".debug");
	buf_put_u8(&path, 0);
	found = access((char *)path.data, R_OK) == 0 &&
		file_read((char *)path.data, DEBUG_FILE_MAX, ret, &ignored) == 0;
	buf_free(&path);
	return found;
}

static bool fetch_debug(const struct build_id *id, struct buf *ret)
{
	cleanup_free char *path = debuginfod_fetch(id);
	struct error ignored;

	return path && file_read(path, DEBUG_FILE_MAX, ret, &ignored) == 0;
}

bool debug_file_find(const struct build_id *id, char *const *folders, size_t n_folders, bool fetch, struct buf *ret)
{
	if (id->len < 2)
		return false;
	for (size_t i = 0; i < n_folders; i++)
		if (read_below(folders[i], id, ret))
			return true;
	return read_below("", id, ret) || (fetch && fetch_debug(id, ret));
}
