/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compiling.h"

#include <string.h>

#include "base/alloc.h"
#include "value.h"

size_t code_add(struct compiling *c, enum step_op op, unsigned flag, size_t a, uint64_t n, int effect)
{
	struct script_code *code = c->c;

	code->steps = array_grow(code->steps, code->n_steps, &code->steps_cap, sizeof *code->steps);
	code->steps[code->n_steps] =
		(struct step){ .op = (uint8_t)op, .flag = (uint8_t)flag, .a = (uint16_t)a, .n = n };
	c->depth = (unsigned)((int)c->depth + effect);
	if (c->depth > code->depth)
		code->depth = c->depth;
	return code->n_steps++;
}

size_t code_add_text(struct compiling *c, const char *text, size_t len)
{
	struct script_code *code = c->c;

	code->texts = array_grow(code->texts, code->n_texts, &code->texts_cap, sizeof *code->texts);
	code->texts[code->n_texts] = (struct code_text){ .text = xmalloc(len + 1), .len = len };
	memcpy(code->texts[code->n_texts].text, text, len);
	code->texts[code->n_texts].text[len] = 0;
	return code->n_texts++;
}

size_t code_add_type(struct compiling *c, const struct type *type)
{
	struct script_code *code = c->c;

	code->list = array_grow(code->list, code->n_list, &code->list_cap, sizeof *code->list);
	code->list[code->n_list] = *type;
	return code->n_list++;
}

void code_land(struct compiling *c, size_t jump)
{
	c->c->steps[jump].n = c->c->n_steps;
}

size_t code_map_number(const struct compiling *c, const struct node *map)
{
	return types_map(&c->c->types, map->text);
}

const struct map_asked *code_map(const struct compiling *c, const struct node *map)
{
	return &c->c->types.maps[code_map_number(c, map)];
}

bool code_keeps_bytes(const struct compiling *c, const struct node *node)
{
	const struct node *left = node->kind == NODE_ASSIGN ? node->list[0] : NULL;

	if (node->kind == NODE_CALL && !strcmp(node->text, "find"))
		left = node->list[2];
	if (left && left->kind == NODE_VARIABLE &&
	    type_has_bytes(&c->c->types.variables[types_variable(&c->c->types, c->handler, left->text)].type))
		return true;
	for (size_t i = 0; i < node->n; i++)
		if (code_keeps_bytes(c, node->list[i]))
			return true;
	return false;
}

bool code_makes_bytes(const struct node *node)
{
	bool ret = type_has_bytes(&node->type) && node->kind != NODE_TEXT && node->kind != NODE_BUILTIN;

	for (size_t i = 0; i < node->n && !ret; i++)
		ret = code_makes_bytes(node->list[i]);
	return ret;
}
