/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "symbols/symtab_codec.h"
#include "trace/mapped_contents.h"

/* What is known while records are gone through. */
struct build {
	struct code *c;
	struct map numbers;      /* hash of object, name and which one of that name → number + 1 */
	const struct code_files *files;
	struct map symbols;      /* hash of a path and size → place in the files */
	struct map by_content;   /* number of a content → place in the files */
	uint64_t *contents;      /* for each record, if it is MAPPED: number of its content; 0: not known */
	struct map objects;      /* hash of which file it is → object + 1 */
};

enum object_kind { OBJECT_FILE, OBJECT_MODULE, OBJECT_OUTSIDE };

/* The guest's text as a terminal can show it. */
static char *plain(const char *text)
{
	char *copy = xstrdup(text);

	for (char *p = copy; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return copy;
}

static uint32_t add_function(struct code *c, const struct code_function *function)
{
	c->functions = array_grow(c->functions, c->n_functions, &c->functions_cap, sizeof *c->functions);
	c->functions[c->n_functions] = *function;
	return (uint32_t)c->n_functions++;
}

static uint32_t number_of(struct build *b, uint64_t identity, const struct code_object *o, const char *name,
			  const char *section, enum object_kind kind)
{
	uint64_t *number = map_put(&b->numbers, identity, 0);

	if (!*number)
		*number = add_function(b->c, &(struct code_function){
			.name = name ? xasprintf("%s [%s]", name, o->name) : xasprintf("[%s]", o->name),
			.object = o->name, .section = section, .whole = !name,
			.module = kind == OBJECT_MODULE, .outside = kind == OBJECT_OUTSIDE,
		}) + 1;
	return (uint32_t)(*number - 1);
}

/* Takes the table and the name over. Returns the object's number. */
static uint32_t add_object(struct build *b, char *name, uint64_t identity, struct symtab *tab, enum object_kind kind)
{
	struct code *c = b->c;
	struct code_object *o;
	struct map seen = { 0 }; /* names → how many of them came before */

	c->objects = array_grow(c->objects, c->n_objects, &c->objects_cap, sizeof *c->objects);
	o = &c->objects[c->n_objects];
	*o = (struct code_object){ .name = name, .tab = *tab, .numbers = xcalloc(tab->count, sizeof *o->numbers) };
	for (size_t i = 0; i < tab->count; i++) {
		cleanup_free char *function = plain(symtab_name(tab, (long)i));
		uint64_t hash = hash_text(identity, function), *same = map_put(&seen, hash, 0);

		o->numbers[i] = number_of(b, hash64(hash + ++*same), o, function,
					  kind == OBJECT_FILE ? "" : symtab_section_name(&o->tab, (long)i), kind);
	}
	map_free(&seen);
	o->whole = number_of(b, identity, o, NULL, "", kind);
	return (uint32_t)c->n_objects++;
}

static int decode(const void *data, size_t len, struct symtab *ret, struct error *err)
{
	struct cursor in = cursor_over(data, len);

	*ret = (struct symtab){ 0 };
	return len ? symtab_decode(&in, ret, err) : 0;
}

static int take_module(struct build *b, const struct code_record *r, uint32_t boot, struct error *err)
{
	struct code *c = b->c;
	struct symtab tab;
	uint32_t object;

	if (decode(r->symbols, r->symbols_len, &tab, err) < 0)
		return -1;
	object = add_object(b, plain(r->name), hash_text(r->is_object ? 3 : 1, r->name), &tab,
			    r->is_object ? OBJECT_OUTSIDE : OBJECT_MODULE);
	/* section 0 stands for "none" */
	for (size_t i = 1; i < tab.n_sections; i++) {
		const struct symtab_section *s = &tab.sections[i];

		code_ranges_add(&c->ranges, &(struct code_range){
			.start = s->addr, .end = s->end, .from_ns = r->ns, .object = object, .boot = boot,
		});
	}
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash && slash[1])
		return slash + 1;
	return *path ? path : "anonymous";
}

/* "[vdso]" is in brackets already. */
static char *label_of(const char *path)
{
	char *label = plain(base_name(path));
	size_t n = strlen(label);

	if (*label == '[' && label[n - 1] == ']') {
		label[n - 1] = '\0';
		memmove(label, label + 1, n - 1);
	}
	return label;
}

static uint64_t hash_file(const char *path, uint64_t size)
{
	return hash64(hash_text(2, path) + size);
}

/* What the trace has of a file's functions, or NULL. */
static const struct code_file *file_of(const struct build *b, const struct code_record *r, uint64_t content)
{
	const uint64_t *file =
		content ? map_get(&b->by_content, content) : map_get(&b->symbols, hash_file(r->name, r->file_size));

	return file ? &b->files->list[*file] : NULL;
}

