/* SPDX-License-Identifier: MIT */
/*
 * A run that is described beforehand, in the words of KFI's configurations (UPTO_KFI=FILE): what begins and ends it,
 * and which calls are recorded.
 *
 *   begin
 *     trigger start entry main      # or exit FUNCTION, time USECS from the program's start on
 *     trigger stop time 500000      # likewise; a time counts from the start of the run
 *     filter mintime 500            # only calls of so many microseconds
 *     filter funclist parse draw fend
 *     logentries 20000              # so many calls; the run ends with the last one
 *     autorepeat                    # when it has stopped, it waits for its start again
 *   end
 *
 * With a shortest time, the begin of a call is kept back until it has taken so long. So what is long has its callers
 * before it, which took longer still.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	TEXT_MAX = 1 << 16,   /* bytes of a configuration */
	FUNCTIONS_MAX = 4096, /* names of a list, and addresses that they come to */
	TABLE = 4 * FUNCTIONS_MAX,
	KEPT_MAX = 256,  /* calls of a thread that are kept back; before the oldest of more, it is recorded */
	PLACES_MAX = 16, /* functions of one name */
};

enum kind { NEVER, ENTRY, EXIT, TIME };

struct trigger {
	enum kind kind;
	const char *name;
	uint64_t usecs;
	uint64_t at[PLACES_MAX];
	unsigned n;
};

static struct {
	struct trigger start, stop;
	uint64_t min_us, entries; /* 0: any; no end */
	int repeats;
	char *names[FUNCTIONS_MAX]; /* of the list */
	unsigned n_names;
	char found[FUNCTIONS_MAX];
	uint64_t table[TABLE]; /* addresses of the list's functions, by hash; 0: none */
	unsigned n_table;
	char text[TEXT_MAX + 1];
	/* what becomes of it */
	uint64_t begin_ns, min_ticks;
	/* by all threads, so that what one of them begins or ends the others see soon: */
	uint64_t stop_ticks, left, started_ns;
	int state;
	int has_run;
	int too_many; /* functions have the names that are asked for */
	/* calls of a run that are recorded, and that are not */
	uint64_t recorded, too_short, not_listed;
	pthread_key_t key; /* its destructor ends what a thread has kept back, also if it has no ring */
} steering;

enum { WAITS, RUNS, OVER };

#define LOAD(field) __atomic_load_n(&steering.field, __ATOMIC_RELAXED)
#define STORE(field, value) __atomic_store_n(&steering.field, value, __ATOMIC_RELAXED)

/*
 * Calls of this thread whose begin is not recorded yet. They have memory of their own, which a thread gets when it
 * needs it: what lies in a library's thread-local storage can keep it from being loaded by dlopen(3).
 */
struct kept_call {
	uint64_t function, stack, ticks;
};

static __thread struct kept_call *kept __attribute__((tls_model("initial-exec")));
static __thread unsigned n_kept __attribute__((tls_model("initial-exec")));

/* Its words. */

static unsigned line_of(const char *word)
{
	unsigned line = 1;

	for (const char *at = steering.text; at < word; at++)
		line += *at == '\n';
	return line;
}

static int wrong(const char *word, const char *what)
{
	fprintf(stderr, "libupto: %s:%u: %s; nothing is recorded\n", getenv("UPTO_KFI"), line_of(word), what);
	return 0;
}

/* The next word, which goes up to *at then; NULL: there is none. */
static char *next_word(char **at)
{
	char *word = *at;

	for (;;) {
		word += strspn(word, " \t\r\n");
		if (*word != '#')
			break;
		word += strcspn(word, "\n");
	}
	*at = word + strcspn(word, " \t\r\n");
	return *word ? word : NULL;
}

static int is(const char *word, const char *end, const char *text)
{
	return strlen(text) == (size_t)(end - word) && !memcmp(word, text, strlen(text));
}

static int number(char **at, uint64_t *ret)
{
	char *word = next_word(at), *end;

	if (!word || *word < '0' || *word > '9')
		return wrong(word ? word : *at, "expected a number");
	*ret = strtoull(word, &end, 0);
	return end == *at ? 1 : wrong(word, "expected a number");
}

static char *copy(const char *word, const char *end)
{
	return strndup(word, (size_t)(end - word));
}

