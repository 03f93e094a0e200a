/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "function_name.h"

#include <ctype.h>
#include <string.h>

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static bool ends(const char *name, const char *with)
{
	size_t n = strlen(name), m = strlen(with);

	return n >= m && !strcmp(name + n - m, with);
}

/* Behind digits, and an underscore; NULL: there are none. */
static const char *behind_number(const char *p)
{
	const char *digits = p;

	while (isdigit((unsigned char)*p))
		p++;
	return p > digits && *p == '_' ? p + 1 : NULL;
}

/* "__initstub__kmod_MODULE__COUNTER_LINE_FUNCTIONLEVEL": where the function's name begins; NULL: it is no such name. */
static const char *stub_function(const char *symbol)
{
	const char *p = symbol;

	if (!begins(symbol, "__initstub__kmod_"))
		return NULL;
	while ((p = strstr(p + 2, "__"))) {
		const char *line = behind_number(p + 2), *function = line ? behind_number(line) : NULL;

		if (function && *function)
			return function;
	}
	return NULL;
}

/* The length of the initcall's name without its level: include/linux/init.h. */
static size_t without_level(const char *function, size_t len)
{
	static const char *const levels[] = { "early", "rootfs", "con" };

	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
		size_t n = strlen(levels[i]);

		if (len > n && !memcmp(function + len - n, levels[i], n))
			return len - n;
	}
	if (len > 2 && function[len - 1] == 's' && isdigit((unsigned char)function[len - 2]))
		return len - 2;
	return len > 1 && isdigit((unsigned char)function[len - 1]) ? len - 1 : len;
}

struct function_name function_name_shown(const char *symbol)
{
	const char *llvm = strstr(symbol, ".llvm."), *stub = stub_function(symbol);
	size_t len = llvm && llvm > symbol ? (size_t)(llvm - symbol) : strlen(symbol);

	if (stub && stub < symbol + len)
		return (struct function_name){ stub, without_level(stub, len - (size_t)(stub - symbol)) };
	return (struct function_name){ symbol, len };
}

/* The length without one ending of a compiler's: ".cold", ".isra.0". */
static size_t without_ending(const char *name, size_t len)
{
	static const char *const endings[] = { ".isra", ".constprop", ".part", ".cold" };
	size_t n = len;

	while (n && isdigit((unsigned char)name[n - 1]))
		n--;
	n = n && n < len && name[n - 1] == '.' ? n - 1 : len;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t m = strlen(endings[i]);

		if (n > m && !memcmp(name + n - m, endings[i], m))
			return n - m;
	}
	return len;
}

size_t function_name_source(const char *shown, size_t len)
{
	for (size_t shorter; (shorter = without_ending(shown, len)) < len;)
		len = shorter;
	return len;
}

bool function_name_is_none(const char *symbol)
{
	return begins(symbol, "__pfx_") || begins(symbol, "__cfi_") || !strcmp(symbol, "_etext") ||
	       !strcmp(symbol, "_einittext") || ends(symbol, "_text_end");
}

bool function_name_is_mark(const char *symbol)
{
	return !strcmp(symbol, "_text") || !strcmp(symbol, "_stext") || !strcmp(symbol, "_sinittext") ||
	       ends(symbol, "_text_start");
}
