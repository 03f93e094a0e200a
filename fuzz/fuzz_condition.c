/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A condition of --start and --stop. What it is made of stands in the text; the kind says which parts there are. */
#include "fuzz.h"

#include "select/condition.h"

static void look(const struct condition *c, const char *text)
{
	must(c->kind != CONDITION_NONE && c->nth && c->text && *c->text);
	must(strstr(text, c->text) != NULL);
	must(!c->object ||
	     ((c->kind == CONDITION_ENTRY || c->kind == CONDITION_EXIT) && *c->object && strstr(text, c->object)));
	must(c->kind == CONDITION_TIME || !c->ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct condition c;
	struct error err;

	must(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	if (condition_parse("start", text, &c, &err) == 0)
		look(&c, text);
	else
		must(!strncmp(err.text, "--start", 7));
	condition_deinit(&c);
	free(text);
	return 0;
}