static int parse_trigger(char **at)
{
	char *which = next_word(at), *which_end = *at, *kind = next_word(at), *kind_end = *at, *word;
	struct trigger *t;

	if (!which || !kind || (!is(which, which_end, "start") && !is(which, which_end, "stop")))
		return wrong(which ? which : *at, "expected trigger start|stop entry|exit FUNCTION, or time USECS");
	t = is(which, which_end, "start") ? &steering.start : &steering.stop;
	if (t->kind)
		return wrong(which, "there is one already");
	if (is(kind, kind_end, "time")) {
		t->kind = TIME;
		return number(at, &t->usecs);
	}
	t->kind = is(kind, kind_end, "entry") ? ENTRY : is(kind, kind_end, "exit") ? EXIT : NEVER;
	word = t->kind ? next_word(at) : NULL;
	if (!word)
		return wrong(kind, "expected entry FUNCTION, exit FUNCTION or time USECS");
	t->name = copy(word, *at);
	return t->name != NULL;
}

static int begins_entry(const char *word, const char *end)
{
	return is(word, end, "trigger") || is(word, end, "filter") || is(word, end, "logentries") ||
	       is(word, end, "autorepeat") || is(word, end, "end");
}

static int parse_list(char **at)
{
	char *before, *word;

	while (before = *at, (word = next_word(at))) {
		if (is(word, *at, "fend"))
			break;
		if (begins_entry(word, *at)) { /* the list has no end of its own */
			*at = before;
			break;
		}
		if (steering.n_names == FUNCTIONS_MAX)
			return wrong(word, "more than 4096 functions");
		steering.names[steering.n_names++] = copy(word, *at);
	}
	return steering.n_names ? 1 : wrong(before, "expected names of functions");
}

static int parse_filter(char **at)
{
	char *word = next_word(at);

	if (word && is(word, *at, "mintime"))
		return number(at, &steering.min_us);
	if (word && is(word, *at, "funclist"))
		return parse_list(at);
	if (word && is(word, *at, "noints")) /* a program has none */
		return 1;
	return wrong(word ? word : *at, "of filters there are mintime USECS and funclist FUNCTION … fend");
}

static int parse(void)
{
	char *at = steering.text, *word, *first;
	int begun = 0;

	while ((first = at, word = next_word(&at))) {
		if (is(word, at, "new") || is(word, at, "untimed"))
			continue;
		if (!begun && is(word, at, "begin"))
			begun = 1;
		else if (!begun)
			return wrong(word, "expected begin");
		else if (is(word, at, "end"))
			return 1;
		else if (is(word, at, "autorepeat"))
			steering.repeats = 1;
		else if (is(word, at, "trigger")      ? !parse_trigger(&at)
			 : is(word, at, "filter")     ? !parse_filter(&at)
			 : is(word, at, "logentries") ? !number(&at, &steering.entries)
						      : !wrong(word, "there is no such entry here"))
			return 0;
	}
	return wrong(first, "expected end");
}

static int read_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n = 0;

	while (fd >= 0 && used < TEXT_MAX && (n = read(fd, steering.text + used, TEXT_MAX - used)) > 0)
		used += (size_t)n;
	if (fd < 0 || n < 0 || used == TEXT_MAX) {
		fprintf(stderr, "libupto: %s: %s; nothing is recorded\n", path,
			used == TEXT_MAX ? "more than 64 kB" : strerror(errno));
		return 0;
	}
	close(fd);
	steering.text[used] = 0;
	return 1;
}

/* Its functions. */

