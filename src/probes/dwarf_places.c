/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf_places.h"

#include <ctype.h>
#include <dwarf.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "symbols/dwarf_unit.h"

bool dwarf_is_source(const char *path, const char *asked)
{
	size_t n, m;

	if (!path)
		return false;
	n = strlen(path);
	m = strlen(asked);
	return m <= n && !strcmp(path + n - m, asked) && (m == n || path[n - m - 1] == '/' || *asked == '/');
}

char *dwarf_source_path(Dwarf_Die *unit, const char *file, const char *folder)
{
	Dwarf_Attribute attr;
	const char *built = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr));
	size_t n = built ? strlen(built) : 0;
	const char *below = n && !strncmp(file, built, n) && file[n] == '/' ? file + n + 1 : *file == '/' ? NULL : file;
	char *path = NULL;

	if (folder && below)
		path = xasprintf("%s/%s", folder, below);
	else if (!folder)
		path = *file == '/' || !built ? xstrdup(file) : xasprintf("%s/%s", built, file);
	if (path && access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* A search for functions by name, or pattern, and source file (NULL: any). */
struct functions {
	const char *name, *source;
	/* false: that was the last one */
	bool (*each)(void *context, Dwarf_Die *function, Dwarf_Die *unit);
	void *context;
	bool pattern, done;
	bool alone; /* one was found that has the name alone */
};

static bool is_asked(const struct functions *s, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);

	if (!name || dwarf_hasattr(die, DW_AT_declaration) || dwarf_hasattr(die, DW_AT_abstract_origin) ||
	    (s->pattern ? fnmatch(s->name, name, 0) : strcmp(s->name, name)))
		return false;
	return !s->source || dwarf_is_source(dwarf_declared_in(die), s->source);
}

/* Is the name that function's alone? One of a header may be inlined in any unit; one that is static has namesakes. */
static bool is_alone(Dwarf_Die *function, Dwarf_Die *unit)
{
	const char *source = dwarf_diename(unit);

	return source && dwarf_hasattr_integrate(function, DW_AT_external) &&
	       dwarf_is_source(dwarf_declared_in(function), source);
}

static bool look(void *context, Dwarf_Die *function)
{
	struct functions *s = context;
	Dwarf_Die unit;

	if (!is_asked(s, function) || !dwarf_diecu(function, &unit, NULL, NULL))
		return true;
	s->alone |= is_alone(function, &unit);
	s->done = !s->each(s->context, function, &unit);
	return !s->done;
}

static void search(const struct dwarf_file *f, struct functions *s)
{
	uint64_t addr;
	Dwarf_Addr bias;
	Dwarf_Die unit = { 0 };
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die die, skeleton;

	s->pattern = strpbrk(s->name, "*?[");
	/* a function with a name of its own is mostly in one unit, and in that one alone it is inlined */
	if (!s->pattern && dwarf_file_symbols(f, s->name) == 1 && dwarf_file_symbol(f, s->name, &addr) &&
	    dwarf_unit_at(f->units, addr, &unit, &bias))
		dwarf_each_function(&unit, look, s);
	if (s->alone)
		return;
	while (!s->done && dwarf_get_units(f->dwarf, cu, &cu, &version, &type, &die, &skeleton) == 0)
		if (!unit.addr || dwarf_dieoffset(&die) != dwarf_dieoffset(&unit))
			dwarf_each_function(&die, look, s);
}

struct found {
	Dwarf_Die *function, *unit;
	bool is;
};

static bool take_first(void *context, Dwarf_Die *function, Dwarf_Die *unit)
{
	struct found *found = context;

	*found->function = *function;
	*found->unit = *unit;
	found->is = true;
	return false;
}

bool dwarf_find_function(const struct dwarf_file *f, const char *name, const char *source, Dwarf_Die *ret,
			 Dwarf_Die *ret_unit)
{
	struct found found = { .function = ret, .unit = ret_unit };
	struct functions s = { .name = name, .source = source, .each = take_first, .context = &found };

	search(f, &s);
	return found.is;
}

bool dwarf_has_function(const struct dwarf_file *f, const char *name, const char *source)
{
	Dwarf_Die function, unit;

	return dwarf_find_function(f, name, source, &function, &unit);
}

