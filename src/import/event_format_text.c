/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_format_text.h"

#include <ctype.h>
#include <string.h>

#include "graph_events.h"

enum { DEPTH_MAX = 64 }; /* of arguments in arguments */

static void put_arg(const struct tep_print_arg *arg, unsigned depth, struct buf *out);

/* Texts lost their quotes; names of constants that are not known are 0 either way. */
static void put_atom(const char *atom, struct buf *out)
{
	const char *digits = atom + (*atom == '-');

	buf_printf(out, isdigit((unsigned char)*digits) ? "%s" : "\"%s\"", atom);
}

static void put_choices(const struct tep_print_flag_sym *list, struct buf *out)
{
	for (; list; list = list->next)
		buf_printf(out, ", { %s, \"%s\" }", list->value, list->str);
}

/* What the language of print formats calls: include/trace/stages/stage3_trace_output.h. */
static void put_call(const char *function, const struct tep_print_arg *const *args, unsigned depth, struct buf *out)
{
	buf_printf(out, "%s(", function);
	for (unsigned i = 0; args[i]; i++) {
		buf_printf(out, i ? ", " : "");
		put_arg(args[i], depth, out);
	}
	buf_printf(out, ")");
}

/* One of an empty left side has one operand; of "?", both results are on the right side. */
static void put_operation(const struct tep_print_arg_op *op, unsigned depth, struct buf *out)
{
	bool index = !strcmp(op->op, "[");

	buf_printf(out, index ? "" : "(");
	put_arg(op->left, depth, out);
	buf_printf(out, index ? "[" : op->left && op->left->type == TEP_PRINT_NULL ? "%s" : " %s ", op->op);
	if (!strcmp(op->op, "?") && op->right && op->right->type == TEP_PRINT_OP) {
		put_arg(op->right->op.left, depth, out);
		buf_printf(out, " : ");
		put_arg(op->right->op.right, depth, out);
	} else {
		put_arg(op->right, depth, out);
	}
	buf_printf(out, index ? "]" : ")");
}

static void put_array(const struct tep_print_arg_dynarray *array, unsigned depth, struct buf *out)
{
	buf_printf(out, "__get_dynamic_array(%s)", array->field->name);
	if (!array->index)
		return;
	buf_printf(out, "[");
	put_arg(array->index, depth, out);
	buf_printf(out, "]");
}

static void put_arg(const struct tep_print_arg *arg, unsigned depth, struct buf *out)
{
	if (!arg || ++depth > DEPTH_MAX)
		return;
	switch (arg->type) {
	case TEP_PRINT_ATOM:
		put_atom(arg->atom.atom, out);
		return;
	case TEP_PRINT_FIELD:
		buf_printf(out, "REC->%s", arg->field.name);
		return;
	case TEP_PRINT_FLAGS:
		buf_printf(out, "__print_flags(");
		put_arg(arg->flags.field, depth, out);
		buf_printf(out, ", \"%s\"", arg->flags.delim ? arg->flags.delim : "");
		put_choices(arg->flags.flags, out);
		buf_printf(out, ")");
		return;
	case TEP_PRINT_SYMBOL:
		buf_printf(out, "__print_symbolic(");
		put_arg(arg->symbol.field, depth, out);
		put_choices(arg->symbol.symbols, out);
		buf_printf(out, ")");
		return;
	case TEP_PRINT_HEX:
		put_call("__print_hex", (const struct tep_print_arg *const[]){ arg->hex.field, arg->hex.size, NULL },
			 depth, out);
		return;
	case TEP_PRINT_HEX_STR:
		put_call("__print_hex_str",
			 (const struct tep_print_arg *const[]){ arg->hex.field, arg->hex.size, NULL }, depth, out);
		return;
	case TEP_PRINT_INT_ARRAY:
		put_call("__print_array",
			 (const struct tep_print_arg *const[]){ arg->int_array.field, arg->int_array.count,
								arg->int_array.el_size, NULL },
			 depth, out);
		return;
	case TEP_PRINT_TYPE:
		buf_printf(out, "(%s)", arg->typecast.type);
		put_arg(arg->typecast.item, depth, out);
		return;
	case TEP_PRINT_STRING:
		buf_printf(out, "__get_str(%s)", arg->string.string);
		return;
	case TEP_PRINT_BITMASK:
		buf_printf(out, "__get_bitmask(%s)", arg->bitmask.bitmask);
		return;
	case TEP_PRINT_CPUMASK:
		buf_printf(out, "__get_cpumask(%s)", arg->bitmask.bitmask);
		return;
	case TEP_PRINT_DYNAMIC_ARRAY:
		put_array(&arg->dynarray, depth, out);
		return;
	case TEP_PRINT_DYNAMIC_ARRAY_LEN:
		buf_printf(out, "__get_dynamic_array_len(%s)", arg->dynarray.field->name);
		return;
	case TEP_PRINT_OP:
		put_operation(&arg->op, depth, out);
		return;
	case TEP_PRINT_NULL:
	case TEP_PRINT_BSTRING: /* made while a text is printed */
	case TEP_PRINT_FUNC:    /* of plugins, which are not loaded */
		return;
	}
}

static void put_fields(const struct tep_format_field *fields, struct buf *out)
{
	for (const struct tep_format_field *f = fields; f; f = f->next) {
		/* an array's brackets stand behind its name, but for those that are elsewhere in the record */
		const char *brackets = f->flags & TEP_FIELD_IS_DYNAMIC ? NULL : strchr(f->type, '[');
		int type = brackets ? (int)(brackets - f->type) : (int)strlen(f->type);

		buf_printf(out, "\tfield:%.*s %s%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n", type, f->type, f->name,
			   brackets ? brackets : "", f->offset, f->size, (f->flags & TEP_FIELD_IS_SIGNED) != 0);
	}
	buf_printf(out, "\n");
}

void event_format_put_text(const struct tep_event *event, struct buf *out)
{
	buf_printf(out, "name: %s\nID: %d\nformat:\n", event->name, event->id);
	put_fields(event->format.common_fields, out);
	put_fields(event->format.fields, out);
	if (!event->print_fmt.format || event->flags & TEP_EVENT_FL_FAILED)
		return;
	buf_printf(out, "print fmt: \"%s\"", event->print_fmt.format);
	for (const struct tep_print_arg *a = event->print_fmt.args; a; a = a->next) {
		buf_printf(out, ", ");
		put_arg(a, 0, out);
	}
	buf_printf(out, "\n");
}
