/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a trace of lines on stdin, for tests that need one in which something is as no recorder writes it. Words of a
 * line are separated by spaces, numbers are as in C:
 *
 *   meta KEY VALUE…      end KEY VALUE…        lines of META and of END; END's replace what is computed
 *   symbol ADDRESS SIZE NAME                   a function of the kernel; addresses rise
 *   task CHANGE CPU NS INSNS TASK MM PID TGID PPID COMM [EXE]
 *   fact KIND CPU NS INSNS TASK [NUMBER…]      of a kind without texts, as info --json names it
 *   log CPU NS INSNS TASK NUMBER LEVEL WORD…   a line of the kernel's log; '~' is a space
 *   told KIND CPU NS INSNS TASK NUMBER WORD…   a fact with one number and one text; likewise
 *   module CPU NS INSNS START SIZE NAME        it is loaded, and is one function of that name
 *   freed CPU NS INSNS START                   what begins there is gone
 *   map MM START SIZE FILE-SIZE PATH
 *   function OFFSET SIZE NAME FILE-SIZE PATH   of the one file that has functions; offsets in it rise
 *   content MM START NUMBER [BYTES]            what is mapped there: BYTES are the payload, in hexadecimal digits
 *   event CPU KIND INSNS NS SLOT FROM TARGET [ARGUMENT…]      kinds as dump prints them
 *   chunk CPU                                  the vCPU's events from here on are in another chunk
 * behind CPU INSNS NS PLACE TASK             likewise, and a gap is before it, behind which that is the state: an event
 * gap comes next
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "symbols/symtab_codec.h"
#include "trace/code_records.h"
#include "trace/codec.h"
#include "trace/facts.h"
#include "trace/meta.h"
#include "trace/task_records.h"
#include "trace/writer.h"

enum { CPUS = 64, WORDS = 24, LEVEL = 1, CALL_LENGTH = 5, JUMP_LENGTH = 2 };

static struct {
	struct buf meta, end, tasks, facts, code;
	struct symtab symbols, functions; /* the kernel's, and those of `file` */
	size_t symbols_cap, functions_cap;
	struct code_file file;
	struct sites sites;
	struct lane {
		struct encoder *encoder;
		bool seen, behind_gap;
		uint64_t insns;
		uint64_t place; /* where control is */
	} lanes[CPUS];
	struct item {
		struct chunk_header header;
		struct buf payload;
	} *chunks;
	size_t n_chunks, chunks_cap;
	uint64_t events;
} made;

static void fail(const char *why, const char *what)
{
	fprintf(stderr, "make_trace: %s: %s\n", why, what);
	exit(1);
}

static uint64_t number(const char *word)
{
	char *end;
	uint64_t n = strtoull(word, &end, 0);

	if (*end || !*word)
		fail("not a number", word);
	return n;
}

static void add_symbol(struct symtab *tab, size_t *cap, char **words)
{
	size_t len = strlen(words[3]) + 1;
	uint64_t addr = number(words[1]);

	if (!tab->n_sections) {
		tab->n_sections = 2;
		tab->sections = xcalloc(2, sizeof *tab->sections);
		tab->sections[0].end = UINT64_MAX;
		tab->sections[1] = (struct symtab_section){ .addr = addr, .name = ".text" };
	}
	tab->symbols = array_grow(tab->symbols, tab->count, cap, sizeof *tab->symbols);
	tab->symbols[tab->count++] = (struct symbol){
		.addr = addr, .end = addr + number(words[2]), .name = (uint32_t)tab->names_len, .section = 1,
	};
	tab->sections[1].end = tab->symbols[tab->count - 1].end;
	tab->names = xreallocarray(tab->names, tab->names_len + len, 1);
	memcpy(tab->names + tab->names_len, words[3], len);
	tab->names_len += len;
}

static void add_function(char **words)
{
	add_symbol(&made.functions, &made.functions_cap, words);
	if (!made.file.path)
		made.file = (struct code_file){ .path = xstrdup(words[5]), .size = number(words[4]) };
}

static void add_task(char **words, unsigned n)
{
	task_record_put(&made.tasks, &(struct task_record){
		.change = (enum task_change)number(words[1]), .cpu = (uint32_t)number(words[2]), .ns = number(words[3]),
		.insns = number(words[4]), .task = number(words[5]), .mm = number(words[6]),
		.pid = (int32_t)number(words[7]),
		.tgid = (int32_t)number(words[8]), .ppid = (int32_t)number(words[9]), .comm = words[10],
		.exe = n > 11 ? words[11] : "",
	});
}

