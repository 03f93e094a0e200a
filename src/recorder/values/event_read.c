/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_read.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "recorder/boot.h"
#include "recorder/kernel/structures.h"
#include "trace/event_strings.h"

#ifdef UPTO_SMALL_TABLES
enum { FORMAT_MAX = 1 << 10 };
#else
enum { FORMAT_MAX = 1 << 16 }; /* print formats of some events have thousands of bytes */
#endif

enum {
	TEXT_MAX = 256,
	FIELDS_MAX = 128,
	ENUMS_MAX = 1 << 14,
	STRINGS_MAX = 1 << 12,
	HEADER = 8, /* struct trace_entry: type, flags, preempt_count, pid */
};

/* A table's end, as far as it is read: its length is the guest's word. */
static uint64_t bounded(uint64_t table, uint64_t end)
{
	enum { TABLE_MAX = 8 << 20 };

	return end > table && end - table > TABLE_MAX ? table + TABLE_MAX : end;
}

void event_enums_add(struct vcpu *v, uint64_t table, uint64_t end, struct event_enums *ret)
{
	end = bounded(table, end);
	for (uint64_t at = table; at && at < end && ret->count < ENUMS_MAX; at += 8) {
		struct {
			uint64_t system, name, value;
		} map;
		uint64_t where = structure_pointer_at(v, at);
		char system[TEXT_MAX], name[TEXT_MAX];

		if (!where || !guest_read(&v->regs, where, &map, sizeof map))
			continue;
		ret->list = array_grow(ret->list, ret->count, &ret->cap, sizeof *ret->list);
		ret->list[ret->count++] = (struct event_enum){
			.system = xstrdup(structure_text(v, map.system, system, sizeof system)),
			.name = xstrdup(structure_text(v, map.name, name, sizeof name)),
			.value = (int64_t)map.value,
		};
	}
}

void event_strings_tell(struct vcpu *v, uint64_t table, uint64_t end, struct buf *lines)
{
	struct buf value = { 0 };
	struct map told = { 0 };

	end = bounded(table, end);
	for (uint64_t at = table; at && at < end && told.count < STRINGS_MAX; at += 8) {
		uint64_t where = structure_pointer_at(v, at);
		char text[TEXT_MAX];

		if (where && !(*map_put(&told, where, 0))++ && *structure_text(v, where, text, sizeof text))
			event_string_put(&value, where, text);
	}
	if (value.len) {
		buf_put_u8(&value, 0);
		meta_put(lines, boot_meta_key("event_strings"), (char *)value.data);
	}
	map_free(&told);
	buf_free(&value);
}

void event_enums_deinit(struct event_enums *e)
{
	for (size_t i = 0; i < e->count; i++) {
		free(e->list[i].system);
		free(e->list[i].name);
	}
	free(e->list);
	*e = (struct event_enums){ 0 };
}

bool event_names_read(struct vcpu *v, uint64_t call, bool is_tracepoint, struct event_names *ret)
{
	uint64_t name = structure_pointer(v, call, EVENT_TRACEPOINT), class = structure_pointer(v, call, EVENT_CLASS);

	if (is_tracepoint)
		name = structure_pointer(v, name, TRACEPOINT_NAME);
	structure_text(v, name, ret->name, sizeof ret->name);
	structure_text(v, structure_pointer(v, class, CLASS_SYSTEM), ret->system, sizeof ret->system);
	return *ret->name && *ret->system;
}