/* One that is not known yet. NULL: it is. */
static struct dwarf_place *add(struct dwarf_places *p, uint64_t address, const Dwarf_Die *function,
			       const Dwarf_Die *unit)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].address == address)
			return NULL;
	p->list = array_grow(p->list, p->count, &p->room, sizeof *p->list);
	p->list[p->count++] = (struct dwarf_place){
		.address = address,
		.function = *function,
		.unit = *unit,
	};
	return &p->list[p->count - 1];
}

void dwarf_places_deinit(struct dwarf_places *p)
{
	free(p->list);
	*p = (struct dwarf_places){ 0 };
}

/* A row of a unit's table of lines. */
struct row {
	Dwarf_Addr addr;
	int line;
	bool statement, ends;
	const char *file; /* of the source */
};

static struct row row_at(Dwarf_Lines *lines, size_t i)
{
	Dwarf_Line *line = dwarf_onesrcline(lines, i);
	struct row r = { 0 };

	dwarf_lineaddr(line, &r.addr);
	dwarf_lineno(line, &r.line);
	dwarf_linebeginstatement(line, &r.statement);
	dwarf_lineendsequence(line, &r.ends);
	r.file = dwarf_linesrc(line, NULL, NULL);
	return r;
}

/* The function in whose source a row is, as far as its own lines tell: what is called there may be inlined, too. */
static bool find_owner(Dwarf_Die *unit, const struct row *r, Dwarf_Die *ret)
{
	Dwarf_Die *scopes = NULL;
	int n = dwarf_scopes(unit, r->addr, &scopes), best = 0;

	for (int i = 0; i < n; i++) {
		int tag = dwarf_tag(&scopes[i]), first = 0;
		const char *file = dwarf_declared_in(&scopes[i]);
		Dwarf_Attribute attr;

		if ((tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) || !file || strcmp(file, r->file) ||
		    dwarf_decl_line(&scopes[i], &first) || first > r->line || first <= best)
			continue;
		best = first;
		*ret = scopes[i];
		if (dwarf_attr(&scopes[i], DW_AT_abstract_origin, &attr))
			dwarf_formref_die(&attr, ret);
	}
	free(scopes);
	return best;
}

/* Code of a function: where it stands by itself, and each place where it was inlined. */
struct instances {
	Dwarf_Die *list;
	size_t count, room;
};

/* A compiler splits functions, and inlines one half into the other: that is not called there. */
static bool is_split(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;
	Dwarf_Word line, file, own_file;
	int own;

	return dwarf_tag(die) == DW_TAG_inlined_subroutine && dwarf_attr(die, DW_AT_abstract_origin, &attr) &&
	       dwarf_formref_die(&attr, &origin) && dwarf_attr(die, DW_AT_call_line, &attr) &&
	       dwarf_formudata(&attr, &line) == 0 && dwarf_decl_line(&origin, &own) == 0 && line == (Dwarf_Word)own &&
	       dwarf_attr(die, DW_AT_call_file, &attr) && dwarf_formudata(&attr, &file) == 0 &&
	       dwarf_attr(&origin, DW_AT_decl_file, &attr) && dwarf_formudata(&attr, &own_file) == 0 &&
	       file == own_file;
}

static int take_instance(Dwarf_Die *die, void *context)
{
	struct instances *i = context;

	if (is_split(die))
		return DWARF_CB_OK;

	i->list = array_grow(i->list, i->count, &i->room, sizeof *i->list);
	i->list[i->count++] = *die;
	return DWARF_CB_OK;
}

struct bodies {
	Dwarf_Die *function;
	struct instances *ret;
};

/* A body that stands by itself beside the inlined ones refers to the function as its origin. */
static bool take_body(void *context, Dwarf_Die *die)
{
	struct bodies *b = context;
	Dwarf_Die origin;
	Dwarf_Attribute attr;

	if (dwarf_attr(die, DW_AT_abstract_origin, &attr) && dwarf_formref_die(&attr, &origin) &&
	    dwarf_dieoffset(&origin) == dwarf_dieoffset(b->function))
		take_instance(die, b->ret);
	return true;
}

