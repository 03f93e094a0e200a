/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perf_line.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text_time.h"
#include "trace/format.h"

/* Words of tools/perf/util/trace-event-scripting.c: sample_flags[] */
static const struct {
	const char *name;
	enum perf_branch branch;
} kinds[] = {
	{ "call", PERF_CALL },         { "return", PERF_RETURN },         { "jcc", PERF_JUMP },
	{ "jmp", PERF_JUMP },          { "int", PERF_INTERRUPT },         { "iret", PERF_INTERRUPT_RETURN },
	{ "syscall", PERF_SYSCALL },   { "sysret", PERF_SYSCALL_RETURN }, { "async", PERF_ASYNC },
	{ "hw int", PERF_INTERRUPT },  { "tx abrt", PERF_JUMP },          { "vmentry", PERF_GUEST },
	{ "vmexit", PERF_GUEST_EXIT }, { "br miss", PERF_JUMP },
};

/* The same one by one, where no word stands for all of them: PERF_IP_FLAG_CHARS, in tools/perf/util/event.h */
#define LETTERS "bcrosyiABExghDtMN?"

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

static bool begins(const char *at, const char *word)
{
	return !strncmp(at, word, strlen(word));
}

/* NUL-terminated where blanks behind it begin. */
static void trim(char *begin, char *end)
{
	while (end > begin && isspace((unsigned char)end[-1]))
		end--;
	*end = 0;
}

/* The last word of what begins there and ends at *end, which is moved before it. NULL: there is none. */
static char *last_word(char *begin, char **end)
{
	char *at;

	trim(begin, *end);
	at = begin + strlen(begin);
	while (at > begin && !isspace((unsigned char)at[-1]))
		at--;
	*end = at;
	return *at ? at : NULL;
}

/* "123", "123/125", of which the thread's is the second; "-1" */
static bool parse_thread(const char *word, int32_t *ret)
{
	char *end;
	long tid = strtol(word, &end, 10);

	if (end == word || (*end && *end != '/'))
		return false;
	if (*end) {
		word = end + 1;
		tid = strtol(word, &end, 10);
		if (end == word || *end)
			return false;
	}
	if (tid > INT32_MAX || tid < -1)
		return false;
	*ret = (int32_t)tid;
	return true;
}

/* "[003]"; "[-01]" where it was not recorded */
static bool parse_cpu(const char *word, int *ret)
{
	char *end;
	long cpu;

	if (*word != '[')
		return false;
	cpu = strtol(word + 1, &end, 10);
	if (end == word + 1 || strcmp(end, "]") || cpu >= CPUS_MAX)
		return false;
	*ret = cpu < 0 ? PERF_NO_CPU : (int)cpu;
	return true;
}

/* "  my app  123/125 [003]", which the time stands behind. */
static bool parse_task(char *begin, char *end, struct perf_line *l)
{
	char *word = last_word(begin, &end);

	if (word && parse_cpu(word, &l->cpu))
		word = last_word(begin, &end);
	if (!word || !parse_thread(word, &l->tid))
		return false;
	trim(begin, end);
	l->comm = skip_blanks(begin);
	return true;
}

/* What stands behind the time. NULL: there is none, or no thread before it. */
static char *parse_head(char *text, struct perf_line *l)
{
	const char *end;

	for (char *at = text; *at; at++) {
		char *time = at, *rest;

		if ((at > text && !isspace((unsigned char)at[-1])) || !text_time_parse(at, &end, &l->ns) || *end != ':')
			continue;
		rest = text + (end - text) + 1;
		l->has_time = true;
		return parse_task(text, time, l) ? rest : NULL;
	}
	return NULL;
}

/* "period branches:uH:". False: it is another event's. What perf calls its own event may be left out. */
static bool skip_event(char **at)
{
	char *word = *at + strspn(*at, " \t"), *end;

	end = word + strspn(word, "0123456789");
	if (end > word && isspace((unsigned char)*end))
		word = end + strspn(end, " \t");
	end = word + strcspn(word, " \t");
	if (end == word || end[-1] != ':')
		return true;
	*at = end;
	return begins(word, "branches:");
}

static bool ends_word(char c)
{
	return !c || isspace((unsigned char)c) || c == '/' || c == '(';
}

static bool parse_word(char **at, struct perf_line *l)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		size_t n = strlen(kinds[i].name);

		if (begins(*at, kinds[i].name) && ends_word((*at)[n])) {
			l->branch = kinds[i].branch;
			*at += n;
			return true;
		}
	}
	return false;
}

