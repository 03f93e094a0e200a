/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "recorder/watch/watch.h"
#include "symbols/object_code.h"
#include "symbols/symtab_codec.h"
#include "trace/code_records.h"

enum {
	FILE_LIMIT = 2047 << 20,
	/* of a function, by which it is looked up; what is shorter is known by its neighbours */
	FIRST_BYTES = 12,
	COMPARED = 64,          /* of each function at most that many are compared */
	MISSES = 8,             /* so many functions in a row that are not there end a piece */
	FUNCTIONS_MIN = 3, BYTES_MIN = 96, /* what has less in common may be chance … */
	BYTES_WHOLE = 24,       /* … but for a whole object */
	TRIES_MAX = 1 << 14,    /* of an object: code that only begins like it has its limits */
	PIECES_MAX = 64, LABELS_MAX = 1 << 12, /* of an object */
	GAP_MAX = 64,           /* functions no farther apart lie in one range */
	CHECKED = 16,           /* bytes of a block, by which it is seen that another code has come there */
};

struct object {
	const char *path, *name;
	bool given;             /* it lies where the user says, and nothing is compared */
	uint64_t slide;         /* … by that much from where it was linked */
	struct object_code code;
	unsigned pieces, tries, n_labels;
	/* of what -kernel starts: it lies where it was linked (kernel.h), and may move from there */
	bool own;
	bool ran;
};

/* Functions of an object that lie somewhere. */
struct piece {
	struct object *object;
	uint64_t slide;
	size_t module;          /* their number in modules.h */
};

/* A function by its first bytes. */
struct first {
	uint32_t object, function;
	uint32_t next;          /* another one with the same bytes + 1; 0: none */
};

static struct {
	struct object list[KERNEL_FILES_MAX];
	size_t count;
	struct piece *pieces;
	size_t n_pieces, pieces_cap;
	struct map by_first;    /* hash of first bytes → place in firsts + 1 */
	struct first *firsts;
	size_t n_firsts, firsts_cap;
	bool kernel_ran;        /* of the kernel of one's own */
} objects;

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void add_firsts(uint32_t object)
{
	const struct object_code *code = &objects.list[object].code;

	for (size_t i = 0; i < code->tab.count && i < UINT32_MAX; i++) {
		const struct symbol *s = &code->tab.symbols[i];
		size_t n;
		const uint8_t *bytes = object_code_bytes(code, s->addr, &n);
		uint64_t *known;

		if (!bytes || n < FIRST_BYTES || s->end - s->addr < FIRST_BYTES)
			continue;
		known = map_put(&objects.by_first, hash_bytes(0, bytes, FIRST_BYTES), 0);
		objects.firsts =
			array_grow(objects.firsts, objects.n_firsts, &objects.firsts_cap, sizeof *objects.firsts);
		objects.firsts[objects.n_firsts++] = (struct first){
			.object = object, .function = (uint32_t)i, .next = (uint32_t)*known,
		};
		*known = objects.n_firsts;
	}
}

static int read_object(const char *path, struct object *o, struct error *err)
{
	struct buf file = { 0 };
	int r;

	if (file_read(path, FILE_LIMIT, &file, err) < 0)
		return -1;
	r = object_code_parse(file.data, file.len, &o->code, err);
	buf_free(&file);
	return r < 0 ? error_prefix(err, "%s", path) : 0;
}

int objects_start(const struct kernel_sources *sources, const struct known_kernel *known, struct error *err)
{
	for (size_t i = 0; i < sources->n_symbols; i++) {
		struct object *o = &objects.list[objects.count];

		bool own = known->own == sources->symbols[i].path;

		if (!known->is_object[i] && !own)
			continue;
		if (read_object(sources->symbols[i].path, o, err) < 0)
			return -1;
		o->path = sources->symbols[i].path;
		o->name = base_name(o->path);
		o->own = own;
		o->given = sources->symbols[i].placed;
		o->slide = o->given ? sources->symbols[i].address - o->code.text : 0;
		if (!o->given)
			add_firsts((uint32_t)objects.count);
		objects.count++;
	}
	return 0;
}

/* Does that function of it lie in guest memory, moved by that much? */
static bool is_there(const struct object *o, const struct symtab *tab, size_t i, uint64_t slide)
{
	const struct symbol *s = &tab->symbols[i];
	uint8_t memory[COMPARED];
	size_t n = 0;
	const uint8_t *file = object_code_bytes(&o->code, s->addr, &n);

	if (n > s->end - s->addr)
		n = s->end - s->addr;
	if (n > COMPARED)
		n = COMPARED;
	return file && n && guest_read(&recorder.translate_regs, s->addr + slide, memory, n) &&
	       code_is_moved(file, memory, n, slide);
}