static enum fact_kind fact_kind(const char *name)
{
	enum fact_kind kind = 1;

	while (kind < FACT_KINDS && strcmp(name, fact_kind_name(kind)))
		kind++;
	if (kind == FACT_KINDS)
		fail("no such fact", name);
	return kind;
}

static void add_fact(char **words, unsigned n)
{
	struct fact f = { .kind = fact_kind(words[1]), .cpu = (uint32_t)number(words[2]), .ns = number(words[3]),
			  .insns = number(words[4]), .task = number(words[5]) };

	if (n > 6 + FACT_NUMBERS)
		fail("too many numbers", words[1]);
	for (unsigned i = 6; i < n; i++)
		f.numbers[f.n_numbers++] = number(words[i]);
	fact_put(&made.facts, &f);
}

/* Its text is the words; '~' is a space. */
static void put_text(struct fact *f, char **words, unsigned n)
{
	struct buf text = { 0 };

	for (unsigned i = 0; i < n; i++)
		buf_printf(&text, "%s%s", i ? " " : "", words[i]);
	for (size_t i = 0; i < text.len; i++)
		text.data[i] = text.data[i] == '~' ? ' ' : text.data[i];
	f->n_texts = 1;
	f->texts[0] = (char *)text.data;
	f->lens[0] = text.len;
	fact_put(&made.facts, f);
	buf_free(&text);
}

static void add_log(char **words, unsigned n)
{
	struct fact f = {
		.kind = FACT_LOG, .cpu = (uint32_t)number(words[1]), .ns = number(words[2]), .insns = number(words[3]),
		.task = number(words[4]), .numbers = { number(words[5]), number(words[6]), 0 }, .n_numbers = 3,
	};

	put_text(&f, words + 7, n - 7);
}

static void add_told(char **words, unsigned n)
{
	struct fact f = {
		.kind = fact_kind(words[1]), .cpu = (uint32_t)number(words[2]), .ns = number(words[3]),
		.insns = number(words[4]), .task = number(words[5]), .numbers = { number(words[6]) }, .n_numbers = 1,
	};

	put_text(&f, words + 7, n - 7);
}

static void add_module(char **words)
{
	char *symbol[] = { words[0], words[4], words[5], words[6] };
	struct symtab tab = { 0 };
	struct buf symbols = { 0 };
	size_t cap = 0;

	add_symbol(&tab, &cap, symbol);
	symtab_encode(&tab, &symbols);
	code_record_put(&made.code, &(struct code_record){
		.change = CODE_MODULE, .cpu = (uint32_t)number(words[1]), .ns = number(words[2]),
		.insns = number(words[3]), .name = words[6], .symbols = symbols.data, .symbols_len = symbols.len,
	});
	symtab_deinit(&tab);
	buf_free(&symbols);
}

static void add_freed(char **words)
{
	code_record_put(&made.code, &(struct code_record){
		.change = CODE_FREED, .cpu = (uint32_t)number(words[1]), .ns = number(words[2]),
		.insns = number(words[3]), .start = number(words[4]), .name = "",
	});
}

static void add_map(char **words)
{
	code_record_put(&made.code, &(struct code_record){
		.change = CODE_MAPPED, .mm = number(words[1]), .start = number(words[2]), .size = number(words[3]),
		.file_size = number(words[4]), .device = 1, .inode = 1, .name = words[5],
	});
}

static uint8_t digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	if (!at)
		fail("no hexadecimal digit in", "bytes");
	return (uint8_t)(at - digits);
}

static void add_content(char **words, unsigned n)
{
	struct buf known = { 0 };

	for (const char *p = n > 4 ? words[4] : ""; *p; p += 2)
		buf_put_u8(&known, (uint8_t)(digit(p[0]) << 4 | digit(p[1])));
	code_record_put(&made.code, &(struct code_record){
		.change = CODE_CONTENT, .mm = number(words[1]), .start = number(words[2]), .size = number(words[3]),
		.name = "", .symbols = known.data, .symbols_len = known.len,
	});
	buf_free(&known);
}

static struct lane *lane_of(const char *word)
{
	uint64_t cpu = number(word);
	struct lane *lane;

