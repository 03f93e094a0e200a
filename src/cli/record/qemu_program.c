/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu_program.h"

#include <fcntl.h>
#include <libelf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

/* Open the file that execvp(3) would run; -1: none. */
static int open_program(const char *program)
{
	const char *path = getenv("PATH");

	if (strchr(program, '/'))
		return open(program, O_RDONLY | O_CLOEXEC);
	while (path && *path) {
		size_t len = strcspn(path, ":");
		cleanup_free char *file = xasprintf("%.*s/%s", (int)len, path, program);

		if (!len)
			return -1; /* the folder that this runs in: not worth it */
		if (access(file, X_OK) == 0)
			return open(file, O_RDONLY | O_CLOEXEC);
		path += len + (path[len] == ':');
	}
	return -1;
}

/*
 * Find a text in the section with that name; NULL: it is not there. *ret_left: bytes from there to the section's end.
 */
static const char *find(Elf *elf, const char *section, const char *text, size_t *ret_left)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(scn, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
		Elf_Data *data = name && !strcmp(name, section) ? elf_rawdata(scn, NULL) : NULL;
		const char *at = data && data->d_buf ? memmem(data->d_buf, data->d_size, text, strlen(text)) : NULL;

		if (!at)
			continue;
		*ret_left = (size_t)((const char *)data->d_buf + data->d_size - at);
		return at;
	}
	return NULL;
}

bool qemu_program_version(const char *program, struct buf *out)
{
	int fd = open_program(program);
	const char *line = NULL, *end = NULL;
	size_t left;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	if (elf && find(elf, ".dynstr", "qemu_plugin_register_vcpu_tb_trans_cb", &left))
		line = find(elf, ".rodata", "QEMU emulator version ", &left);
	if (line)
		end = memchr(line, '\n', left);
	if (end && !memchr(line, '\0', (size_t)(end - line))) {
		buf_put(out, line, (size_t)(end - line));
		buf_put_u8(out, 0);
	} else {
		line = NULL;
	}
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return line;
}
