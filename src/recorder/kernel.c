/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "guest/kallsyms.h"

/* Where the kernel's image may be mapped: Documentation/arch/x86/x86_64/mm.rst. */
#define IMAGE_LOW 0xffffffff80000000u
#define IMAGE_HIGH 0xffffffffc0000000u
/* Where it is linked for, unless CONFIG_PHYSICAL_START is not its default: __START_KERNEL, arch/x86/include/asm/page_64_types.h. */
#define IMAGE_LINKED 0xffffffff81000000u

enum {
	SLIDE_STEP = 2 << 20,      /* CONFIG_PHYSICAL_ALIGN of a 64-bit kernel */
	IMAGE_MAX = 128 << 20,
	ASKED_MAX = 1 << 12,
};

static struct kernel_types types_of(const struct kernel_image *image)
{
	struct kernel_types types;
	struct error err;

	layout_init(&types.layout);
	types.known = image->btf.len && layout_from_btf(image->btf.data, image->btf.len, &types.layout, &err) == 0;
	return types;
}

/* The guest's firmware runs meanwhile; when the kernel is there, the guest waits for this. */
static void *load(void *arg)
{
	struct kernel *k = arg;

	if (kernel_image_load(k->path, &k->image, &k->error) == 0) {
		symtab_from_image(&k->tab, &k->image);
		k->image_types = types_of(&k->image);
		k->have_image = true;
	}
	return NULL;
}

static void wait_for_image(struct kernel *k)
{
	if (k->loading)
		pthread_join(k->loader, NULL);
	k->loading = false;
}

const struct hook *kernel_hook_at(const struct kernel *k, uint64_t addr)
{
	const uint64_t *hook = map_get(&k->hooks_at, addr);

	return hook && *hook ? &hooks[*hook - 1] : NULL;
}

static void put_lack(struct buf *out, const char *name)
{
	buf_printf(out, "%s%s", out->len ? ", " : "", name);
}

void kernel_lacks(const struct kernel *k, struct buf *out)
{
	const int32_t *offset = k->types.layout.offset;

	for (size_t i = 0; i < hooks_count; i++)
		if (k->lacking >> i & 1 && !hooks[i].optional)
			buf_printf(out, "%s%s()", out->len ? ", " : "", hooks[i].functions[0]);
	if (!k->types.known) {
		put_lack(out, "BTF");
		return;
	}
	for (int i = 0; i < MEMBERS; i++)
		if (offset[i] == MEMBER_UNKNOWN && !layout_optional(i))
			put_lack(out, layout_member(i));
	if (offset[MODULE_MEM] == MEMBER_UNKNOWN && offset[MODULE_CORE_LAYOUT] == MEMBER_UNKNOWN)
		put_lack(out, layout_member(MODULE_MEM));
	if (offset[QUEUE_DISK] == MEMBER_UNKNOWN && offset[REQUEST_DISK] == MEMBER_UNKNOWN)
		put_lack(out, layout_member(QUEUE_DISK));
}

static const struct raw_symbol *find_function(const struct symbol_list *symbols, const struct hook *hook)
{
	const struct raw_symbol *found = NULL;

	for (int i = 0; i < HOOK_NAMES && hook->functions[i] && !found; i++)
		found = symbol_list_find(symbols, hook->functions[i]);
	return found;
}

static void find_hooks(struct kernel *k, const struct kernel_image *image, uint64_t slide)
{
	for (size_t i = 0; i < hooks_count; i++) {
		const struct raw_symbol *sym = find_function(&image->symbols, &hooks[i]);

		if (sym)
			*map_put(&k->hooks_at, sym->addr + slide, 0) = i + 1;
		else
			k->lacking |= 1ull << i;
	}
}

static void use_image(struct kernel *k, const struct kernel_image *image, const struct kernel_types *types, uint64_t slide)
{
	const struct raw_symbol *command_line = symbol_list_find(&image->symbols, "boot_command_line");
	const struct raw_symbol *early = symbol_list_find(&image->symbols, "early_idt_handler_array");
	const struct raw_symbol *entry_start = symbol_list_find(&image->symbols, "__entry_text_start");
	const struct raw_symbol *entry_end = symbol_list_find(&image->symbols, "__entry_text_end");

	k->slide = slide;
	k->types = *types;
	find_hooks(k, image, slide);
	if (entry_start && entry_end) {
		k->entry_start = entry_start->addr + slide;
		k->entry_end = entry_end->addr + slide;
	}
	if (early) {
		long function = symtab_lookup(&k->tab, early->addr);

		k->early_start = early->addr + slide;
		k->early_end = function == SYMTAB_NONE ? 0 : k->tab.symbols[function].end + slide;
	}
	k->command_line = command_line ? command_line->addr + slide : 0;
	if (image->banner)
		k->banner = xstrdup(image->banner);
	__atomic_store_n(&k->found, true, __ATOMIC_RELEASE);
}

void kernel_start(struct kernel *k, const char *path, bool symbols)
{
	*k = (struct kernel){ .image_table = -1 };
	if (!path)
		return;
	k->path = xstrdup(path);
	if (symbols) {
		load(k);
		if (k->have_image && !symbol_list_find(&k->image.symbols, "linux_banner")) {
			k->no_linux = true;
			k->tables = 1;
			use_image(k, &k->image, &k->image_types, 0);
		}
		return;
	}
	k->loading = pthread_create(&k->loader, NULL, load, k) == 0;
	if (!k->loading)
		load(k);
}

