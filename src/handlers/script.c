/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "constants.h"

const char *const builtin_names[BUILTINS + 1] = {
	[BUILTIN_PID] = "pid",
	[BUILTIN_TID] = "tid",
	[BUILTIN_PPID] = "ppid",
	[BUILTIN_COMM] = "comm",
	[BUILTIN_PCOMM] = "pcomm",
	[BUILTIN_CPU] = "cpu",
	[BUILTIN_NSECS] = "nsecs",
	[BUILTIN_ELAPSED] = "elapsed",
	[BUILTIN_CURTASK] = "curtask",
	[BUILTIN_UID] = "uid",
	[BUILTIN_GID] = "gid",
	[BUILTIN_RAND] = "rand",
	[BUILTIN_KSTACK] = "kstack",
	[BUILTIN_USTACK] = "ustack",
	[BUILTIN_FUNC] = "func",
	[BUILTIN_PROBE] = "probe",
	[BUILTIN_PROBE_TYPE] = "probetype",
	[BUILTIN_USER_MODE] = "usermode",
	[BUILTIN_RETVAL] = "retval",
	[BUILTIN_ARGS] = "args",
	[BUILTIN_ARG0] = "arg0",
	[BUILTIN_ARG1] = "arg1",
	[BUILTIN_ARG2] = "arg2",
	[BUILTIN_ARG3] = "arg3",
	[BUILTIN_ARG4] = "arg4",
	[BUILTIN_ARG5] = "arg5",
	[BUILTIN_SARG0] = "sarg0",
	[BUILTIN_SARG1] = "sarg1",
	[BUILTIN_SARG2] = "sarg2",
	[BUILTIN_SARG3] = "sarg3",
	[BUILTIN_SARG4] = "sarg4",
	[BUILTIN_SARG5] = "sarg5",
	[BUILTIN_NCPUS] = "ncpus",
	[BUILTIN_INSNS] = "insns",
	[BUILTIN_SELF_NS] = "self_ns",
	[BUILTIN_SELF_INSNS] = "self_insns",
	[BUILTIN_DURATION] = "duration",
	[BUILTIN_DEPTH] = "stack",
};

int builtin_find(const char *name, size_t len)
{
	for (int i = 0; i < BUILTINS; i++)
		if (strlen(builtin_names[i]) == len && !memcmp(builtin_names[i], name, len))
			return i;
	return -1;
}

struct node *script_node(struct script *p, enum node_kind kind, const char *at, size_t len, size_t n)
{
	struct node *node = xcalloc(1, sizeof *node);

	node->kind = kind;
	node->at = at;
	node->len = len;
	node->field = node->kept = -1;
	node->n = n;
	node->list = n ? xcalloc(n, sizeof(struct node *)) : NULL;
	node->next = p->nodes;
	p->nodes = node;
	p->n_nodes++;
	return node;
}

void *script_alloc(struct script *p, size_t n, size_t size)
{
	p->owned = array_grow(p->owned, p->n_owned, &p->owned_cap, sizeof *p->owned);
	return p->owned[p->n_owned++] = xcalloc(n, size);
}

bool script_loose(const struct script *p, const char *name)
{
	for (size_t i = 0; i < p->n_defines; i++)
		if (!strcmp(p->defines[i].name, name))
			return p->defines[i].loose;
	return false;
}

bool script_constant(const struct script *p, const char *name, uint64_t *ret)
{
	for (size_t i = 0; i < p->n_defines; i++)
		if (!strcmp(p->defines[i].name, name)) {
			*ret = p->defines[i].value;
			return true;
		}
	return constant_find(name, ret);
}

void script_forget(struct script *p)
{
	for (struct node *node = p->nodes; node; node = node->next) {
		node->field = node->kept = -1;
		if (node->kind != NODE_CAST)
			node->type = (struct type){ 0 };
		/* texts and formats have numbers once they are compiled */
		if (node->kind == NODE_TEXT || node->kind == NODE_CALL)
			node->number = 0;
	}
}

void script_free(struct script *p)
{
	for (size_t i = 0; i < p->n_defines; i++)
		free(p->defines[i].name);
	free(p->defines);
	for (size_t i = 0; i < p->n_handlers; i++) {
		struct handler *h = &p->handlers[i];

		for (size_t k = 0; k < h->n_places; k++) {
			free(h->places[k].text);
			free(h->places[k].object);
			free(h->places[k].call);
			free(h->places[k].provider);
			free(h->places[k].name);
		}
		free(h->places);
	}
	free(p->handlers);
	free(p->macros);
	free(p->bounds);
	for (struct node *node = p->nodes, *next; node; node = next) {
		next = node->next;
		free(node->text);
		free(node->list);
		free(node);
	}
	for (size_t i = 0; i < p->n_owned; i++)
		free(p->owned[i]);
	free(p->owned);
	free(p->source);
	*p = (struct script){ 0 };
}

int script_parameter(const struct script *p, const struct node *node, uint64_t *ret, struct error *err)
{
	const char *text = node->number && node->number <= p->n_parameters ? p->parameters[node->number - 1] : "";
	char *end;

	*ret = node->number ? strtoull(text, &end, 0) : p->n_parameters;
	if (node->number && *text && (end == text || *end))
		return script_error(p, node->at, node->len, err,
				    "\"%.60s\" is no number: expected one, or str($%d) here", text, (int)node->number);
	return 0;
}

enum { LINE_SHOWN = 100 };

int script_error(const struct script *p, const char *at, size_t len, struct error *err, const char *fmt, ...)
{
	const char *line = at, *end = at;
	size_t number = 1, before, shown, marks;
	char message[300], shown_line[LINE_SHOWN + 1], under[LINE_SHOWN + 1];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof message, fmt, ap);
	va_end(ap);
	while (line > p->source && line[-1] != '\n')
		line--;
	for (const char *c = p->source; c < line; c++)
		number += *c == '\n';
	end = line + strcspn(line, "\n");
	before = (size_t)(at - line);
	error_set(err, "%s:%zu:%zu: %s", p->name, number, before + 1, message);
	/* of a long line, what is around the word */
	if (before > LINE_SHOWN / 2) {
		line = at - LINE_SHOWN / 2;
		before = LINE_SHOWN / 2;
	}
	shown = (size_t)(end - line) < LINE_SHOWN ? (size_t)(end - line) : LINE_SHOWN;
	marks = len && before + len <= LINE_SHOWN ? len : 1;
	for (size_t i = 0; i < shown; i++)
		shown_line[i] = line[i] == '\t' ? ' ' : line[i];
	memset(under, '~', marks);
	under[0] = '^';
	snprintf(err->text + strlen(err->text), sizeof err->text - strlen(err->text), "\n    %.*s\n    %*s%.*s",
		 (int)shown, shown_line, (int)before, "", (int)marks, under);
	err->has_lines = true;
	return -1;
}
