/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "build_id.h"

#include <gelf.h>
#include <string.h>

static bool take_note(Elf_Data *data, struct build_id *ret)
{
	size_t at = 0, name, desc;
	GElf_Nhdr note;

	while (data && (at = gelf_getnote(data, at, &note, &name, &desc)) > 0)
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp((char *)data->d_buf + name, "GNU", 4) && note.n_descsz && note.n_descsz <= BUILD_ID_MAX) {
			memcpy(ret->bytes, (char *)data->d_buf + desc, note.n_descsz);
			ret->len = note.n_descsz;
			return true;
		}
	return false;
}

void build_id_of(const void *data, size_t len, struct build_id *ret)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr h;
	Elf *elf;

	elf_version(EV_CURRENT);
	/* libelf does not write to it */
	elf = elf_memory((char *)data, len);
	*ret = (struct build_id){ 0 };
	while (elf && (scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &h) && h.sh_type == SHT_NOTE && take_note(elf_getdata(scn, NULL), ret))
			break;
	elf_end(elf);
}

bool build_id_same(const struct build_id *a, const struct build_id *b)
{
	return a->len && a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

void build_id_put(const struct build_id *id, struct buf *out)
{
	for (size_t i = 0; i < id->len; i++)
		buf_printf(out, "%02x", id->bytes[i]);
}