/* A System.map tells where the banner is, not what it says: any will do there. */
static bool banner_matches(const struct kernel_image *image, const char *text, size_t n)
{
	if (image->banner)
		return !strncmp(text, image->banner, n);
	return !strncmp(text, "Linux version ", 14);
}

static bool find_slide(struct kernel *k, struct registers *regs)
{
	struct kernel_image *image = &k->image;
	const struct raw_symbol *sym = symbol_list_find(&image->symbols, "linux_banner");
	size_t n = image->banner ? strlen(image->banner) : 64;
	char text[513] = "";

	if (!sym || n >= sizeof text)
		return false;
	for (uint64_t slide = 0; sym->addr + slide < IMAGE_HIGH && sym->addr + slide >= sym->addr; slide += SLIDE_STEP)
		if (guest_read(regs, sym->addr + slide, text, n) && banner_matches(image, text, n)) {
			use_image(k, image, &k->image_types, slide);
			k->from_image = true;
			if (!k->banner)
				k->banner = xstrndup(text, strcspn(text, "\n"));
			return true;
		}
	return false;
}

/* The image as it lies in guest memory, from its first page to the first that is missing. */
static void read_mapped(struct registers *regs, struct buf *out, uint64_t *ret_start)
{
	uint64_t at = IMAGE_LOW;
	char step[4096];

	while (at < IMAGE_HIGH && !guest_read(regs, at, step, sizeof step))
		at += SLIDE_STEP;
	*ret_start = at;
	for (; at < IMAGE_HIGH && out->len < IMAGE_MAX && guest_read(regs, at, step, sizeof step); at += sizeof step)
		buf_put(out, step, sizeof step);
}

static void take_btf(struct kernel_image *image, const struct buf *memory, uint64_t start)
{
	const struct raw_symbol *first = symbol_list_find(&image->symbols, "__start_BTF");
	const struct raw_symbol *end = symbol_list_find(&image->symbols, "__stop_BTF");

	if (first && end && first->addr >= start && end->addr > first->addr && end->addr - start <= memory->len)
		buf_put(&image->btf, memory->data + (first->addr - start), end->addr - first->addr);
}

/*
 * Symbols out of guest memory are relocated already: put them back to where they are linked for. Returns the slide; 0 if
 * the kernel is linked for another place.
 */
static uint64_t undo_slide(struct kernel_image *image)
{
	const struct raw_symbol *text = symbol_list_find(&image->symbols, "_text");
	uint64_t slide = text ? text->addr - IMAGE_LINKED : 0;

	if (slide % SLIDE_STEP || slide >= IMAGE_HIGH - IMAGE_LINKED)
		return 0;
	for (size_t i = 0; i < image->symbols.count; i++)
		if (image->symbols.symbols[i].addr >= IMAGE_LINKED + slide)
			image->symbols.symbols[i].addr -= slide;
	return slide;
}

static bool find_in_memory(struct kernel *k, struct registers *regs)
{
	struct kernel_image image = { 0 };
	struct buf memory = { 0 };
	struct kernel_types types;
	const struct raw_symbol *banner;
	struct error err;
	uint64_t start, slide;
	bool found = false;

	read_mapped(regs, &memory, &start);
	if (memory.len && kallsyms_read(memory.data, memory.len, start, &image.symbols, &err) == 0) {
		banner = symbol_list_find(&image.symbols, "linux_banner");
		if (banner && banner->addr >= start && banner->addr - start + 512 < memory.len) {
			const char *text = (const char *)memory.data + (banner->addr - start);

			image.banner = xstrndup(text, strnlen(text, 511));
			take_btf(&image, &memory, start);
			slide = undo_slide(&image);
			symtab_deinit(&k->tab);
			symtab_from_image(&k->tab, &image);
			types = types_of(&image);
			use_image(k, &image, &types, slide);
			found = true;
		}
	}
	kernel_image_deinit(&image);
	buf_free(&memory);
	return found;
}

void kernel_forget(struct kernel *k)
{
	struct kernel next;

	if (k->no_linux)
		return; /* what it is, and where, was said by the user */
	wait_for_image(k);
	next = (struct kernel){
		.path = k->path, .error = k->error, .image = k->image, .image_types = k->image_types, .have_image = k->have_image,
		.tables = k->tables, .image_table = k->image_table,
	};
	if (k->found && !k->from_image) {
		symtab_deinit(&k->tab);
		if (k->have_image)
			symtab_from_image(&k->tab, &k->image);
	}
	next.tab = k->tab;
	free(k->banner);
	map_free(&k->hooks_at);
	*k = next;
}

bool kernel_due(struct kernel *k)
{
	if (k->found || k->no_linux)
		return false;
	/* early on, memory may not be mapped as it will be: try at 1, 4, 16 … blocks */
	k->asked++;
	return !(k->asked & (k->asked - 1)) && !(k->asked & 0xaaaaaaaau) && k->asked <= ASKED_MAX;
}

bool kernel_find(struct kernel *k, struct registers *regs)
{
	wait_for_image(k);
	return (k->have_image && find_slide(k, regs)) || find_in_memory(k, regs);
}