/* *unit becomes the one that has the code: the first, if others than the function's own have it. */
static void find_instances(const struct dwarf_file *f, Dwarf_Die *function, Dwarf_Die *unit, struct instances *ret)
{
	Dwarf_Addr pc, base, end;

	*ret = (struct instances){ 0 };
	if (dwarf_entrypc(function, &pc) == 0)
		take_instance(function, ret);
	else
		dwarf_each_function(unit, take_body, &(struct bodies){ function, ret });
	dwarf_func_inline_instances(function, take_instance, ret);
	if (ret->count || dwarf_ranges(unit, 0, &base, &pc, &end) > 0)
		return;
	dwarf_each_reference(f->units, function, take_instance, ret);
	if (ret->count)
		dwarf_diecu(&ret->list[0], unit, NULL, NULL);
}

struct finding {
	const struct dwarf_file *f;
	const struct probe_definition *d;
	struct dwarf_places *places;
	size_t functions;
	bool only_inlined;
};

static void add_begins(struct finding *s, const struct instances *all, Dwarf_Die *function)
{
	for (size_t i = 0; i < all->count; i++) {
		bool stands = dwarf_tag(&all->list[i]) == DW_TAG_subprogram;
		struct dwarf_place *place;
		Dwarf_Die unit;
		Dwarf_Addr pc;

		s->only_inlined = s->only_inlined && !stands;
		if (dwarf_entrypc(&all->list[i], &pc) || (s->d->returns && !stands) || (s->d->offset && !stands))
			continue;
		dwarf_diecu(&all->list[i], &unit, NULL, NULL);
		place = add(s->places, pc + s->f->bias + s->d->offset, function, &unit);
		if (!place)
			continue;
		place->scope = all->list[i];
		place->begins = stands && !s->d->offset;
	}
}

/* Is the row one of the function's own lines, in one of its instances? Functions that it calls may be inlined there. */
static bool is_own_row(const struct instances *all, Dwarf_Die *function, Dwarf_Die *unit, const struct row *r)
{
	Dwarf_Die owner;
	bool inside = false;

	for (size_t i = 0; i < all->count && !inside; i++)
		inside = dwarf_haspc(&all->list[i], r->addr) == 1;
	return inside && find_owner(unit, r, &owner) && dwarf_dieoffset(&owner) == dwarf_dieoffset(function);
}

