/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe_record.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { HEADER = 8, WORD = 8, DYNAMIC = 4, PAGE = 4096 };

static unsigned bytes_of(const struct probe_value *v)
{
	if (v->type.format == PROBE_STRING)
		return DYNAMIC;
	return v->type.bytes * (v->type.count ? v->type.count : 1);
}

/* "u32", as the kernel names it */
static void put_type(const struct probe_type *t, struct buf *out)
{
	if (t->format == PROBE_CHAR)
		buf_printf(out, "char");
	else
		buf_printf(out, "%c%u", t->format == PROBE_SIGNED ? 's' : 'u', 8 * t->bytes);
}

static void put_field(const struct probe_value *v, unsigned offset, struct buf *out)
{
	buf_printf(out, "\tfield:");
	if (v->type.format == PROBE_STRING)
		buf_printf(out, "__data_loc char[] %s", v->name);
	else {
		put_type(&v->type, out);
		buf_printf(out, " %s", v->name);
	}
	if (v->type.count)
		buf_printf(out, "[%u]", v->type.count);
	buf_printf(out, ";\toffset:%u;\tsize:%u;\tsigned:%d;\n", offset, bytes_of(v),
		   v->type.format == PROBE_SIGNED || v->type.format == PROBE_STRING);
}

static const char *conversion(const struct probe_type *t)
{
	static const char *const wide[] = { "%llu", "%lld", "0x%llx" }, *const narrow[] = { "%u", "%d", "0x%x" };
	int i = t->format == PROBE_UNSIGNED ? 0 : t->format == PROBE_SIGNED ? 1 : 2;

	if (t->format == PROBE_STRING)
		return "\\\"%s\\\"";
	if (t->format == PROBE_SYMBOL)
		return "%pS";
	if (t->format == PROBE_CHAR)
		return "'%c'";
	return t->bytes == WORD ? wide[i] : narrow[i];
}

/* Of an array "{%d,%d}", as kernel/trace/trace_probe.c puts it (__set_print_fmt()). */
static void put_conversion(const struct probe_type *t, struct buf *out)
{
	buf_printf(out, "%s%s", t->count ? "{" : "", conversion(t));
	for (unsigned i = 1; i < t->count; i++)
		buf_printf(out, ",%s", conversion(t));
	buf_printf(out, "%s", t->count ? "}" : "");
}

/* `element`: "[3]", or "". */
static void put_printed(const struct probe_value *v, const char *element, struct buf *out)
{
	if (v->type.format == PROBE_STRING)
		buf_printf(out, ", __get_str(%s)", v->name);
	else
		buf_printf(out, ", %sREC->%s%s", v->type.format == PROBE_SYMBOL ? "(void *)" : "", v->name, element);
}

static void put_print_format(const struct probe_values *v, bool returns, struct buf *out)
{
	buf_printf(out, "\nprint fmt: \"%s", returns ? "(%pS <- %ps)" : "(%pS)");
	for (size_t i = 0; i < v->count; i++) {
		buf_printf(out, " %s=", v->list[i].name);
		put_conversion(&v->list[i].type, out);
	}
	buf_printf(out, "\", %s",
		   returns ? "(void *)REC->__probe_ret_ip, (void *)REC->__probe_func" : "(void *)REC->__probe_ip");
	for (size_t i = 0; i < v->count; i++) {
		unsigned count = v->list[i].type.count;
		char element[16];

		for (unsigned k = 0; k < count; k++) {
			snprintf(element, sizeof element, "[%u]", k);
			put_printed(&v->list[i], element, out);
		}
		if (!count)
			put_printed(&v->list[i], "", out);
	}
	buf_printf(out, "\n");
}

