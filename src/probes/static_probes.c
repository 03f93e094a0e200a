/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "static_probes.h"

#include <ctype.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { NOTE_TYPE = 3, ADDRESSES = 3, ARGUMENTS_MAX = 12 };

/* Where the file's own .stapsdt.base is; notes tell where it was when they were written. 0: it has none. */
static uint64_t find_base(Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names;

	while (elf_getshdrstrndx(elf, &names) == 0 && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;

		if (name && !strcmp(name, ".stapsdt.base"))
			return header.sh_addr;
	}
	return 0;
}

/* The next text of a note; NULL: it has no more. */
static const char *next_text(const char **at, const char *end)
{
	const char *text = *at, *zero = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;

	*at = zero ? zero + 1 : end;
	return zero ? text : NULL;
}

static bool read_note(const char *data, size_t size, uint64_t base, GElf_Addr bias, struct static_probe *ret)
{
	uint64_t addresses[ADDRESSES];
	const char *at = data + sizeof addresses, *end = data + size;

	if (size < sizeof addresses)
		return false;
	memcpy(addresses, data, sizeof addresses);
	*ret = (struct static_probe){
		.provider = next_text(&at, end),
		.name = next_text(&at, end),
		.arguments = next_text(&at, end),
		.address = addresses[0] + bias,
		.guarded = addresses[2],
	};
	if (base && addresses[1])
		ret->address += base - addresses[1];
	return ret->arguments;
}

static void go_through_notes(Elf_Data *data, uint64_t base, GElf_Addr bias,
			     void (*each)(void *context, const struct static_probe *probe), void *context)
{
	size_t at = 0, name, text;
	GElf_Nhdr note;

	while (data && data->d_buf && (at = gelf_getnote(data, at, &note, &name, &text)) > 0) {
		struct static_probe probe;

		if (note.n_type == NOTE_TYPE && note.n_namesz == sizeof "stapsdt" &&
		    !memcmp((const char *)data->d_buf + name, "stapsdt", sizeof "stapsdt") &&
		    read_note((const char *)data->d_buf + text, note.n_descsz, base, bias, &probe))
			each(context, &probe);
	}
}

void static_probes_each(const struct dwarf_file *f, void (*each)(void *context, const struct static_probe *probe),
			void *context)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(f->module, &bias);
	Elf_Scn *section = NULL;
	size_t names;

	while (elf && elf_getshdrstrndx(elf, &names) == 0 && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;

		if (name && header.sh_type == SHT_NOTE && !strcmp(name, ".note.stapsdt"))
			go_through_notes(elf_getdata(section, NULL), find_base(elf), bias, each, context);
	}
}

/* "%eax", "%r8d", "%sil" → the register that it is part of; -1: none. */
static int whole_register(const char *text, size_t n)
{
	static const char *const old[] = { "ax", "cx", "dx", "bx", "sp", "bp", "si", "di" };
	int reg = probe_register(text, n);

	if (reg >= 0)
		return reg;
	for (int i = 0; i < 8; i++) {
		bool wide = n == 3 && *text == 'e' && !memcmp(text + 1, old[i], 2);
		bool low = i < 4 ? n == 2 && *text == *old[i] && text[1] == 'l'
				 : n == 3 && !memcmp(text, old[i], 2) && text[2] == 'l';

		if (wide || low)
			return i;
	}
	/* r8d, r8w, r8b */
	return n >= 3 && *text == 'r' && strchr("dwb", text[n - 1]) ? probe_register(text, n - 1) : -1;
}

static bool take_register(const char **at, struct probe_code *c)
{
	size_t n;
	int reg;

	if (**at != '%')
		return false;
	for (n = 1; isalnum((unsigned char)(*at)[n]);)
		n++;
	reg = whole_register(*at + 1, n - 1);
	if (reg < 0)
		return false;
	probe_code_add(c, PROBE_OP_REGISTER, reg);
	*at += n;
	return true;
}