uint32_t event_type(struct vcpu *v, uint64_t call)
{
	return (uint32_t)structure_read(v, call + (uint64_t)structure_at(EVENT_OUTPUT), OUTPUT_TYPE, 4);
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* sizeof(…) is one of the names, too. Returns how long the name at `text` is. */
static size_t name_length(const char *text)
{
	size_t n = 0;

	while (is_word(text[n]))
		n++;
	if (n == 6 && !strncmp(text, "sizeof", 6) && text[6] == '(') {
		n += strcspn(text + n, ")");
		n += text[n] == ')';
	}
	return n;
}

static const struct event_enum *find_enum(const struct event_enums *enums, const char *system, const char *name,
					  size_t n)
{
	for (size_t i = 0; i < enums->count; i++) {
		const struct event_enum *e = &enums->list[i];

		if (!strncmp(e->name, name, n) && !e->name[n] && !strcmp(e->system, system))
			return e;
	}
	return NULL;
}

/* As the kernel does it (trace_events.c, update_event_printk()): not in strings, and not members. */
static void put_print_format(const char *text, const char *system, const struct event_enums *enums, struct buf *out)
{
	bool in_string = false;
	char before = 0;

	while (*text) {
		size_t n = in_string ? 0 : name_length(text);
		const struct event_enum *e = NULL;

		if (n && !isdigit((unsigned char)*text) && before != '.' && before != '>')
			e = find_enum(enums, system, text, n);
		if (*text == '"')
			in_string = !in_string;
		if (!n)
			n = *text == '\\' && text[1] ? 2 : 1;
		if (e)
			buf_printf(out, "%lld", (long long)e->value);
		else
			buf_put(out, text, n);
		before = text[n - 1];
		text += n;
	}
}

/* "char[16]" and 16 → "char NAME[16]". Types __data_loc stay as they are. */
static void put_field(const char *type, const char *name, unsigned offset, unsigned size, bool is_signed, unsigned len,
		      struct buf *out)
{
	const char *array = strncmp(type, "__data_loc", 10) ? strchr(type, '[') : NULL;

	if (!array)
		buf_printf(out, "\tfield:%s %s;", type, name);
	else if (len)
		buf_printf(out, "\tfield:%.*s %s[%u];", (int)(array - type), type, name, len);
	else
		buf_printf(out, "\tfield:%.*s %s%s;", (int)(array - type), type, name, array);
	buf_printf(out, "\toffset:%u;\tsize:%u;\tsigned:%d;\n", offset, size, is_signed);
}

/* Their offsets are those of a structure. */
static void put_fields(struct vcpu *v, uint64_t fields, struct buf *out)
{
	uint32_t stride = recorder.kernel.layout.size[SIZE_EVENT_FIELD];
	unsigned offset = HEADER;

	for (int i = 0; fields && stride && i < FIELDS_MAX; i++, fields += stride) {
		uint64_t type_at = structure_pointer(v, fields, FIELD_TYPE);
		unsigned size = (unsigned)structure_read(v, fields, FIELD_SIZE, 4);
		unsigned align = (unsigned)structure_read(v, fields, FIELD_ALIGN, 4);
		char type[TEXT_MAX], name[TEXT_MAX];

		if (!type_at || type_at == UINT64_MAX) /* the end; or a function makes them */
			return;
		if (align && !(align & (align - 1)))
			offset = (offset + align - 1) & ~(align - 1);
		put_field(structure_text(v, type_at, type, sizeof type),
			  structure_text(v, structure_pointer(v, fields, FIELD_NAME), name, sizeof name), offset, size,
			  structure_read(v, fields, FIELD_SIGNED, 4) & 1,
			  (unsigned)structure_read(v, fields, FIELD_LEN, 4), out);
		offset += size;
	}
}

enum event_of event_of(const struct event_names *names)
{
	if (strcmp(names->system, "syscalls"))
		return EVENT_OF_TRACEPOINT;
	return !strncmp(names->name, "sys_enter_", 10) ? EVENT_OF_ENTRY
	       : !strncmp(names->name, "sys_exit_", 9) ? EVENT_OF_EXIT
						       : EVENT_OF_TRACEPOINT;
}

int32_t event_syscall_number(struct vcpu *v, uint64_t call)
{
	uint64_t data = structure_pointer(v, call, EVENT_DATA);

	if (!data || structure_at(SYSCALL_NUMBER) == MEMBER_UNKNOWN)
		return -1;
	return (int32_t)structure_read(v, data, SYSCALL_NUMBER, 4);
}

/* As kernel/trace/trace_syscalls.c makes them: syscall_enter_define_fields(), set_syscall_print_fmt(). */
static void put_syscall(struct vcpu *v, uint64_t call, enum event_of of, struct buf *out)
{
	enum { NUMBER_AT = 8, ARGS_AT = 16, ARGS_MAX = 6 };
	uint64_t data = structure_pointer(v, call, EVENT_DATA), types = structure_pointer(v, data, SYSCALL_TYPES),
		 args = structure_pointer(v, data, SYSCALL_ARGS);
	unsigned n = (unsigned)structure_read(v, data, SYSCALL_N_ARGS, 1) & 0x7f; /* 7.x has a flag above */
	char type[ARGS_MAX][TEXT_MAX], name[ARGS_MAX][TEXT_MAX];

	put_field("int", "__syscall_nr", NUMBER_AT, 4, true, 0, out);
	if (of == EVENT_OF_EXIT) {
		put_field("long", "ret", ARGS_AT, 8, true, 0, out);
		buf_printf(out, "\nprint fmt: \"0x%%lx\", REC->ret\n");
		return;
	}
	for (unsigned i = 0; i < n && i < ARGS_MAX; i++) {
		structure_text(v, structure_pointer_at(v, types + 8ull * i), type[i], sizeof type[i]);
		structure_text(v, structure_pointer_at(v, args + 8ull * i), name[i], sizeof name[i]);
		put_field(type[i], name[i], ARGS_AT + 8 * i, 8, false, 0, out);
	}
	buf_printf(out, "\nprint fmt: \"");
	for (unsigned i = 0; i < n && i < ARGS_MAX; i++)
		buf_printf(out, "%s%s: 0x%%08lx", i ? ", " : "", name[i]);
	buf_printf(out, "\"");
	for (unsigned i = 0; i < n && i < ARGS_MAX; i++)
		buf_printf(out, ", ((unsigned long)(REC->%s))", name[i]);
	buf_printf(out, "\n");
}

uint32_t event_number_new(void)
{
	static uint32_t count;

	return count++;
}

void event_format_tell(uint32_t number, struct buf *text, struct buf *lines)
{
	char key[32];

	buf_put_u8(text, 0);
	snprintf(key, sizeof key, "event.%u", number);
	meta_put(lines, key, (char *)text->data);
	buf_free(text);
}

void event_text_put(struct vcpu *v, uint64_t call, const struct event_names *names, const struct event_enums *enums,
		    struct buf *out)
{
	uint64_t class = structure_pointer(v, call, EVENT_CLASS),
		 format = structure_pointer(v, call, EVENT_PRINT_FORMAT);
	cleanup_free char *text = xmalloc(FORMAT_MAX);

	buf_printf(out, "%s:%s\nname: %s\nID: %u\nformat:\n", names->system, names->name, names->name,
		   event_type(v, call));
	buf_printf(out, "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
			"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
			"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n");
	if (event_of(names) != EVENT_OF_TRACEPOINT) {
		put_syscall(v, call, event_of(names), out);
		return;
	}
	put_fields(v, structure_pointer(v, class, CLASS_FIELDS), out);
	buf_printf(out, "\nprint fmt: ");
	put_print_format(structure_text(v, format, text, FORMAT_MAX), names->system, enums, out);
	buf_printf(out, "\n");
}
