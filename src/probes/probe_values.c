/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe_values.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static void add(struct probe_values *v, const char *name, struct probe_type type, struct probe_code *code)
{
	unsigned same = 0;
	char *own = xstrdup(name);

	for (size_t i = 0; i < v->count;) {
		if (strcmp(v->list[i].name, own)) {
			i++;
			continue;
		}
		free(own);
		own = xasprintf("%s_%u", name, ++same);
		i = 0;
	}
	v->list = xreallocarray(v->list, v->count + 1, sizeof *v->list);
	v->list[v->count++] = (struct probe_value){ .name = own, .type = type, .code = *code };
	*code = (struct probe_code){ 0 };
}

void probe_values_add(struct probe_values *v, const char *name, struct probe_type type, struct probe_code *code)
{
	enum { WORD = 8 };

	if (type.format != PROBE_STRING || !type.count) {
		add(v, name, type, code);
		return;
	}
	for (unsigned i = 0; i < type.count; i++) {
		struct probe_code one = { 0 };

		probe_code_add_all(&one, code);
		probe_code_add_behind(&one, WORD * (int64_t)i);
		probe_code_add(&one, PROBE_OP_READ, WORD);
		add(v, name, (struct probe_type){ .format = PROBE_STRING }, &one);
	}
	probe_code_deinit(code);
}

void probe_values_deinit(struct probe_values *v)
{
	for (size_t i = 0; i < v->count; i++) {
		free(v->list[i].name);
		free(v->list[i].words);
		probe_code_deinit(&v->list[i].code);
	}
	free(v->list);
	*v = (struct probe_values){ 0 };
}

void probe_code_add_argument(struct probe_code *c, bool returns, unsigned i)
{
	enum { WORD = 8, IN_REGISTERS = 6 };
	int reg = probe_register_of_parameter(i);

	if (reg >= 0) {
		probe_code_add_entry(c, returns, reg);
		return;
	}
	probe_code_add(c, PROBE_OP_REGISTER, PROBE_RSP);
	probe_code_add_behind(c, WORD * ((int64_t)i - IN_REGISTERS + 1)); /* behind the return address */
	probe_code_add(c, PROBE_OP_READ, WORD);
}

void probe_code_add_entry(struct probe_code *c, bool returns, int reg)
{
	if (!returns) {
		probe_code_add(c, PROBE_OP_REGISTER, reg);
		return;
	}
	probe_code_add(c, PROBE_OP_REGISTER, PROBE_RSP);
	probe_code_add(c, PROBE_OP_ENTRY, reg);
}