/*
 * Which functions around that one lie there, too? Returns marks, by number; the caller frees them. NULL: too few to
 * tell.
 */
static bool *find_piece(const struct object *o, size_t function, uint64_t slide)
{
	const struct symtab *tab = &o->code.tab;
	bool *there = xcalloc(tab->count, sizeof *there);
	size_t n = 0;
	uint64_t bytes = 0;

	for (size_t i = function, misses = 0; i < tab->count && misses <= MISSES; i++) {
		there[i] = is_there(o, tab, i, slide);
		misses = there[i] ? 0 : misses + 1;
	}
	for (size_t i = function, misses = 0; i-- > 0 && misses <= MISSES;) {
		there[i] = is_there(o, tab, i, slide);
		misses = there[i] ? 0 : misses + 1;
	}
	for (size_t i = 0; i < tab->count; i++) {
		n += there[i];
		bytes += there[i] ? tab->symbols[i].end - tab->symbols[i].addr : 0;
	}
	if (there[function] &&
	    ((n >= FUNCTIONS_MIN && bytes >= BYTES_MIN) || (n == tab->count && bytes >= BYTES_WHOLE)))
		return there;
	free(there);
	return NULL;
}

/* Functions in a row lie in one range, which ends with what belongs to none of them. */
static bool is_next(const struct symtab *tab, size_t before, size_t i)
{
	const struct symbol *a = &tab->symbols[before], *b = &tab->symbols[i];

	return before + 1 == i && a->section == b->section && b->addr - a->end <= GAP_MAX;
}

/* A table of the functions that are marked, or of all, at run-time addresses. Its sections are what they cover. */
static void make_table(const struct symtab *tab, const bool *marks, uint64_t slide, struct symtab *ret)
{
	struct symtab_function *list = xcalloc(tab->count, sizeof *list);
	size_t n = 0, cap = 0, before = 0;

	*ret = (struct symtab){ 0 };
	symtab_add_section(ret, &cap, 0, UINT64_MAX, "");
	for (size_t i = 0; i < tab->count; i++) {
		const struct symbol *s = &tab->symbols[i];

		if ((marks && !marks[i]) || s->end + slide <= s->addr + slide || ret->n_sections == UINT16_MAX)
			continue;
		if (!n || !is_next(tab, before, i))
			symtab_add_section(ret, &cap, s->addr + slide, s->end + slide,
					   symtab_section_name(tab, (long)i));
		ret->sections[ret->n_sections - 1].end = s->end + slide;
		list[n++] = (struct symtab_function){
			.addr = s->addr + slide, .size = s->end - s->addr, .name = symtab_name(tab, (long)i),
			.section = (uint16_t)(ret->n_sections - 1),
		};
		before = i;
	}
	symtab_put_functions(ret, list, n, NULL);
	free(list);
}

/* In the own thread of the vCPU that boots. */
static void tell(struct code_record *record)
{
	struct buf out = { 0 };

	record->ns = watch_clock(recorder.boot_vcpu);
	record->insns = vcpu_get(recorder.boot_vcpu)->live->insns;
	code_record_put(&out, record);
	drain_put(CHUNK_CODE, &out);
	buf_free(&out);
}

/* Functions of one of the object's tables that lie there: those that are marked, or all. */
static void add_piece(struct object *o, const struct symtab *functions, const bool *marks, uint64_t slide)
{
	struct modules *modules = &recorder.kernel.modules;
	struct code_record record = { .change = CODE_MODULE, .is_object = true, .name = o->name };
	struct buf symbols = { 0 };
	struct symtab tab;

	make_table(functions, marks, slide, &tab);
	symtab_encode(&tab, &symbols);
	record.symbols = symbols.data;
	record.symbols_len = symbols.len;
	tell(&record);
	buf_free(&symbols);
	objects.pieces = array_grow(objects.pieces, objects.n_pieces, &objects.pieces_cap, sizeof *objects.pieces);
	objects.pieces[objects.n_pieces++] = (struct piece){ .object = o, .slide = slide, .module = modules->count };
	modules_add(modules, &tab);
	o->ran = true;
	recorder.stats->objects = 1;
}

static bool is_given_at(const struct object *o, uint64_t addr)
{
	return o->given && symtab_lookup(&o->code.tab, addr - o->slide) != SYMTAB_NONE;
}

/* What has its name there already, need not get it again. */
static void leave_out_known(const struct symtab *tab, bool *marks, uint64_t slide)
{
	for (size_t i = 0; i < tab->count; i++)
		if (marks[i] && kernel_function(&recorder.kernel, tab->symbols[i].addr + slide) != SYMTAB_NONE)
			marks[i] = false;
}

