/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf_definition.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "dwarf_values.h"

enum { READS_MAX = 16 };

/* A register, or what a symbol stands for, and any number of offsets and reads: in the kernel's words. */
struct fetch {
	int64_t offsets[READS_MAX];
	size_t count;
};

/*
 * The offset of each read, the first one first. Of what is an address in the end, a string's or an array's, the last
 * read is the kernel's to do. False: the code is something else.
 */
static bool find_reads(const struct probe_value *v, struct fetch *ret)
{
	const struct probe_step_code *s = v->code.steps;
	bool address = v->type.format == PROBE_STRING || v->type.count;
	size_t n = v->code.count, i = 1;

	ret->count = 0;
	if (!n || (s->op != PROBE_OP_REGISTER && s->op != PROBE_OP_SYMBOL))
		return false;
	if (s->op == PROBE_OP_SYMBOL) { /* @SYMBOL is what is there */
		if (n == 1)
			return address;
		if (s[1].op != PROBE_OP_READ ||
		    (n > 2 ? s[1].operand != 8 : address || s[1].operand != (int64_t)v->type.bytes))
			return false;
		if (n == 2)
			return true;
		i = 2;
	}
	while (i < n || address) {
		bool moves = i + 1 < n && s[i].op == PROBE_OP_NUMBER && s[i + 1].op == PROBE_OP_ADD;

		if (ret->count == READS_MAX)
			return false;
		ret->offsets[ret->count++] = moves ? s[i].operand : 0;
		i += moves ? 2 : 0;
		if (i == n)
			return address;
		if (s[i].op != PROBE_OP_READ ||
		    (i + 1 < n || address ? s[i].operand != 8 : s[i].operand != (int64_t)v->type.bytes))
			return false;
		i++;
	}
	return true;
}

/* "+36(+72(%di))" */
static void put_fetch(const struct probe_value *v, const struct fetch *f, struct buf *out)
{
	for (size_t i = f->count; i-- > 0;)
		buf_printf(out, "%+" PRId64 "(", f->offsets[i]);
	if (v->code.steps->symbol)
		buf_printf(out, "@%s%+" PRId64, v->code.steps->symbol, v->code.steps->operand);
	else
		buf_printf(out, "%%%s", probe_register_name((unsigned)v->code.steps->operand));
	for (size_t i = 0; i < f->count; i++)
		buf_printf(out, ")");
}

static void put_value(const struct probe_value *v, bool returns, struct buf *out)
{
	bool constant = v->code.count == 1 && v->code.steps->op == PROBE_OP_NUMBER;
	bool result = v->code.count == 1 && v->code.steps->op == PROBE_OP_REGISTER &&
		      v->code.steps->operand == PROBE_RAX;
	struct fetch fetch;

	if (returns && result && !strcmp(v->name, "retval")) {
		buf_printf(out, " $retval");
		if (v->type.format != PROBE_HEX || v->type.bytes != 8) /* which is what it is if nothing is said */
			probe_type_put(&v->type, out);
		return;
	}
	buf_printf(out, " %s=", v->name);
	if (v->words)
		buf_printf(out, "%s", v->words);
	else if (v->is_comm)
		buf_printf(out, "$comm");
	else if (constant && v->type.format != PROBE_STRING && !v->type.count)
		buf_printf(out, "\\%" PRId64, v->code.steps->operand);
	else if (find_reads(v, &fetch))
		put_fetch(v, &fetch, out);
	else
		probe_code_put(&v->code, out);
	if (!v->is_comm && !v->words)
		probe_type_put(&v->type, out);
}

/* "vfs_read+48"; where several functions have that name, "_text+…". */
static void put_place(const struct dwarf_file *f, const char *target, uint64_t address, struct buf *out)
{
	uint8_t byte;
	uint64_t offset, text;
	const char *name = dwarf_file_symbol_at(f, address, &offset);

	if (f->kind == DWARF_MODULE)
		buf_printf(out, "%s:", f->module_name);
	if (f->kind == DWARF_KERNEL && (!name || dwarf_file_symbols(f, name) > 1) &&
	    dwarf_file_address(f, "_text", &text))
		buf_printf(out, "_text+%" PRIu64, address - text);
	else if (f->kind == DWARF_PROGRAM)
		buf_printf(out, "%s:0x%" PRIx64, target ? target : f->path,
			   dwarf_file_code(f, address, &offset, &byte, sizeof byte) ? offset : 0);
	else
		buf_printf(out, "%s+%" PRIu64, name ? name : "?", offset);
}

static int put_one(const struct dwarf_file *f, const struct probe_definition *d, const struct dwarf_place *place,
		   struct buf *out, struct error *err)
{
	Dwarf_Die function = place->function;
	const char *own = function.addr ? dwarf_diename(&function) : NULL;
	uint64_t offset;
	const char *symbol = own ? own : dwarf_file_symbol_at(f, place->address, &offset);
	cleanup_free char *event = probe_event_name(d, symbol ? symbol : "probe");
	struct probe_values values;
	int ret = dwarf_values_init(&values, f, d, place, err);

	if (ret == 0) {
		buf_printf(out, "%c:%s/%s ", d->returns ? 'r' : 'p', probe_group_name(d), event);
		put_place(f, d->target, place->address, out);
		for (size_t i = 0; i < values.count; i++)
			put_value(&values.list[i], d->returns, out);
		buf_printf(out, "\n");
	}
	probe_values_deinit(&values);
	return ret;
}

void dwarf_definition_put_address(const struct dwarf_file *f, const char *path, uint64_t addr, bool returns,
				  struct buf *out)
{
	buf_printf(out, "%c:calls/at ", returns ? 'r' : 'p');
	put_place(f, path, addr, out);
	buf_printf(out, "\n");
}

int dwarf_definition_put(const struct dwarf_file *f, const struct probe_definition *d, struct buf *out,
			 size_t *ret_left_out, struct error *err)
{
	struct dwarf_places places;
	size_t done = 0;
	int ret = dwarf_places_init(&places, f, d, err);

	for (size_t i = 0; ret == 0 && i < places.count; i++)
		done += put_one(f, d, &places.list[i], out, err) == 0;
	*ret_left_out = places.count - done;
	dwarf_places_deinit(&places);
	return done ? 0 : -1;
}