/* The rows of a unit that begin line `number` of a file, of the function's code only, or of any (`all` NULL). */
static void add_rows(struct finding *s, unsigned number, const char *file, bool whole_path, const struct instances *all,
		     Dwarf_Die *function, Dwarf_Die *unit)
{
	Dwarf_Lines *lines;
	Dwarf_Die owner;
	size_t n;

	if (dwarf_getsrclines(unit, &lines, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		struct row r = row_at(lines, i);

		if (!r.statement || r.ends || r.line != (int)number || !r.file)
			continue;
		if (whole_path ? strcmp(r.file, file) : !dwarf_is_source(r.file, file))
			continue;
		if (all && is_own_row(all, function, unit, &r))
			add(s->places, r.addr + s->f->bias, function, unit);
		else if (!all && find_owner(unit, &r, &owner))
			add(s->places, r.addr + s->f->bias, &owner, unit);
	}
}

static bool fits_pattern(const char *line, const char *pattern)
{
	cleanup_free char *a = xstrdup(line), *b = xstrdup(pattern);
	char *texts[] = { a, b };

	/* blanks do not count: perf-probe(1), LAZY MATCHING */
	for (int i = 0; i < 2; i++) {
		char *to = texts[i];

		for (const char *from = texts[i]; *from; from++)
			if (!isspace((unsigned char)*from))
				*to++ = *from;
		*to = '\0';
	}
	return fnmatch(b, a, 0) == 0;
}

/* Call add_rows() for each line from `first` to `last` that looks like the pattern. */
static void add_fitting(struct finding *s, const char *file, int first, int last, const struct instances *all,
			Dwarf_Die *function, Dwarf_Die *unit)
{
	cleanup_free char *path = dwarf_source_path(unit, file, NULL), *line = NULL;
	FILE *source = path ? fopen(path, "r") : NULL;
	size_t room = 0;

	for (int i = 1; source && i <= last && getline(&line, &room, source) >= 0; i++)
		if (i >= first && fits_pattern(line, s->d->pattern))
			add_rows(s, (unsigned)i, file, true, all, function, unit);
	if (source)
		fclose(source);
}

static bool take_function(void *context, Dwarf_Die *function, Dwarf_Die *unit)
{
	struct finding *s = context;
	const char *file = dwarf_declared_in(function);
	struct instances all;
	Dwarf_Die code = *unit;
	int first = 0, last;

	s->functions++;
	find_instances(s->f, function, &code, &all);
	dwarf_decl_line(function, &first);
	if (s->d->place == PROBE_FUNCTION || (s->d->place == PROBE_LINE && !s->d->line)) {
		add_begins(s, &all, function);
	} else if (s->d->place == PROBE_LINE && file) {
		add_rows(s, (unsigned)first + s->d->line, file, true, &all, function, &code);
	} else if (file) {
		dwarf_function_lines(s->f, function, unit, &first, &last);
		add_fitting(s, file, first, last, &all, function, &code);
	}
	free(all.list);
	return true;
}

/* The highest line that the function's code has in its own file. */
void dwarf_function_lines(const struct dwarf_file *f, Dwarf_Die *function, Dwarf_Die *unit, int *ret_first,
			  int *ret_last)
{
	const char *file = dwarf_declared_in(function);
	struct instances all;
	Dwarf_Die code = *unit;
	Dwarf_Lines *lines;
	size_t n;

	*ret_first = 0;
	dwarf_decl_line(function, ret_first);
	*ret_last = *ret_first;
	find_instances(f, function, &code, &all);
	if (!file || dwarf_getsrclines(&code, &lines, &n))
		n = 0;
	for (size_t i = 0; i < n; i++) {
		struct row r = row_at(lines, i);

		if (r.file && !r.ends && r.line > *ret_last && !strcmp(r.file, file) &&
		    is_own_row(&all, function, &code, &r))
			*ret_last = r.line;
	}
	free(all.list);
}

void dwarf_mark_lines(const struct dwarf_file *f, Dwarf_Die *function, Dwarf_Die *unit, const char *file, int first,
		      int last, bool *marks)
{
	struct instances all = { 0 };
	Dwarf_Die code = *unit;
	Dwarf_Lines *lines;
	size_t n;
	int own;

	if (function)
		find_instances(f, function, &code, &all);
	if (dwarf_getsrclines(&code, &lines, &n))
		n = 0;
	if (function && dwarf_decl_line(function, &own) == 0 && own == first)
		*marks = true;
	for (size_t i = 0; i < n; i++) {
		struct row r = row_at(lines, i);

		if (r.file && r.statement && !r.ends && r.line >= first && r.line <= last && !strcmp(r.file, file) &&
		    (!function || is_own_row(&all, function, &code, &r)))
			marks[r.line - first] = true;
	}
	free(all.list);
}

const char *dwarf_find_source(const struct dwarf_file *f, const char *path, Dwarf_Die *ret_unit)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die unit, skeleton;

	while (dwarf_get_units(f->dwarf, cu, &cu, &version, &type, &unit, &skeleton) == 0) {
		Dwarf_Files *files;
		size_t n;

		for (size_t i = 0; dwarf_getsrcfiles(&unit, &files, &n) == 0 && i < n; i++)
			if (dwarf_is_source(dwarf_filesrc(files, i, NULL, NULL), path)) {
				*ret_unit = unit;
				return dwarf_filesrc(files, i, NULL, NULL);
			}
	}
	return NULL;
}

static void find_in_source(struct finding *s)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die unit, skeleton;

	while (dwarf_get_units(s->f->dwarf, cu, &cu, &version, &type, &unit, &skeleton) == 0) {
		Dwarf_Files *files;
		size_t n;

		if (dwarf_getsrcfiles(&unit, &files, &n))
			continue;
		for (size_t i = 0; i < n; i++) {
			const char *file = dwarf_filesrc(files, i, NULL, NULL);

			if (!dwarf_is_source(file, s->d->source))
				continue;
			s->functions++;
			if (s->d->place == PROBE_SOURCE)
				add_rows(s, s->d->line, s->d->source, false, NULL, NULL, &unit);
			else
				add_fitting(s, file, 1, INT32_MAX, NULL, NULL, &unit);
			break;
		}
	}
}