	if (cpu >= CPUS)
		fail("no such vCPU", word);
	lane = &made.lanes[cpu];
	if (!lane->seen) {
		lane->seen = true;
		lane->encoder = xcalloc(1, sizeof *lane->encoder);
		encoder_init(lane->encoder, &made.sites);
		encoder_begin(lane->encoder, &(struct cpu_state){ 0 });
	}
	return lane;
}

static void end_chunk(struct lane *lane)
{
	struct encoder *enc = lane->encoder;
	struct cpu_state state;
	struct item *item;

	encoder_flush(enc);
	if (!enc->events)
		return;
	made.chunks = array_grow(made.chunks, made.n_chunks, &made.chunks_cap, sizeof *made.chunks);
	item = &made.chunks[made.n_chunks++];
	*item = (struct item){ .header = {
		.type = CHUNK_EVENTS, .cpu = (uint16_t)(lane - made.lanes), .events = (uint32_t)enc->events,
		.first_insns = enc->first.insns, .last_insns = enc->now.insns,
		.first_ns = enc->first.ns, .last_ns = enc->now.ns,
		.place = enc->first.place, .space = enc->first.space, .task = enc->first.task,
		.flags = (enc->first.halted ? CHUNK_HALTED : 0) | (enc->continues ? CHUNK_CONTINUES : 0) |
			 (lane->behind_gap ? CHUNK_GAP : 0),
	} };
	lane->behind_gap = false;
	encoder_end(enc, &item->payload);
	state = enc->now;
	encoder_begin(enc, &state);
}

static void begin_behind_gap(char **words)
{
	struct lane *lane = lane_of(words[1]);
	const struct cpu_state state = {
		.insns = number(words[2]), .ns = number(words[3]), .place = number(words[4]), .task = number(words[5]),
	};

	end_chunk(lane);
	encoder_init(lane->encoder, &made.sites);
	encoder_begin(lane->encoder, &state);
	lane->place = state.place;
	lane->behind_gap = true;
}

/* What is allocated here lives as long as the program. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

/* The instruction that makes such an event: what it tells is as if it stood where it was made for. */
static uint32_t site_of(const struct event *e, uint64_t place)
{
	struct site site = { .kind = e->kind, .addr = place };

	if (e->kind >= EVENT_FIRST_SITELESS)
		return e->kind;
	if (e->kind == EVENT_CALL || e->kind == EVENT_CALL_INDIRECT) {
		site.length = CALL_LENGTH;
		site.addr = e->from - CALL_LENGTH;
	} else if (e->kind == EVENT_JUMP || e->kind == EVENT_JUMP_INDIRECT) {
		site.length = JUMP_LENGTH;
		site.addr = e->from;
	} else if (e->kind == EVENT_ARRIVE) {
		site.addr = e->target;
	}
	if (e->kind == EVENT_CALL || e->kind == EVENT_JUMP)
		site.target = e->target;
	for (uint32_t i = SITE_FIRST; i < made.sites.count; i++)
		if (!memcmp(sites_get(&made.sites, i), &site, sizeof site))
			return i;
	return sites_add(&made.sites, &site);
}

static enum event_kind kind_of(const char *word)
{
	for (int i = 1; i < EVENT_KINDS; i++)
		if (!strcmp(word, event_kind_name((enum event_kind)i)))
			return (enum event_kind)i;
	fail("no kind of event", word);
	return EVENT_NONE;
}

static void add_event(char **words, unsigned n)
{
	struct lane *lane = lane_of(words[1]);
	struct event *e = encoder_next(lane->encoder);
	uint64_t *args = xcalloc(WORDS, sizeof *args); /* until the encoder gets to it */

	*e = (struct event){
		.kind = kind_of(words[2]), .insns = number(words[3]), .ns = number(words[4]), .slot = number(words[5]),
		.from = number(words[6]), .target = number(words[7]), .args = args,
	};
	for (unsigned i = 8; i < n; i++)
		args[i - 8] = number(words[i]);
	e->site = site_of(e, lane->place);
	lane->insns = e->insns;
	if (e->target)
		lane->place = e->target;
	made.events++;
	encoder_added(lane->encoder);
}

/* The rest of the line, as it stands. */
static void add_line(struct buf *out, const char *line)
{
	char key[64], *value, *at;
	int n = 0;

	if (sscanf(line, "%*s %63s %n", key, &n) < 1 || !n)
		fail("no key", line);
	value = xstrdup(line + n);
	/* "\n" stands for the end of a line in it */
	while ((at = strstr(value, "\\n"))) {
		*at = '\n';
		memmove(at + 1, at + 2, strlen(at + 2) + 1);
	}
	meta_put(out, key, value);
	free(value);
}

