/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "syscall_places.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "arch/syscall_args.h"
#include "arch/syscall_fields.h"
#include "base/alloc.h"

static const char enter[] = "sys_enter_", leave[] = "sys_exit_", argument[] = "$sysarg(";

static bool begins_with(const char *text, const char *begin)
{
	return !strncmp(text, begin, strlen(begin));
}

static bool is_call(const struct place_asked *place)
{
	return syscall_place_is(place) && !strpbrk(place->name, "*?[") &&
	       (begins_with(place->name, enter) || begins_with(place->name, leave));
}

bool syscall_place_is(const struct place_asked *place)
{
	return place->kind == PLACE_TRACEPOINT && place->object && !strcmp(place->object, "syscalls");
}

bool syscall_place_reads(const char *text)
{
	return strstr(text, "->") || strchr(text, '[') || strchr(text, '{');
}

static bool is_begin_of(const struct place_asked *place, const char *call)
{
	cleanup_free char *name = xasprintf("%s%s", enter, syscall_tracepoint(call));

	return !fnmatch(place->name, name, 0);
}

char syscall_place_kind(const struct place_asked *place, const struct syscall_abi *abi, const char *name, size_t len)
{
	enum { CALLS = 512 };

	for (uint64_t nr = 0; nr < CALLS; nr++) {
		const char *call = abi->call_name(nr), *kinds = abi->call_args(nr);
		int arg = call && is_begin_of(place, call) ? syscall_field(call, name, len) : -1;

		if (arg >= 0)
			return kinds && (size_t)arg < strlen(kinds) ? kinds[arg] : ARG_ADDRESS;
	}
	return '\0';
}

bool syscall_place_keeps(const struct place_asked *place, const char *name)
{
	static const char kept[] = { ARG_PATH, ARG_BYTES, ARG_DATAGRAM, ARG_ARGUMENTS, 0 };
	char kind = syscall_place_kind(place, &arch_x86_64.abis[0], name, strlen(name));

	return !kind || !is_call(place) || strchr(kept, kind);
}

static void move(struct place_asked *place)
{
	bool enters = begins_with(place->name, enter);
	const char *call = place->name + strlen(enters ? enter : leave);

	place->call = xstrdup(syscall_of_tracepoint(call));
	place->kind = enters ? PLACE_ENTRY : PLACE_RETURN;
	call = xasprintf("__x64_sys_%s", call);
	free(place->name);
	place->name = (char *)call;
	free(place->object);
	place->object = NULL;
}

int syscall_places_move(const struct script *p, struct handler *h, struct error *err)
{
	for (size_t i = 0; i < h->n_places; i++)
		if (!is_call(&h->places[i]))
			return script_error(p, h->places[i].at, h->places[i].len, err,
					    "memory is read here: expected one system call's sys_enter_NAME or "
					    "sys_exit_NAME, or a function of the kernel");
	for (size_t i = 0; i < h->n_places; i++)
		move(&h->places[i]);
	return 0;
}

void syscall_place_put_argument(const struct place_asked *place, const char *name, struct buf *out)
{
	if (place->kind == PLACE_RETURN && !strcmp(name, "ret"))
		buf_printf(out, "$retval");
	else
		buf_printf(out, "%s%s)", argument, name);
}

/* Behind the next argument's name; NULL: there is none more. */
static const char *next_argument(const char *text, const char **ret_name, size_t *ret_len)
{
	const char *at = strstr(text, argument);

	if (!at)
		return NULL;
	*ret_name = at + strlen(argument);
	*ret_len = strcspn(*ret_name, ")");
	return *ret_name + *ret_len + 1;
}

bool syscall_place_has(const struct place_asked *place, const char *text, struct error *err)
{
	const char *name, *all = syscall_fields(place->call);
	size_t len;

	while ((text = next_argument(text, &name, &len)))
		if (place->kind != PLACE_ENTRY || syscall_field(place->call, name, len) < 0) {
			error_set(err, "%s has no %.*s: it has %s", place->text, (int)len, name,
				  place->kind != PLACE_ENTRY ? "ret"
				  : all                      ? all
							     : "names that are not known here");
			return false;
		}
	return true;
}

/* Its registers are the function's one argument: struct pt_regs, arch/x86/include/asm/syscall_wrapper.h */
void syscall_place_put(const struct place_asked *place, const char *text, struct buf *out)
{
	static const char *const registers[] = { "di", "si", "dx", "r10", "r8", "r9" };
	const char *name, *next;
	size_t len;

	for (; (next = next_argument(text, &name, &len)); text = next) {
		int i = syscall_field(place->call, name, len);

		buf_put(out, text, (size_t)(name - text) - strlen(argument));
		buf_printf(out, "((pt_regs*)$arg1)->%s", registers[i < 0 || i > 5 ? 0 : i]);
	}
	buf_printf(out, "%s", text);
}
