/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script_live.h"

#include <string.h>

static bool is_call_of(const struct node *n, const char *const *names)
{
	if (n->kind != NODE_CALL)
		return false;
	while (*names && strcmp(n->text, *names))
		names++;
	return *names;
}

static bool is_said(const struct node *n)
{
	static const char *const names[] = { "printf", "print", "exit", "time", "join", NULL };

	if (!n)
		return false;
	for (size_t i = 0; i < n->n; i++)
		if (is_said(n->list[i]))
			return true;
	return is_call_of(n, names);
}

bool script_speaks(const struct script *p)
{
	for (size_t i = 0; i < p->n_handlers; i++) {
		const struct handler *h = &p->handlers[i];
		enum place_kind kind = h->n_places ? h->places[0].kind : PLACE_END;

		if (kind != PLACE_BEGIN && kind != PLACE_END && is_said(h->body))
			return true;
	}
	return false;
}

static const char *place_waits(const struct place_asked *place)
{
	switch (place->kind) {
	case PLACE_SPAN:
	case PLACE_WAIT:
		return "spans and waits";
	case PLACE_UPROBE:
	case PLACE_URETPROBE:
	case PLACE_CALL:
	case PLACE_CALL_END:
		return "names of programs' functions (kprobe and kretprobe are of the kernel's alone)";
	default:
		return NULL;
	}
}

const char *script_waits_for_end(const struct script *p)
{
	static const char *const user[] = { "ustack", "usym", NULL }, *const join[] = { "join", NULL };

	for (size_t i = 0; i < p->n_handlers; i++)
		for (size_t k = 0; k < p->handlers[i].n_places; k++)
			if (place_waits(&p->handlers[i].places[k]))
				return place_waits(&p->handlers[i].places[k]);
	for (const struct node *n = p->nodes; n; n = n->next) {
		if (is_call_of(n, user) || (n->kind == NODE_BUILTIN && n->number == BUILTIN_USTACK))
			return "names of programs' functions";
		if (is_call_of(n, join))
			return "the arguments of programs";
	}
	return NULL;
}