static bool parse_letters(char **at, struct perf_line *l)
{
	size_t n = strspn(*at, LETTERS);
	bool has[128] = { 0 };

	if (!n || **at != 'b' || !ends_word((*at)[n]))
		return false;
	for (size_t i = 0; i < n; i++)
		has[(unsigned char)(*at)[i]] = true;
	l->begins |= has['B'];
	l->ends |= has['E'];
	if (has['c'])
		l->branch = has['s']   ? PERF_SYSCALL
			    : has['i'] ? PERF_INTERRUPT
			    : has['g'] ? PERF_GUEST
			    : has['h'] ? PERF_GUEST_EXIT
				       : PERF_CALL;
	else if (has['r'])
		l->branch = has['s'] ? PERF_SYSCALL_RETURN : has['i'] ? PERF_INTERRUPT_RETURN : PERF_RETURN;
	else if (!l->begins && !l->ends)
		l->branch = has['y'] ? PERF_ASYNC : PERF_JUMP;
	*at += n;
	return true;
}

/* "tr end  hw int", "jcc/miss,not_taken/", "call    (x)". False: there are none. */
static bool parse_flags(char **text, struct perf_line *l)
{
	char *at = *text + strspn(*text, " \t");
	bool any;

	for (int i = 0; i < 2; i++) {
		bool *set = begins(at, "tr strt") ? &l->begins : begins(at, "tr end") ? &l->ends : NULL;

		if (!set)
			continue;
		*set = true;
		at += strlen(set == &l->begins ? "tr strt" : "tr end");
		at += strspn(at, " \t");
	}
	any = parse_word(&at, l) || parse_letters(&at, l) || l->begins || l->ends;
	if (any && *at == '/') {
		at += 1 + strcspn(at + 1, "/ ");
		at += *at == '/';
	}
	*text = at;
	at += strspn(at, " \t");
	if (any && *at == '(' && at[1 + strspn(at + 1, "xDt")] == ')')
		*text = at + 2 + strspn(at + 1, "xDt");
	/* of what only begins or ends, newer ones say that it is a jump */
	if ((l->begins || l->ends) && l->branch == PERF_JUMP)
		l->branch = PERF_NO_BRANCH;
	return any;
}

/* The number that stands there as a word. */
static bool parse_address(const char *at, char **ret_end, uint64_t *ret)
{
	uint64_t address;

	if (!isxdigit((unsigned char)*at))
		return false;
	address = strtoull(at, ret_end, 16);
	if ((size_t)(*ret_end - at) > 16 || (**ret_end && !isspace((unsigned char)**ret_end)))
		return false;
	*ret = address;
	return true;
}

/* A part of a function that the compiler put elsewhere is no other function. */
static void cut_cold(char *name)
{
	char *cold = strstr(name, ".cold");

	if (cold && cold > name && (!cold[5] || (cold[5] == '.' && !cold[6 + strspn(cold + 6, "0123456789")])))
		*cold = 0;
}

/* "f(int)+0x4 (/usr/bin/app)" behind the address, of which each part may be missing. */
static void parse_symbol(char *at, struct perf_place *p)
{
	char *open, *plus, *end;

	at += strspn(at, " \t");
	trim(at, at + strlen(at));
	p->name = at;
	p->file = "";
	end = at + strlen(at);
	/* a file's name follows a blank, as a function's parameters do not */
	open = end > at && end[-1] == ')' ? strrchr(at, '(') : NULL;
	while (open && open > at && !isspace((unsigned char)open[-1])) {
		for (open--; open > at && *open != '('; open--)
			;
	}
	if (open && *open == '(') {
		end[-1] = 0;
		p->file = open + 1;
		trim(at, open);
	}
	plus = strrchr(at, '+');
	if (plus && begins(plus, "+0x")) {
		p->offset = strtoull(plus + 3, &end, 16);
		p->has_offset = end > plus + 3 && !*end;
		if (p->has_offset)
			*plus = 0;
	}
	if (!strcmp(at, "[unknown]"))
		*at = 0;
	cut_cold(at);
}

/* The last arrow that an address stands behind: names of functions may have some. */
static char *find_arrow(char *at)
{
	char *found = NULL, *end;
	uint64_t address;

	while ((at = strstr(at, "=> "))) {
		if (parse_address(skip_blanks(at + 2), &end, &address))
			found = at;
		at += 2;
	}
	return found;
}

/*
 * The address before the arrow. callindent puts a function's name before it, which may look like a number: then another
 * one follows.
 */
static bool parse_from(char *at, struct perf_place *p)
{
	char *end = NULL, *after = NULL;
	uint64_t other;

	at += strspn(at, " \t");
	while (*at && !parse_address(at, &end, &p->address)) {
		at += strcspn(at, " \t");
		at += strspn(at, " \t");
	}
	if (!*at)
		return false;
	while (parse_address(skip_blanks(end), &after, &other)) {
		p->address = other;
		end = after;
	}
	parse_symbol(end, p);
	return true;
}

/* What -F adds behind a branch: how fast, and of which instruction. */
static void cut_more(char *at)
{
	static const char *const words[] = { "\t IPC: ", " ilen: ", " insn: ", "\t\t" };
	char *found;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if ((found = strstr(at, words[i])))
			*found = 0;
}

