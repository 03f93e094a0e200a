/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "value_text.h"

#include <inttypes.h>

#include "arch/syscall_args.h"
#include "base/float_text.h"

enum { RESULT = 2, ERRORS = 4095 /* MAX_ERRNO, include/linux/err.h */ };

/* As wide as its type; a register's upper part is anything. */
static uint64_t narrowed(const struct parameter *p, uint64_t value)
{
	unsigned drop = p->bytes && p->bytes < sizeof value ? 64 - p->bytes * 8 : 0;

	return p->kind == VALUE_SIGNED ? (uint64_t)((int64_t)(value << drop) >> drop) : value << drop >> drop;
}

static bool is_address(enum value_kind kind)
{
	return kind == VALUE_POINTER || kind == VALUE_REGISTER || kind == VALUE_STRUCT || value_is_named(kind);
}

static void put_number(struct buf *out, const struct parameter *p, uint64_t value)
{
	value = narrowed(p, value);
	if (p->kind == VALUE_BOOL)
		buf_printf(out, "%s", value & 0xff ? "true" : "false");
	else if (is_address(p->kind) && !value && p->kind != VALUE_REGISTER && p->kind != VALUE_STRUCT)
		buf_printf(out, "NULL");
	else if (is_address(p->kind))
		buf_printf(out, "0x%" PRIx64, value);
	else if (p->kind == VALUE_SIGNED)
		buf_printf(out, "%" PRId64, (int64_t)value);
	else
		buf_printf(out, "%" PRIu64, value);
}

/* What it names; NULL: nothing is known. */
static const char *name_of(const struct prototype *p, const struct fact *args, unsigned i)
{
	int text = prototype_text(p, i);

	return text >= 0 && (unsigned)text < args->n_texts && *args->texts[text] ? args->texts[text] : NULL;
}

/* "O_RDONLY|O_CLOEXEC", as a system call's argument */
static void put_as_argument(struct buf *out, const struct parameter *p, uint64_t value)
{
	syscall_arg(arch_abi(&arch_x86_64, 0), *p->type, value, out);
}

/* The permissions that open() is given only if it may make a file. */
static bool is_given(const struct call_values *c, const struct fact *args, unsigned i)
{
	const struct prototype *p = call_values_prototype(c, args);
	const struct parameter *flags = i ? &p->parameters[i - 1] : NULL;
	uint64_t value;

	if (!flags || p->parameters[i].kind != VALUE_ARGUMENT || *p->parameters[i].type != ARG_MODE ||
	    flags->kind != VALUE_ARGUMENT || *flags->type != ARG_OPEN)
		return true;
	return call_values_number(c, args, i - 1, &value) && value & ARG_OPEN_CREATES;
}

static void put_value(struct buf *out, const struct call_values *c, const struct fact *args, unsigned i, bool alike)
{
	const struct prototype *p = call_values_prototype(c, args);
	const char *name = name_of(p, args, i), *quote = p->parameters[i].kind == VALUE_STRING ? "\"" : "";
	uint64_t value;
	double real;

	if (call_values_float(c, args, i, &real)) {
		float_put(out, real, p->parameters[i].bytes == sizeof(float));
	} else if (!call_values_number(c, args, i, &value)) {
		buf_printf(out, "?");
	} else if (name) {
		buf_printf(out, "%s%s%s", quote, name, quote);
	} else if (alike && value && is_address(p->parameters[i].kind)) {
		buf_printf(out, "…");
	} else if (p->parameters[i].kind == VALUE_ARGUMENT) {
		put_as_argument(out, &p->parameters[i], value);
	} else {
		put_number(out, &p->parameters[i], value);
	}
}

void value_text_args(struct buf *out, const struct call_values *c, const struct fact *args, bool alike)
{
	const struct prototype *p = args ? call_values_prototype(c, args) : NULL;

	if (!p)
		return;
	buf_printf(out, "(");
	for (unsigned i = 0; i < p->count && is_given(c, args, i); i++) {
		buf_printf(out, "%s", i ? ", " : "");
		/* of what no type is known: registers, as an assembler writes them */
		buf_printf(out, "%s", p->parameters[i].kind == VALUE_REGISTER ? "%" : "");
		buf_printf(out, "%s%s", p->parameters[i].name, *p->parameters[i].name ? "=" : "");
		put_value(out, c, args, i, alike);
	}
	buf_printf(out, ")");
}