static unsigned place_of(uint64_t address)
{
	return (unsigned)((address * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % TABLE;
}

static int is_listed(uint64_t address)
{
	for (unsigned i = place_of(address); steering.table[i]; i = (i + 1) % TABLE)
		if (steering.table[i] == address)
			return 1;
	return 0;
}

static void list(uint64_t address)
{
	unsigned i = place_of(address);

	if (is_listed(address))
		return;
	if (steering.n_table == FUNCTIONS_MAX) {
		steering.too_many = 1;
		return;
	}
	while (steering.table[i])
		i = (i + 1) % TABLE;
	steering.table[i] = address;
	steering.n_table++;
}

static void note(struct trigger *t, const char *name, uint64_t address)
{
	if (!t->name || strcmp(t->name, name))
		return;
	if (t->n == PLACES_MAX)
		steering.too_many = 1;
	else
		t->at[t->n++] = address;
}

static int note_symbol(void *context, const char *name, uint64_t address)
{
	(void)context;
	note(&steering.start, name, address);
	note(&steering.stop, name, address);
	for (unsigned i = 0; i < steering.n_names; i++)
		if (!strcmp(steering.names[i], name)) {
			steering.found[i] = 1;
			list(address);
		}
	return 1;
}

/* 0x1234: an address, as it is in memory */
static void note_addresses(void)
{
	struct trigger *both[] = { &steering.start, &steering.stop };

	for (unsigned i = 0; i < 2; i++)
		if (both[i]->name && !strncmp(both[i]->name, "0x", 2))
			both[i]->at[both[i]->n++] = strtoull(both[i]->name, NULL, 0);
	for (unsigned i = 0; i < steering.n_names; i++)
		if (!strncmp(steering.names[i], "0x", 2)) {
			steering.found[i] = 1;
			list(strtoull(steering.names[i], NULL, 0));
		}
}

static int find_functions(void)
{
	const struct trigger *both[] = { &steering.start, &steering.stop };

	note_addresses();
	symbols_each(note_symbol, NULL);
	for (unsigned i = 0; i < 2; i++)
		if (both[i]->name && !both[i]->n) {
			fprintf(stderr, "libupto: %s: no function %s; nothing is recorded\n", getenv("UPTO_KFI"),
				both[i]->name);
			return 0;
		}
	if (steering.too_many) {
		fprintf(stderr, "libupto: %s: too many functions have these names; nothing is recorded\n",
			getenv("UPTO_KFI"));
		return 0;
	}
	for (unsigned i = 0; i < steering.n_names; i++)
		if (!steering.found[i])
			fprintf(stderr, "libupto: %s: no function %s\n", getenv("UPTO_KFI"), steering.names[i]);
	return 1;
}

/* How many ticks that are. The counter's pace is looked at for 2 ms. */
static uint64_t ticks_of(uint64_t us)
{
	enum { LOOK_NS = 2000000 };
	uint64_t ns = clock_ns(), ticks = ticks_now(), passed = 0;

	if (shared.by_clock)
		return us * 1000;
	while (passed < LOOK_NS)
		passed = clock_ns() - ns;
	return (uint64_t)((double)us * 1000 * (double)(ticks_now() - ticks) / (double)passed);
}

static void end_thread(void *room)
{
	(void)room;
	steering_end();
}

int steering_begin(void)
{
	if (pthread_key_create(&steering.key, end_thread)) {
		fprintf(stderr, "libupto: no key for its threads is left (pthread_key_create): nothing is recorded\n");
		return 0;
	}
	if (!read_text(getenv("UPTO_KFI")) || !parse() || !find_functions())
		return 0;
	steering.min_ticks = steering.min_us ? ticks_of(steering.min_us) : 0;
	steering.left = steering.entries ? steering.entries : UINT64_MAX;
	steering.begin_ns = clock_ns();
	STORE(started_ns, steering.begin_ns);
	STORE(state, steering.start.kind ? WAITS : RUNS);
	shared.steered = 1;
	return 1;
}

/* While the program runs. */

static void start_run(void)
{
	if (__atomic_exchange_n(&steering.has_run, 1, __ATOMIC_RELAXED))
		run_begins();
	STORE(started_ns, clock_ns());
	STORE(state, RUNS);
}

static void stop_run(uint64_t ticks)
{
	STORE(stop_ticks, ticks);
	STORE(state, steering.repeats && steering.start.kind && LOAD(left) ? WAITS : OVER);
}

static int is_at(const struct trigger *t, enum kind kind, uint64_t function)
{
	for (unsigned i = 0; t->kind == kind && i < t->n; i++)
		if (t->at[i] == function)
			return 1;
	return 0;
}

/* A time has come. */
static void look_at_clock(uint64_t ticks)
{
	if (LOAD(state) == WAITS && steering.start.kind == TIME &&
	    clock_ns() - steering.begin_ns >= steering.start.usecs * 1000)
		start_run();
	if (LOAD(state) == RUNS && steering.stop.kind == TIME &&
	    clock_ns() - LOAD(started_ns) >= steering.stop.usecs * 1000)
		stop_run(ticks);
}

static void add_to(uint64_t *counter, uint64_t calls)
{
	if (calls)
		__atomic_fetch_add(counter, calls, __ATOMIC_RELAXED);
}

/* The begin of a call is recorded. 0: there is no room left, and the run is over. */
static int put_begin(const struct kept_call *c, uint64_t ticks)
{
	uint64_t left = LOAD(left);

	while (left &&
	       !__atomic_compare_exchange_n(&steering.left, &left, left - 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	if (!left) {
		stop_run(ticks);
		return 0;
	}
	add_to(&steering.recorded, 1);
	event_put(c->function, c->stack, c->ticks);
	return 1;
}

/* Calls that have taken long enough: the outermost of them have. */
static void put_long(uint64_t ticks)
{
	unsigned n = 0;

	while (n < n_kept && (int64_t)(ticks - kept[n].ticks) >= (int64_t)steering.min_ticks &&
	       put_begin(&kept[n], ticks))
		n++;
	if (!n)
		return;
	n_kept -= n;
	memmove(kept, kept + n, n_kept * sizeof *kept);
}

/* What this thread has kept back from a run that is over. */
static void leave_run(void)
{
	if (n_kept)
		put_long(LOAD(stop_ticks));
	add_to(&steering.too_short, n_kept);
	n_kept = 0;
}

/* Room to keep calls back. 0: there is no memory. */
static int has_room(void)
{
	void *room;

	if (kept)
		return 1;
	room = mmap(NULL, KEPT_MAX * sizeof *kept, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return 0;
	kept = room;
	pthread_setspecific(steering.key, room);
	return 1;
}

static void begin_call(uint64_t function, uint64_t stack, uint64_t ticks)
{
	struct kept_call call = { function, stack, ticks };

	if (!steering.min_ticks || !has_room()) {
		put_begin(&call, ticks);
		return;
	}
	if (n_kept == KEPT_MAX) {
		put_begin(&kept[0], ticks);
		memmove(kept, kept + 1, --n_kept * sizeof *kept);
	}
	kept[n_kept++] = call;
}

/* Is its begin recorded? */
static int end_call(uint64_t function, uint64_t ticks)
{
	if (n_kept)
		put_long(ticks);
	if (!n_kept)
		return 1;
	if (kept[n_kept - 1].function == function) {
		n_kept--;
		add_to(&steering.too_short, 1);
	}
	return 0;
}

/* longjmp() goes to where `stack` is. */
static int jump(uint64_t stack, uint64_t ticks)
{
	stack &= ~CALLS_RECORD_FRAME;
	put_long(ticks);
	for (; n_kept && kept[n_kept - 1].stack + CALLS_HOOK < stack; n_kept--)
		add_to(&steering.too_short, 1);
	return !n_kept;
}

int steering_takes(uint64_t function, uint64_t stack, uint64_t ticks)
{
	uint64_t address = function & ~CALLS_RECORD_EXIT;
	int ends = function != address, takes = 0;

	if (steering.start.kind == TIME || steering.stop.kind == TIME)
		look_at_clock(ticks);
	if (LOAD(state) == WAITS && !ends && is_at(&steering.start, ENTRY, address))
		start_run();
	else if (LOAD(state) == RUNS && !ends && is_at(&steering.stop, ENTRY, address))
		stop_run(ticks);
	if (LOAD(state) != RUNS)
		leave_run();
	else if (function == CALLS_RECORD_EXIT)
		takes = jump(stack, ticks);
	else if (steering.n_names && !is_listed(address))
		add_to(&steering.not_listed, !ends);
	else if (ends)
		takes = end_call(address, ticks);
	else
		begin_call(function, stack, ticks);
	if (ends && LOAD(state) == WAITS && is_at(&steering.start, EXIT, address)) {
		start_run();
	} else if (ends && LOAD(state) == RUNS && is_at(&steering.stop, EXIT, address)) {
		if (takes) { /* its end is the run's */
			event_put(function, stack, ticks);
			takes = 0;
		}
		stop_run(ticks);
		leave_run();
	}
	return takes;
}

void steering_end(void)
{
	if (LOAD(state) == RUNS)
		put_long(ticks_now());
	add_to(&steering.too_short, n_kept);
	n_kept = 0;
	if (kept)
		munmap(kept, KEPT_MAX * sizeof *kept);
	kept = NULL;
}

void steering_forget(void)
{
	n_kept = 0;
	steering.recorded = steering.too_short = steering.not_listed = 0;
}

size_t steering_info(char *out, size_t size, int ends)
{
	if (!shared.steered)
		return 0;
	if (!ends)
		return (size_t)snprintf(out, size, "thinned=UPTO_KFI=%.1000s\n", getenv("UPTO_KFI"));
	return (size_t)snprintf(out, size, "left_out.calls=%llu\nleft_out.duration=%llu\nleft_out.function=%llu\n",
				(unsigned long long)(steering.recorded + steering.too_short + steering.not_listed),
				(unsigned long long)steering.too_short, (unsigned long long)steering.not_listed);
}