static bool parse_places(char *at, struct perf_line *l)
{
	char *arrow = find_arrow(at), *end;

	if (!arrow)
		return false;
	*arrow = 0;
	if (!parse_address(skip_blanks(arrow + 2), &end, &l->to.address))
		return false;
	cut_more(end);
	parse_symbol(end, &l->to);
	return parse_from(at, &l->from);
}

/* "([kernel.kallsyms])\t        vfs_read"; an address without a name is 16 wide. False: it does not end so. */
static bool parse_indented(char *at, struct perf_line *l)
{
	enum { STEP = 4, WIDE = 16 };
	struct perf_place p = { .name = "", .file = "" };
	char *tab = strchr(at, '\t'), *end;
	size_t blanks, n;

	at += strspn(at, " ");
	if (*at != '(' || !tab || tab == at || tab[-1] != ')' || strstr(at, "=> "))
		return false;
	blanks = strspn(tab + 1, " ");
	p.name = tab + 1 + blanks;
	trim(tab + 1 + blanks, tab + strlen(tab));
	n = strlen(p.name);
	if (n < WIDE && blanks >= WIDE - n && parse_address(p.name, &end, &p.address)) {
		blanks -= WIDE - n;
		p.name = "";
	}
	l->depth = blanks / STEP > UINT16_MAX ? UINT16_MAX : (int)(blanks / STEP);
	l->from = l->to = p;
	return true;
}

/* " instruction trace error type 1 time 2.651285037 cpu -1 pid 12 tid 12 ip 0x7f59 code 7: Overflow packet" */
static bool parse_error(const char *text, struct perf_line *l)
{
	const char *at = skip_blanks(text), *time, *cpu, *tid, *end;
	long number;

	if (!begins(at, "instruction trace error type "))
		return false;
	time = strstr(at, " time ");
	cpu = strstr(at, " cpu ");
	tid = strstr(at, " tid ");
	l->has_time = time && text_time_parse(time + 6, &end, &l->ns);
	number = cpu ? strtol(cpu + 5, NULL, 10) : -1;
	l->cpu = number < 0 || number >= CPUS_MAX ? PERF_NO_CPU : (int)number;
	number = tid ? strtol(tid + 5, NULL, 10) : -1;
	l->tid = number < 0 || number > INT32_MAX ? -1 : (int32_t)number;
	l->is = PERF_LINE_ERROR;
	return true;
}

/* "PERF_RECORD_LOST lost 12", "PERF_RECORD_AUX offset: 0 size: 0x1000 flags: 0x1 [T]", of which T is for truncated */
static void parse_record(const char *at, struct perf_line *l)
{
	const char *lost = strstr(at, " lost ");

	if (begins(at, "PERF_RECORD_LOST")) {
		l->is = PERF_LINE_ERROR;
		l->count = lost ? strtoull(lost + 6, NULL, 10) : 0;
		if (l->count > UINT32_MAX)
			l->count = 0;
	} else if (begins(at, "PERF_RECORD_AUX ") && (lost = strstr(at, " flags: ")) && strchr(lost, 'T')) {
		l->is = PERF_LINE_ERROR;
	}
}

static void bad(struct perf_line *l, const char *why)
{
	l->is = PERF_LINE_BAD;
	l->why = why;
}

static void parse_branch(char *at, struct perf_line *l)
{
	const bool has_flags = parse_flags(&at, l);

	l->is = PERF_LINE_BRANCH;
	if (has_flags && parse_indented(at, l))
		return;
	if (!parse_places(at, l))
		bad(l, "a branch without the two addresses: 'perf script --itrace=cr -F +flags,+addr'");
	else if (!has_flags)
		bad(l, "a branch without its kind: 'perf script --itrace=cr -F +flags'");
}

void perf_line_parse(char *text, struct perf_line *ret)
{
	char *at, *word;

	*ret = (struct perf_line){
		.is = PERF_LINE_OTHER,
		.comm = "",
		.tid = -1,
		.cpu = PERF_NO_CPU,
		.depth = PERF_NO_DEPTH,
		.from = { .name = "", .file = "" },
		.to = { .name = "", .file = "" },
	};
	if (parse_error(text, ret))
		return;
	at = parse_head(text, ret);
	if (!at) {
		/* what belongs to the line before it begins with blanks, or with a source line's | */
		if (ret->has_time)
			bad(ret, "no thread before the time: 'perf script --itrace=cr -F +tid,+flags'");
		else if (strstr(text, " branches:"))
			bad(ret, "no time: 'perf script --itrace=cr -F +time,+flags'");
		else if (*text && !isspace((unsigned char)*text) && !strchr("#|", *text) && !begins(text, "Warning:") &&
			 !strstr(text, "instruction trace errors"))
			bad(ret, "no line of perf script's");
		return;
	}
	word = at + strspn(at, " \t");
	if (begins(word, "PERF_RECORD_"))
		parse_record(word, ret);
	else if (skip_event(&at))
		parse_branch(at, ret);
}