void probe_format_put(const struct probe_values *v, const char *group, const char *event, bool returns, struct buf *out)
{
	unsigned offset = HEADER + WORD;

	buf_printf(out, "%s:%s\nname: %s\nID: 0\nformat:\n", group, event, event);
	/* flags and preempt_count are those of a record that the kernel makes, and are not told here */
	buf_printf(out, "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n");
	if (returns) {
		buf_printf(out, "\tfield:unsigned long __probe_func;\toffset:8;\tsize:8;\tsigned:0;\n"
				"\tfield:unsigned long __probe_ret_ip;\toffset:16;\tsize:8;\tsigned:0;\n");
		offset += WORD;
	} else {
		buf_printf(out, "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n");
	}
	for (size_t i = 0; i < v->count; i++) {
		put_field(&v->list[i], offset, out);
		offset += bytes_of(&v->list[i]);
	}
	put_print_format(v, returns, out);
}

/* Up to its end, or to where memory ends. False: nothing can be read. */
static bool read_text(const struct probe_guest *guest, uint64_t addr, char text[PROBE_TEXT])
{
	size_t n = 0;

	while (n < PROBE_TEXT - 1) {
		size_t room = PAGE - (addr + n) % PAGE, more = PROBE_TEXT - 1 - n < room ? PROBE_TEXT - 1 - n : room;

		if (!guest->read(guest->context, addr + n, text + n, more))
			break;
		if (memchr(text + n, '\0', more))
			return true;
		n += more;
	}
	text[n] = '\0';
	return n;
}

/* The text comes behind all values; the word tells where, and how long it is. */
static bool put_text(const struct probe_value *v, const struct probe_hit *hit, const struct probe_guest *guest,
		     size_t begin, size_t at, struct buf *out)
{
	char text[PROBE_TEXT] = "";
	uint64_t addr = 0;
	bool is = v->is_comm || (probe_code_run(&v->code, guest, &addr) && addr && read_text(guest, addr, text));
	const char *what = v->is_comm ? hit->comm : is ? text : "(fault)";
	uint32_t where = (uint32_t)(strlen(what) + 1) << 16 | (uint32_t)(out->len - begin);

	memcpy(out->data + at, &where, sizeof where);
	buf_put(out, what, strlen(what) + 1);
	return is;
}

static uint64_t bit_field(const struct probe_type *t, uint64_t value)
{
	if (!t->bits)
		return value;
	value = value << (64 - t->bits - t->shift);
	return t->format == PROBE_SIGNED ? (uint64_t)((int64_t)value >> (64 - t->bits)) : value >> (64 - t->bits);
}

/* `up_to`: up to where memory ends. */
static bool read_array(const struct probe_value *v, const struct probe_guest *guest, uint64_t addr, uint8_t *to)
{
	size_t n = bytes_of(v), near = PAGE - addr % PAGE;

	if (guest->read(guest->context, addr, to, n))
		return true;
	return v->type.up_to && near < n && guest->read(guest->context, addr, to, near);
}

static bool put_number(const struct probe_value *v, const struct probe_guest *guest, uint8_t *to)
{
	uint64_t value = 0;
	bool is = probe_code_run(&v->code, guest, &value);

	if (v->type.count)
		return is && read_array(v, guest, value, to);
	if (is)
		value = bit_field(&v->type, value);
	memcpy(to, &value, v->type.bytes);
	return is;
}

static void put_header(const struct probe_hit *hit, struct buf *out)
{
	uint8_t header[HEADER] = { 0 };

	memcpy(header + 4, &hit->pid, sizeof hit->pid);
	buf_put(out, header, sizeof header);
	buf_put(out, &hit->address, sizeof hit->address);
	if (hit->returns)
		buf_put(out, &hit->returns_to, sizeof hit->returns_to);
}

size_t probe_record_put(const struct probe_values *v, const struct probe_hit *hit, const struct probe_guest *guest,
			struct buf *out)
{
	size_t begin = out->len, at, faults = 0, all = 0;

	put_header(hit, out);
	at = out->len;
	for (size_t i = 0; i < v->count; i++)
		all += bytes_of(&v->list[i]);
	buf_reserve(out, all);
	memset(out->data + at, 0, all);
	out->len += all;
	for (size_t i = 0; i < v->count; i++) {
		const struct probe_value *value = &v->list[i];

		faults += !(value->type.format == PROBE_STRING ? put_text(value, hit, guest, begin, at, out)
							       : put_number(value, guest, out->data + at));
		at += bytes_of(value);
	}
	return faults;
}