/* Does the code of a piece begin at that address, the first of a block? */
static bool find_there(const struct first *first, uint64_t addr)
{
	struct object *o = &objects.list[first->object];
	uint64_t slide = addr - o->code.tab.symbols[first->function].addr;
	bool *marks;

	if (o->pieces == PIECES_MAX || o->tries == TRIES_MAX || !is_there(o, &o->code.tab, first->function, slide))
		return false;
	o->tries++;
	marks = find_piece(o, first->function, slide);
	if (marks) {
		leave_out_known(&o->code.tab, marks, slide);
		add_piece(o, &o->code.tab, marks, slide);
		o->pieces++;
	}
	free(marks);
	return marks;
}

/*
 * Control is at a label of what lies there: code in assembler, which the tables do not tell from data before it runs.
 */
static bool find_label(const struct piece *p, uint64_t addr)
{
	struct object *o = p->object;
	const struct symtab *labels = &o->code.labels;
	uint64_t slide = p->slide;
	long i = symtab_lookup(labels, addr - slide);
	bool *marks;

	if (i == SYMTAB_NONE || labels->symbols[i].addr != addr - slide || o->n_labels == LABELS_MAX ||
	    (!o->given && !is_there(o, labels, (size_t)i, slide)))
		return false;
	marks = xcalloc(labels->count, sizeof *marks);
	marks[i] = true;
	o->n_labels++;
	add_piece(o, labels, marks, slide);
	free(marks);
	return true;
}

static void find(uint64_t addr)
{
	uint8_t bytes[FIRST_BYTES];
	const uint64_t *first;

	for (size_t i = 0; i < objects.count; i++)
		if (is_given_at(&objects.list[i], addr)) {
			add_piece(&objects.list[i], &objects.list[i].code.tab, NULL, objects.list[i].slide);
			return;
		}
	for (size_t i = objects.n_pieces; i-- > 0;)
		if (find_label(&objects.pieces[i], addr))
			return;
	if (!objects.n_firsts || !guest_read(&recorder.translate_regs, addr, bytes, sizeof bytes))
		return;
	first = map_get(&objects.by_first, hash_bytes(0, bytes, sizeof bytes));
	for (size_t i = first ? *first : 0; i; i = objects.firsts[i - 1].next)
		if (find_there(&objects.firsts[i - 1], addr))
			return;
}

static struct piece *piece_of(long function)
{
	for (size_t i = objects.n_pieces; i-- > 0 && modules_is_number(function);)
		if (objects.pieces[i].module == modules_number(function))
			return &objects.pieces[i];
	return NULL;
}

/* Has other code come to where a piece was? */
static bool is_gone(const struct piece *p, uint64_t addr)
{
	uint8_t memory[CHECKED];
	size_t n = 0;
	const uint8_t *file = object_code_bytes(&p->object->code, addr - p->slide, &n);

	if (n > CHECKED)
		n = CHECKED;
	return !p->object->given && p->object->pieces < PIECES_MAX && file &&
	       guest_read(&recorder.translate_regs, addr, memory, n) && !code_is_moved(file, memory, n, p->slide);
}

static void forget_piece(const struct piece *p)
{
	const struct symtab *tab = recorder.kernel.modules.tabs[p->module];

	for (size_t i = 1; i < tab->n_sections; i++) {
		modules_free(&recorder.kernel.modules, tab->sections[i].addr);
		tell(&(struct code_record){ .change = CODE_FREED, .start = tab->sections[i].addr, .name = "" });
	}
}

bool objects_awaited(void)
{
	return objects.count && (!kernel_found(&recorder.kernel) || recorder.kernel.no_linux);
}

void objects_look(uint64_t addr)
{
	struct kernel *k = &recorder.kernel;
	const struct piece *p;
	long function;

	/* a vCPU's clock is told by its own thread only */
	if (!pthread_equal(pthread_self(), recorder.boot_thread))
		return;
	function = kernel_function(k, addr);
	p = piece_of(function);
	if (p && is_gone(p, addr)) {
		forget_piece(p);
		function = SYMTAB_NONE;
	}
	objects.kernel_ran |= function != SYMTAB_NONE && !p;
	if (function == SYMTAB_NONE)
		find(addr);
}

void objects_forget(void)
{
	objects.n_pieces = 0;
	for (size_t i = 0; i < objects.count; i++)
		objects.list[i].pieces = objects.list[i].tries = objects.list[i].n_labels = 0;
}

void objects_finish(void)
{
	struct stats *stats = recorder.stats;
	struct buf names = { 0 };

	for (size_t i = 0; i < objects.count; i++)
		if (!objects.list[i].ran && !(objects.list[i].own && objects.kernel_ran))
			buf_printf(&names, "%s%s", names.len ? ", " : "", objects.list[i].path);
	buf_put_u8(&names, 0);
	snprintf(stats->never_ran, sizeof stats->never_ran, "%s", (char *)names.data);
	buf_free(&names);
}