static void take_line(char *line)
{
	char *copy = xstrdup(line), *words[WORDS] = { 0 };
	unsigned n = 0;

	for (char *w = strtok(copy, " "); w && n < WORDS; w = strtok(NULL, " "))
		words[n++] = w;
	if (!n)
		;
	else if (!strcmp(words[0], "meta") && n > 2)
		add_line(&made.meta, line);
	else if (!strcmp(words[0], "end") && n > 2)
		add_line(&made.end, line);
	else if (!strcmp(words[0], "symbol") && n == 4)
		add_symbol(&made.symbols, &made.symbols_cap, words);
	else if (!strcmp(words[0], "function") && n == 6)
		add_function(words);
	else if (!strcmp(words[0], "task") && n > 10)
		add_task(words, n);
	else if (!strcmp(words[0], "fact") && n > 5)
		add_fact(words, n);
	else if (!strcmp(words[0], "told") && n > 7)
		add_told(words, n);
	else if (!strcmp(words[0], "log") && n > 7)
		add_log(words, n);
	else if (!strcmp(words[0], "module") && n == 7)
		add_module(words);
	else if (!strcmp(words[0], "freed") && n == 5)
		add_freed(words);
	else if (!strcmp(words[0], "map") && n == 6)
		add_map(words);
	else if (!strcmp(words[0], "content") && n > 3)
		add_content(words, n);
	else if (!strcmp(words[0], "event") && n > 7)
		add_event(words, n);
	else if (!strcmp(words[0], "chunk") && n == 2)
		end_chunk(lane_of(words[1]));
	else if (!strcmp(words[0], "behind") && n == 6)
		begin_behind_gap(words);
	else
		fail("what is that", line);
	free(copy);
}

static void put(struct writer *w, const struct chunk_header *header, const struct buf *payload)
{
	if (payload->len && writer_put(w, header, payload, LEVEL) < 0)
		fail("cannot write", "a chunk");
}

static void write_trace(const char *path)
{
	struct buf symbols = { 0 }, functions = { 0 }, files = { 0 }, sites = { 0 }, end = { 0 };
	struct writer w;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd < 0 || writer_init(&w, fd) < 0)
		fail("cannot write", path);
	for (unsigned i = 0; i < CPUS; i++) {
		char key[16];

		if (!made.lanes[i].seen)
			continue;
		end_chunk(&made.lanes[i]);
		snprintf(key, sizeof key, "insns.%u", i);
		meta_put_u64(&end, key, made.lanes[i].insns);
	}
	meta_put_u64(&end, "events", made.events);
	buf_put(&end, made.end.data, made.end.len);
	if (made.symbols.count)
		symtab_encode(&made.symbols, &symbols);
	if (made.file.path) {
		symtab_encode(&made.functions, &functions);
		made.file.symbols = functions.data;
		made.file.symbols_len = functions.len;
		code_file_put(&files, &made.file);
	}
	sites_encode(&made.sites, SITE_FIRST, made.sites.count, &sites);
	put(&w, &(struct chunk_header){ .type = CHUNK_META }, &made.meta);
	put(&w, &(struct chunk_header){ .type = CHUNK_SITES }, &sites);
	put(&w, &(struct chunk_header){ .type = CHUNK_SYMBOLS }, &symbols);
	put(&w, &(struct chunk_header){ .type = CHUNK_TASKS }, &made.tasks);
	put(&w, &(struct chunk_header){ .type = CHUNK_FACTS }, &made.facts);
	put(&w, &(struct chunk_header){ .type = CHUNK_CODE }, &made.code);
	put(&w, &(struct chunk_header){ .type = CHUNK_FILES }, &files);
	for (size_t i = 0; i < made.n_chunks; i++)
		put(&w, &made.chunks[i].header, &made.chunks[i].payload);
	put(&w, &(struct chunk_header){ .type = CHUNK_END }, &end);
	writer_deinit(&w);
	if (close(fd) < 0)
		fail("cannot write", path);
}

int main(int argc, char **argv)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	if (argc != 2)
		fail("usage", "make_trace TRACE <LINES");
	sites_init(&made.sites);
	while ((n = getline(&line, &cap, stdin)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		take_line(line);
	}
	write_trace(argv[1]);
	return 0;
}
