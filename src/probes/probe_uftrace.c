/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe_uftrace.h"

#include <inttypes.h>
#include <string.h>

#include "probe_words.h"

/* "arg1", "fparg1", "retval": what a value is of; `number`: of an argument. */
enum source { NOTHING, ARGUMENT, FLOATING, RESULT };

static enum source source_of(const char *text, const char **ret_end, uint64_t *number)
{
	*ret_end = text;
	*number = 0;
	if (!strncmp(text, "retval", 6) && !is_name_char(text[6])) {
		*ret_end = text + 6;
		return RESULT;
	}
	if (!strncmp(text, "arg", 3) && number_at(text + 3, ret_end, number))
		return ARGUMENT;
	return !strncmp(text, "fparg", 5) && number_at(text + 5, ret_end, number) ? FLOATING : NOTHING;
}

bool probe_is_uftrace(const char *text)
{
	size_t at = strcspn(text, "@ \t");
	const char *end;
	uint64_t number;

	return text[at] == '@' && source_of(text + at + 1, &end, &number) != NOTHING && (!*end || strchr("/%,", *end));
}

/* "/x32": the type of perf's that prints alike. NULL: there is none. `ret_deref`: it is what the value points to. */
static const char *type_of(char format, uint64_t bits, bool *ret_deref)
{
	static const char *const types[][4] = { { "s8", "s16", "s32", "s64" },
						{ "u8", "u16", "u32", "u64" },
						{ "x8", "x16", "x32", "x64" } };
	int size = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : bits == 64 ? 3 : -1;

	*ret_deref = format == 's';
	if (size < 0)
		return NULL;
	switch (format) {
	case 'd':
	case 'i':
		return types[0][size];
	case 'u':
		return types[1][size];
	case 'x':
		return types[2][size];
	case 's':
		return "string";
	case 'c':
		return "char";
	case 'p':
		return "symbol";
	default:
		return NULL;
	}
}

static int refuse(struct error *err, const char *what, const char *spec, size_t n)
{
	return error_set(err, "%s: '%.*s'", what, (int)n, spec);
}

/* Where the value is: "$arg1", "$retval", "%di", "$stack2". */
static void put_place(struct buf *out, enum source source, uint64_t number, const char *at, size_t n)
{
	const char *stack = "%stack";

	if (n > strlen(stack) && !strncmp(at, stack, strlen(stack)))
		buf_printf(out, "$stack%.*s", (int)(n - strlen(stack) - (at[strlen(stack)] == '+')),
			   at + strlen(stack) + (at[strlen(stack)] == '+'));
	else if (n)
		buf_printf(out, "%.*s", (int)n, at);
	else if (source == RESULT)
		buf_printf(out, "$retval");
	else
		buf_printf(out, "$arg%" PRIu64, number);
}

/* "arg1/x32%rdi", up to a comma. */
static int put_value(const char *spec, size_t n, struct buf *out, struct error *err)
{
	const char *end, *type = "s64", *at;
	uint64_t number, bits = 64;
	enum source source = source_of(spec, &end, &number);
	bool deref = false;

	if (source == FLOATING)
		return refuse(err, "a value in floating point is not read", spec, n);
	if (source == NOTHING || end > spec + n)
		return refuse(err, "no value (arg1, arg2/s, retval/x32)", spec, n);
	if (*end == '/' && end + 1 < spec + n) {
		char format = end[1];
		bool sized = number_at(end + 2, &end, &bits);

		end = sized ? end : strchr(spec, '/') + 2;
		type = type_of(format, bits, &deref);
		if (!type)
			return refuse(err, "no format that is read (d, i, u, x, s, c or p, with 8 to 64 bits)", spec,
				      n);
	}
	at = end;
	if (at < spec + n && *at != '%')
		return refuse(err, "no value (arg1, arg2/s, retval/x32)", spec, n);
	if (source == RESULT)
		buf_printf(out, " retval=");
	else
		buf_printf(out, " arg%" PRIu64 "=", number);
	buf_printf(out, "%s", deref ? "+0(" : "");
	put_place(out, source, number, at, (size_t)(spec + n - at));
	buf_printf(out, "%s:%s", deref ? ")" : "", type);
	return 0;
}

int probe_uftrace_words(const char *text, struct buf *out, struct error *err)
{
	size_t name = strcspn(text, "@"), n;
	bool returns = false, begins = false;
	struct buf values = { 0 };
	int r = 0;

	for (const char *spec = text + name + 1; r == 0; spec += n + 1) {
		n = strcspn(spec, ", \t");
		*(*spec == 'r' ? &returns : &begins) = true;
		r = put_value(spec, n, &values, err);
		if (r == 0 && returns && begins)
			r = refuse(
				err,
				"arguments are had where a function begins, its result where it returns: two definitions",
				text, strlen(text));
		if (r == 0 && spec[n] != ',') {
			if (spec[n])
				r = refuse(err, "nothing may be behind uftrace's values, which have commas between",
					   spec + n, strlen(spec + n));
			break;
		}
	}
	if (r == 0) {
		buf_printf(out, "%.*s%s", (int)name, text, returns ? "%return" : "");
		buf_put(out, values.data, values.len);
		buf_put_u8(out, 0);
	}
	buf_free(&values);
	return r;
}