/*
 * The first of all contents that the trace has the same functions of: one file is one object, and so is what has no
 * functions.
 */
static uint64_t first_content(const struct code_file *f)
{
	return f->n_contents ? f->contents[0] : 0;
}

static int take_mapped(struct build *b, const struct code_record *r, uint64_t content, uint32_t *ret_object,
		       struct error *err)
{
	const struct code_file *file = file_of(b, r, content);
	uint64_t hash = hash64(hash64(hash_file(r->name, r->file_size) + r->device) + r->inode);
	uint64_t identity = content && file ? hash64(hash + first_content(file)) : hash,
		 *known = map_put(&b->objects, identity, 0);
	struct symtab tab;

	if (!*known) {
		if (decode(file ? file->symbols : NULL, file ? file->symbols_len : 0, &tab, err) < 0)
			return -1;
		*known = add_object(b, label_of(r->name), identity, &tab, OBJECT_FILE) + 1;
	}
	*ret_object = (uint32_t)(*known - 1);
	return 0;
}

static void take_files(struct build *b, const struct reader *r)
{
	b->files = &r->files;
	for (size_t i = 0; i < r->files.count; i++) {
		const struct code_file *f = &r->files.list[i];

		if (!f->n_contents)
			*map_put(&b->symbols, hash_file(f->path, f->size), i) = i;
		for (size_t k = 0; k < f->n_contents; k++)
			*map_put(&b->by_content, f->contents[k], i) = i;
	}
}

static int take_records(struct build *b, const struct reader *r, struct error *err)
{
	for (size_t i = 0; i < r->code.count; i++) {
		const struct code_record *record = &r->code.records[i];
		uint32_t boot = (uint32_t)boots_at(&r->boots, record->ns);

		if (record->change == CODE_MODULE && take_module(b, record, boot, err) < 0)
			return error_prefix(err, "%s", record->name);
		if (record->change == CODE_FREED)
			code_ranges_end(&b->c->ranges, record->start, record->ns, boot);
		if (record->change == CODE_MAPPED)
			if (take_mapped(b, record, b->contents[i], &b->c->of_record[i], err) < 0)
				return error_prefix(err, "%s", record->name);
	}
	return 0;
}

int code_init(struct code *c, const struct reader *r, struct error *err)
{
	struct build b = { .c = c };
	int ret;

	*c = (struct code){ .of_record = xcalloc(r->code.count, sizeof *c->of_record), .n_records = r->code.count };
	b.contents = mapped_contents(&r->code, &r->boots);
	take_files(&b, r);
	ret = take_records(&b, r, err);
	code_ranges_sort(&c->ranges);
	map_free(&b.numbers);
	map_free(&b.symbols);
	map_free(&b.by_content);
	free(b.contents);
	map_free(&b.objects);
	if (ret < 0)
		code_deinit(c);
	return ret;
}

void code_deinit(struct code *c)
{
	for (size_t i = 0; i < c->n_functions; i++)
		free((char *)c->functions[i].name);
	for (size_t i = 0; i < c->n_objects; i++) {
		free((char *)c->objects[i].name);
		symtab_deinit(&c->objects[i].tab);
		free(c->objects[i].numbers);
	}
	free(c->objects);
	free(c->functions);
	code_ranges_deinit(&c->ranges);
	free(c->of_record);
	*c = (struct code){ 0 };
}

static struct code_place place_in(const struct code_object *o, uint64_t addr)
{
	struct code_place p = { .object = o, .index = symtab_lookup(&o->tab, addr), .offset = addr };

	if (p.index != SYMTAB_NONE)
		p.offset -= o->tab.symbols[p.index].addr;
	return p;
}

/* Of two that have the address, the one that counts at that time: the last to come, or the first that will. */
struct code_place code_in_kernel(const struct code *c, uint64_t addr, uint64_t ns, size_t boot)
{
	bool only;
	const struct code_range *range = code_ranges_find(&c->ranges, addr, ns, boot, &only);
	struct code_place p;

	if (!range)
		return (struct code_place){ .always = true };
	if (range->to_ns <= ns)
		return (struct code_place){ 0 };
	p = place_in(&c->objects[range->object], addr);
	if (p.index == SYMTAB_NONE)
		p.offset = addr - range->start;
	p.always = only && range->to_ns == UINT64_MAX;
	return p;
}

struct code_place code_in_file(const struct code *c, const struct code_record *mapping, size_t record, uint64_t addr)
{
	return place_in(&c->objects[c->of_record[record]], addr - mapping->start + mapping->offset);
}

void code_put_name(const struct code_place *p, struct buf *out)
{
	cleanup_free char *name = plain(symtab_name(&p->object->tab, p->index));

	buf_printf(out, "%s", name);
}
