/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "types.h"

#include <string.h>

#include "base/alloc.h"
#include "base/near.h"

#define CHANGES "a trace is of what was: what would change the guest is not there"
#define HOST "programs run nothing on this machine, and read none of its files: they may come from anybody"

static const struct function functions[] = {
	{ "count", FUNCTION_COUNT, 0, 0, TYPE_AGGREGATE, COUNT, NULL, NULL },
	{ "sum", FUNCTION_SUM, 1, 1, TYPE_AGGREGATE, SUM, NULL, NULL },
	{ "avg", FUNCTION_AVG, 1, 1, TYPE_AGGREGATE, AVG, NULL, NULL },
	{ "min", FUNCTION_MIN, 1, 1, TYPE_AGGREGATE, MIN, NULL, NULL },
	{ "max", FUNCTION_MAX, 1, 1, TYPE_AGGREGATE, MAX, NULL, NULL },
	{ "stats", FUNCTION_STATS, 1, 1, TYPE_AGGREGATE, STATS, NULL, NULL },
	{ "hist", FUNCTION_HIST, 1, 2, TYPE_AGGREGATE, HIST, NULL, NULL },
	{ "lhist", FUNCTION_LHIST, 4, 4, TYPE_AGGREGATE, LHIST, NULL, NULL },
	{ "tseries", FUNCTION_TSERIES, 3, 4, TYPE_AGGREGATE, TSERIES, NULL, NULL },
	{ "printf", FUNCTION_PRINTF, 1, 64, TYPE_NONE, AGGREGATE_NONE, NULL, "t" },
	{ "print", FUNCTION_PRINT, 1, 3, TYPE_NONE, AGGREGATE_NONE, NULL, NULL },
	{ "clear", FUNCTION_CLEAR, 1, 1, TYPE_NONE, AGGREGATE_NONE, NULL, NULL },
	{ "zero", FUNCTION_ZERO, 1, 1, TYPE_NONE, AGGREGATE_NONE, NULL, NULL },
	{ "delete", FUNCTION_DELETE, 1, 2, TYPE_NONE, AGGREGATE_NONE, NULL, NULL },
	{ "exit", FUNCTION_EXIT, 0, 1, TYPE_NONE, AGGREGATE_NONE, NULL, "n" },
	{ "time", FUNCTION_TIME, 0, 1, TYPE_NONE, AGGREGATE_NONE, NULL, "t" },
	{ "str", FUNCTION_STR, 1, 2, TYPE_TEXT, AGGREGATE_NONE, NULL, NULL },
	{ "ksym", FUNCTION_KSYM, 1, 1, TYPE_TEXT, AGGREGATE_NONE, NULL, "n" },
	{ "usym", FUNCTION_USYM, 1, 1, TYPE_TEXT, AGGREGATE_NONE, NULL, "n" },
	{ "kstack", FUNCTION_KSTACK, 0, 2, TYPE_KSTACK, AGGREGATE_NONE, NULL, NULL },
	{ "ustack", FUNCTION_USTACK, 0, 2, TYPE_USTACK, AGGREGATE_NONE, NULL, NULL },
	{ "strftime", FUNCTION_STRFTIME, 2, 2, TYPE_TEXT, AGGREGATE_NONE, NULL, "tn" },
	{ "strncmp", FUNCTION_STRNCMP, 3, 3, TYPE_NUMBER, AGGREGATE_NONE, NULL, "ttn" },
	{ "strlen", FUNCTION_STRLEN, 1, 1, TYPE_NUMBER, AGGREGATE_NONE, NULL, "t" },
	{ "strcontains", FUNCTION_STRCONTAINS, 2, 2, TYPE_NUMBER, AGGREGATE_NONE, NULL, "tt" },
	{ "has_key", FUNCTION_HAS_KEY, 2, 2, TYPE_NUMBER, AGGREGATE_NONE, NULL, NULL },
	{ "find", FUNCTION_FIND, 3, 3, TYPE_NUMBER, AGGREGATE_NONE, NULL, NULL },
	{ "len", FUNCTION_LEN, 1, 1, TYPE_NUMBER, AGGREGATE_NONE, NULL, NULL },
	{ "ntop", FUNCTION_NTOP, 1, 2, TYPE_TEXT, AGGREGATE_NONE, NULL, "nn" },
	{ "bswap", FUNCTION_BSWAP, 1, 1, TYPE_NUMBER, AGGREGATE_NONE, NULL, "n" },
	{ "strerror", FUNCTION_STRERROR, 1, 1, TYPE_TEXT, AGGREGATE_NONE, NULL, "n" },
	{ "signal_name", FUNCTION_SIGNAL_NAME, 1, 1, TYPE_TEXT, AGGREGATE_NONE, NULL, "n" },
	{ "syscall_name", FUNCTION_SYSCALL_NAME, 1, 1, TYPE_TEXT, AGGREGATE_NONE, NULL, "n" },
	{ "kptr", FUNCTION_POINTER, 1, 1, TYPE_NUMBER, AGGREGATE_NONE, NULL, "n" },
	{ "uptr", FUNCTION_POINTER, 1, 1, TYPE_NUMBER, AGGREGATE_NONE, NULL, "n" },
	{ "kaddr", FUNCTION_KADDR, 1, 1, TYPE_NUMBER, AGGREGATE_NONE, NULL, "t" },
	{ "nsecs", FUNCTION_NSECS, 0, 1, TYPE_NUMBER, AGGREGATE_NONE, NULL, NULL },
	{ "system", FUNCTION_REFUSED, 0, 64, TYPE_NONE, AGGREGATE_NONE, HOST, NULL },
	{ "cat", FUNCTION_REFUSED, 0, 64, TYPE_NONE, AGGREGATE_NONE, HOST, NULL },
	{ "signal", FUNCTION_REFUSED, 0, 64, TYPE_NONE, AGGREGATE_NONE, CHANGES, NULL },
	{ "override", FUNCTION_REFUSED, 0, 64, TYPE_NONE, AGGREGATE_NONE, CHANGES, NULL },
	{ "skboutput", FUNCTION_REFUSED, 0, 64, TYPE_NONE, AGGREGATE_NONE, "packets' contents are not recorded", NULL },
	{ "join", FUNCTION_JOIN, 1, 2, TYPE_NONE, AGGREGATE_NONE, NULL, NULL },
	{ "buf", FUNCTION_BUF, 1, 2, TYPE_TEXT, AGGREGATE_NONE, NULL, NULL },
	{ "cgroupid", FUNCTION_REFUSED, 0, 64, TYPE_NONE, AGGREGATE_NONE, "a trace has no numbers of control groups",
	  NULL },
	{ "cgroup_path", FUNCTION_REFUSED, 0, 64, TYPE_NONE, AGGREGATE_NONE, "a trace has no numbers of control groups",
	  NULL },
	{ "reg", FUNCTION_REG, 1, 1, TYPE_NUMBER, AGGREGATE_NONE, NULL, "t" },
	{ "uaddr", FUNCTION_REFUSED, 0, 64, TYPE_NONE, AGGREGATE_NONE, "addresses of programs' data are not in a trace",
	  NULL },
	{ "path", FUNCTION_REFUSED, 0, 64, TYPE_NONE, AGGREGATE_NONE, "it is a helper of the running kernel's", NULL },
	{ "macaddr", FUNCTION_MACADDR, 1, 1, TYPE_TEXT, AGGREGATE_NONE, NULL, NULL },
	{ "unwatch", FUNCTION_REFUSED, 0, 64, TYPE_NONE, AGGREGATE_NONE, "single accesses to memory are not recorded",
	  NULL },
	{ "pton", FUNCTION_REFUSED, 0, 64, TYPE_NONE, AGGREGATE_NONE, "ntop(address) == \"127.0.0.1\" asks the same",
	  NULL },
	{ "getopt", FUNCTION_REFUSED, 0, 64, TYPE_NONE, AGGREGATE_NONE, "what a program is given is $1, $2 …", NULL },
	{ "debugf", FUNCTION_REFUSED, 0, 64, TYPE_NONE, AGGREGATE_NONE, CHANGES, NULL },
};

enum { FUNCTIONS = sizeof functions / sizeof *functions };

const struct function *function_find(const char *name)
{
	for (size_t i = 0; i < FUNCTIONS; i++)
		if (!strcmp(functions[i].name, name))
			return &functions[i];
	return NULL;
}

const char *function_nearest(const char *name)
{
	const char *names[FUNCTIONS + 1] = { NULL };

	for (size_t i = 0; i < FUNCTIONS; i++)
		names[i] = functions[i].name;
	return near_best(name, strlen(name), names);
}