static bool take_symbol(void *context, const char *name, uint64_t addr)
{
	struct finding *s = context;
	const char *asked = s->d->function;
	struct dwarf_place *place;

	if (strpbrk(asked, "*?[") ? fnmatch(asked, name, 0) : strcmp(asked, name))
		return true;
	s->functions++;
	s->only_inlined = false;
	place = add(s->places, addr + s->d->offset, &(Dwarf_Die){ 0 }, &(Dwarf_Die){ 0 });
	if (place)
		place->begins = !s->d->offset;
	return true;
}

/*
 * Functions of a program of which only the table of symbols tells: it has no debug information, or they were written
 * otherwise. The kernel's language knows symbols alone.
 */
static void find_symbols(struct finding *s)
{
	const struct probe_definition *d = s->d;

	if (s->f->kind != DWARF_PROGRAM || d->place != PROBE_FUNCTION || d->source ||
	    probe_definition_has_variables(d))
		return;
	if (!s->places->count || strpbrk(d->function, "*?["))
		dwarf_file_each_symbol(s->f, take_symbol, s);
}

/* A place in a program's file, which no name tells. */
static int add_address(struct finding *s, struct error *err)
{
	Dwarf_Die none = { 0 }, unit = none;
	uint64_t address;
	Dwarf_Addr bias;

	if (s->f->kind != DWARF_PROGRAM)
		return error_set(err, "%s: the kernel's addresses are those at run time; variables are at FUNCTION+OFFSET",
				 s->d->text);
	if (!dwarf_file_loaded(s->f, s->d->address, &address))
		return error_set(err, "%s: %s has no code there", s->d->text, s->f->path);
	dwarf_unit_at(s->f->units, address, &unit, &bias);
	add(s->places, address, &none, &unit);
	return 0;
}

/* What is not there: the file, the function, or code of that line. */
static int say_nothing(const struct finding *s, struct error *err)
{
	const struct probe_definition *d = s->d;

	if (!s->functions && d->function)
		return error_set(err, "%s: %s has no function %s%s%s", d->text, s->f->path, d->function,
				 d->source ? " in " : "", d->source ? d->source : "");
	if (!s->functions)
		return error_set(err, "%s: nothing in %s was compiled from %s", d->text, s->f->path, d->source);
	if (d->place == PROBE_PATTERN)
		return error_set(err, "%s: no line with code looks like that, or its source is not here", d->text);
	if (d->place == PROBE_LINE || d->place == PROBE_SOURCE)
		return error_set(err, "%s: that line has no code; 'upto probe --lines %s' shows those that have",
				 d->text, d->function ? d->function : d->source);
	if (s->only_inlined)
		return error_set(err, "%s: %s is inlined everywhere: it has no %s", d->text, d->function,
				 d->returns ? "return" : "offsets");
	return error_set(err, "%s: %s has no code of %s", d->text, s->f->path, d->function);
}

int dwarf_places_init(struct dwarf_places *ret, const struct dwarf_file *f, const struct probe_definition *d,
		      struct error *err)
{
	struct finding s = { .f = f, .d = d, .places = ret, .only_inlined = true };
	struct functions functions = { .name = d->function, .source = d->source, .each = take_function, .context = &s };

	*ret = (struct dwarf_places){ 0 };
	if (d->place == PROBE_STATIC)
		return error_set(err, "%s: a static probe has no variables; 'upto probe --definition' shows its values",
				 d->text);
	if (!f->dwarf && (d->source || d->place == PROBE_LINE || d->place == PROBE_PATTERN ||
			  probe_definition_has_variables(d)))
		return dwarf_file_require(f, err);
	if (d->place == PROBE_ADDRESS)
		return add_address(&s, err);
	if (!d->function)
		find_in_source(&s);
	else if (f->kind != DWARF_PROGRAM || !d->kernel_words || probe_definition_has_variables(d))
		search(f, &functions);
	if (d->function)
		find_symbols(&s);
	return ret->count ? 0 : say_nothing(&s, err);
}