static bool gives_back(const struct prototype *p, const struct fact *result)
{
	/* a floating number is in another register: call_values_float_result() */
	return p && result->n_numbers > RESULT && p->result.kind != VALUE_NONE && p->result.kind != VALUE_FLOAT;
}

/* Numbers that the kernel gives back for errors, also as pointers: include/linux/err.h. */
static const char *error_of(const struct prototype *p, uint64_t value)
{
	uint64_t wide = narrowed(&p->result, value);
	enum value_kind kind = p->result.kind;
	bool may_be = kind == VALUE_SIGNED || (is_address(kind) && kind != VALUE_REGISTER);

	return may_be && wide > UINT64_MAX - ERRORS ? syscall_error((int64_t)wide) : NULL;
}

void value_text_result(struct buf *out, const struct call_values *c, const struct fact *result)
{
	const struct prototype *p = result ? call_values_prototype(c, result) : NULL;
	const char *error;
	double real;

	if (p && call_values_float_result(c, result, &real)) {
		buf_printf(out, " = ");
		float_put(out, real, p->result.bytes == sizeof(float));
	}
	if (!gives_back(p, result))
		return;
	/* programs have errno */
	error = p->addr ? error_of(p, result->numbers[RESULT]) : NULL;
	buf_printf(out, " = ");
	if (error)
		buf_printf(out, "%" PRId64 " (%s)", (int64_t)narrowed(&p->result, result->numbers[RESULT]), error);
	else
		put_number(out, &p->result, result->numbers[RESULT]);
}

static void put_number_json(struct json *j, const char *key, const struct parameter *p, uint64_t value)
{
	value = narrowed(p, value);
	if (p->kind == VALUE_BOOL)
		json_flag(j, key, value & 0xff);
	else if (is_address(p->kind))
		json_address(j, key, value);
	else if (p->kind == VALUE_SIGNED)
		json_signed(j, key, (int64_t)value);
	else
		json_number(j, key, value);
}

static void put_argument_json(struct json *j, const struct parameter *p, uint64_t value)
{
	struct buf text = { 0 };

	put_as_argument(&text, p, value);
	buf_put_u8(&text, 0);
	json_text(j, p->name, (char *)text.data);
	buf_free(&text);
}

static void put_args_json(struct json *j, const struct call_values *c, const struct fact *args)
{
	const struct prototype *p = call_values_prototype(c, args);

	json_object(j, "args");
	for (unsigned i = 0; i < p->count && is_given(c, args, i); i++) {
		const struct parameter *q = &p->parameters[i];
		const char *name = name_of(p, args, i);
		uint64_t value;
		double real;

		if (call_values_float(c, args, i, &real))
			json_float(j, q->name, real);
		else if (!call_values_number(c, args, i, &value))
			json_null(j, q->name);
		else if (name)
			json_text(j, q->name, name);
		else if (q->kind == VALUE_ARGUMENT)
			put_argument_json(j, q, value);
		else
			put_number_json(j, q->name, q, value);
	}
	json_close(j);
}

void value_args_json(struct json *j, const struct call_values *c, const struct fact *args)
{
	const struct prototype *p = args ? call_values_prototype(c, args) : NULL;

	if (p)
		put_args_json(j, c, args);
	else
		json_null(j, "args");
}

void value_json(struct json *j, const struct call_values *c, const struct fact *args, const struct fact *result)
{
	const struct prototype *p = result ? call_values_prototype(c, result) : NULL;
	double real;

	value_args_json(j, c, args);
	if (p && call_values_float_result(c, result, &real))
		json_float(j, "result", real);
	else if (gives_back(p, result))
		put_number_json(j, "result", &p->result, result->numbers[RESULT]);
	else
		json_null(j, "result");
}
