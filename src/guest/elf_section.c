/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf_section.h"

#include <gelf.h>
#include <libelf.h>

bool elf_section(const struct buf *file, const char *name, size_t *ret_at, size_t *ret_len)
{
	bool found = false;
	size_t names = 0;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)file->data, file->len);
	if (!elf || elf_getshdrstrndx(elf, &names) < 0) {
		elf_end(elf);
		return false;
	}
	for (Elf_Scn *scn = NULL; !found && (scn = elf_nextscn(elf, scn));) {
		const char *here;
		GElf_Shdr h;

		if (!gelf_getshdr(scn, &h) || h.sh_type == SHT_NOBITS)
			continue;
		here = elf_strptr(elf, names, h.sh_name);
		found = here && !strcmp(here, name) && h.sh_offset <= file->len && h.sh_size <= file->len - h.sh_offset;
		*ret_at = h.sh_offset;
		*ret_len = h.sh_size;
	}
	elf_end(elf);
	return found;
}
