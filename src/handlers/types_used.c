/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of the values that were found are asked for: of $sk->__sk_common.skc_family that one, and not what leads to it,
 * which may be a structure and no value at all.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "reads.h"
#include "typing.h"

static void use_number(bool *used, long field)
{
	if (field >= 0)
		used[field] = true;
}

/* The argument that a function reads by: the address behind ntop()'s family, the first one of others. */
static const struct node *read_argument(const struct node *call)
{
	return call->n ? call->list[!strcmp(call->text, "ntop") ? call->n - 1 : 0] : call;
}

static void use(const struct node *node, bool *used);

/* The program's own address of what is read: what a variable has, or a map by its key. */
static void use_address(const struct node *node, bool *used)
{
	if (node->kind != NODE_MAP && node->kind != NODE_VARIABLE)
		use(node, used);
	for (size_t i = 0; node->kind == NODE_MAP && i < node->n; i++)
		use(node->list[i], used);
}

/* As the program is compiled: what is read itself has nothing else below it that is. */
static void use(const struct node *node, bool *used)
{
	bool is_call = node->kind == NODE_CALL, is_read = node->field >= 0;
	const struct node *read = !is_read ? NULL : is_call ? read_argument(node) : node;

	use_number(used, node->field);
	use_number(used, is_read ? node->kept : -1);
	if (is_read && node->kept >= 0)
		use_address(reads_begin(read), used);
	for (size_t i = 0; i < node->n && (is_call || !is_read); i++)
		if (node->list[i] && node->list[i] != read)
			use(node->list[i], used);
}

static long moved(const long *numbers, long field)
{
	return field < 0 ? -1 : numbers[field];
}

void typing_drop_unused(struct typing *t)
{
	struct types *all = t->t;
	cleanup_free bool *used = xcalloc(all->n_fields + 1, sizeof *used);
	cleanup_free long *numbers = xcalloc(all->n_fields + 1, sizeof *numbers);
	size_t n = 0;

	for (size_t i = 0; i < t->p->n_handlers; i++) {
		if (t->p->handlers[i].predicate)
			use(t->p->handlers[i].predicate, used);
		use(t->p->handlers[i].body, used);
	}
	for (size_t i = 0; i < all->n_fields; i++) {
		numbers[i] = used[i] ? (long)n : -1;
		if (used[i])
			all->fields[n++] = all->fields[i];
		else
			free(all->fields[i].text);
	}
	all->n_fields = n;
	for (struct node *node = t->p->nodes; node; node = node->next) {
		node->field = moved(numbers, node->field);
		node->kept = moved(numbers, node->kept);
	}
}