/* Notes are as hostile as their file: nothing goes past the end of their text. */
static bool take_char(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

/* "-36(%rbp)", "(%rax,%rbx,4)", behind the offset. */
static bool take_memory(const char **at, int64_t offset, unsigned bytes, struct probe_code *c)
{
	char *end;
	long scale = 1;

	if (!take_char(at, '(') || !take_register(at, c))
		return false;
	if (take_char(at, ',')) {
		if (!take_register(at, c))
			return false;
		if (**at == ',') {
			scale = strtol(*at + 1, &end, 10);
			*at = end;
		}
		probe_code_add(c, PROBE_OP_NUMBER, scale);
		probe_code_add(c, PROBE_OP_MULTIPLY, 0);
		probe_code_add(c, PROBE_OP_ADD, 0);
	}
	if (!take_char(at, ')'))
		return false;
	probe_code_add_behind(c, offset);
	probe_code_add(c, PROBE_OP_READ, bytes);
	return true;
}

/* "8@%rdi", "-4@-36(%rbp)", "8@$5" */
static bool take_argument(const char **at, struct probe_type *ret_type, struct probe_code *c)
{
	char *end;
	long size = strtol(*at, &end, 10);
	unsigned bytes = (unsigned)labs(size);
	int64_t number;

	if (end == *at || *end != '@' || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
		return false;
	*ret_type = (struct probe_type){ .format = size < 0 ? PROBE_SIGNED : PROBE_UNSIGNED, .bytes = bytes };
	*at = end + 1;
	if (**at == '%')
		return take_register(at, c);
	if (**at == '$') {
		number = strtoll(*at + 1, &end, 0);
		*at = end;
		probe_code_add(c, PROBE_OP_NUMBER, number);
		return true;
	}
	number = strtoll(*at, &end, 0);
	*at = end;
	return take_memory(at, number, bytes, c);
}

/* One that is not understood (a symbol, a register of floating point) is left out. */
static void put_arguments(const char *text, struct buf *out)
{
	for (int i = 1; *text && i <= ARGUMENTS_MAX; i++) {
		struct probe_code code = { 0 };
		struct probe_type type;

		text += strspn(text, " ");
		if (*text && take_argument(&text, &type, &code) && strchr(" ", *text)) {
			buf_printf(out, " arg%d=", i);
			probe_code_put(&code, out);
			probe_type_put(&type, out);
		}
		text += strcspn(text, " ");
		probe_code_deinit(&code);
	}
}

struct putting {
	const struct dwarf_file *file;
	const struct probe_definition *d;
	struct buf *out;
	size_t count;
};

static void put_one(void *context, const struct static_probe *probe)
{
	struct putting *p = context;
	uint64_t offset;
	uint8_t byte;

	if (strcmp(p->d->group, probe->provider) || fnmatch(p->d->function, probe->name, 0) ||
	    !dwarf_file_code(p->file, probe->address, &offset, &byte, sizeof byte))
		return;
	buf_printf(p->out, "p:sdt_%s/%s %s:0x%" PRIx64, probe->provider, p->d->event ? p->d->event : probe->name,
		   p->d->target ? p->d->target : p->file->path, offset);
	for (size_t i = 0; i < p->d->n_args; i++)
		probe_arg_put(&p->d->args[i], p->out);
	if (!p->d->n_args)
		put_arguments(probe->arguments, p->out);
	buf_printf(p->out, "\n");
	p->count++;
}

int static_probes_put(const struct dwarf_file *f, const struct probe_definition *d, struct buf *out, struct error *err)
{
	struct putting p = { .file = f, .d = d, .out = out };

	for (size_t i = 0; i < d->n_args; i++)
		if (probe_arg_asks_argument(&d->args[i]) || probe_definition_has_variables(d))
			return error_set(err,
					 "%s: variables and $argN are of functions; a static probe tells its own values if "
					 "none are asked for",
					 d->text);
	static_probes_each(f, put_one, &p);
	return p.count ? 0 : error_set(err, "%s: %s has no static probe of that name", d->text, f->path);
}
