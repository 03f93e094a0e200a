/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "guest/function_name.h"
#include "guest/kernel_marks.h"
#include "guest/tail_jumps.h"
#include "guest_address.h"
#include "recorder/guard.h"
#include "recorder/watch/watch.h"
#include "recorder/x86/cpu_mode.h"

/* Where the kernel's image may be mapped: Documentation/arch/x86/x86_64/mm.rst. */
#define IMAGE_LOW 0xffffffff80000000u
#define IMAGE_HIGH 0xffffffffc0000000u
/*
 * Where it is linked for, unless CONFIG_PHYSICAL_START is not its default: __START_KERNEL,
 * arch/x86/include/asm/page_64_types.h.
 */
#define IMAGE_LINKED 0xffffffff81000000u

enum {
	SLIDE_STEP = 2 << 20,      /* CONFIG_PHYSICAL_ALIGN of a 64-bit kernel; the least of one of 32 bits with PAE */
	/*
	 * of a kernel of 32 bits, from its PAGE_OFFSET on: where it is linked for (CONFIG_PHYSICAL_START), and how far
	 * a slide gets
	 */
	NARROW_LINKED = 16 << 20, NARROW_SLIDES = 512 << 20,
	IMAGE_MAX = 128 << 20,
	ASKED_MAX = 1 << 12,
};

/* Whoever asks about functions without the lock; a guest has one kernel at a time. */
static struct guard asked;

static void find_jumps(struct kernel *k, struct kernel_image *image)
{
	for (size_t i = 0; i < image->n_code; i++)
		tail_jumps_find(image->code[i].bytes.data, image->code[i].bytes.len, image->code[i].addr, symtab_bounds,
				&k->tab, &k->image_jumps);
	kernel_image_drop_code(image);
}

/* The guest's firmware runs meanwhile; when the kernel is there, the guest waits for this. */
static void *load(void *arg)
{
	struct kernel *k = arg;

	if (kernel_sources_read(&k->sources, &k->known, &k->error) == 0) {
		symtab_from_image(&k->tab, &k->known.image);
		find_jumps(k, &k->known.image);
		k->have_image = true; /* seen by who waits for this thread */
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

bool kernel_has_hook(const struct kernel *k, const char *function)
{
	for (size_t i = 0; i < hooks_count; i++)
		if (!strcmp(hooks[i].functions[0], function))
			return !(k->lacking >> i & 1);
	return false;
}

static void put_lack(struct buf *out, const char *name)
{
	buf_printf(out, "%s%s", out->len ? ", " : "", name);
}

/* Is it there, but for what is done for a feature that the kernel does not have? */
static bool lacks_hook(const struct kernel *k, size_t i)
{
	return k->lacking >> i & 1 && !hooks[i].optional && !(k->without >> hooks[i].feature & 1);
}

static bool lacks_member(const struct kernel *k, enum member member)
{
	static const struct { enum member first, last; enum feature feature;
	} features[] = {
		{ MODULE_NAME, MODULE_NAME, FEATURE_MODULES },
		{ MODULE_KALLSYMS, KALLSYMS_STRTAB, FEATURE_MODULE_NAMES },
		{ BPF_START, PROG_JITED_LEN, FEATURE_BPF_JIT },
		{ REQUEST_QUEUE, DISK_NAME, FEATURE_BLOCK },
		{ GROUP_NODE, GROUP_NODE, FEATURE_CGROUPS },
	};

	if (k->layout.offset[member] != MEMBER_UNKNOWN || layout_optional(member))
		return false;
	for (size_t i = 0; i < sizeof features / sizeof *features; i++)
		if (member >= features[i].first && member <= features[i].last && k->without >> features[i].feature & 1)
			return false;
	return true;
}

/* One of two members is enough, the newer or the older one. */
static bool lacks_both(const struct kernel *k, enum member a, enum member b, enum feature feature)
{
	return k->layout.offset[a] == MEMBER_UNKNOWN && k->layout.offset[b] == MEMBER_UNKNOWN &&
	       !(k->without >> feature & 1);
}

void kernel_lacks(const struct kernel *k, struct buf *out)
{
	if (k->other_types)
		put_lack(out, "types of the file that was named, which are another kernel's");
	if (k->no_names) {
		put_lack(out, "names of functions");
		return;
	}
	for (size_t i = 0; i < hooks_count; i++)
		if (lacks_hook(k, i))
			buf_printf(out, "%s%s()", out->len ? ", " : "", hooks[i].functions[0]);
	if (!k->layout.whole && guest_is_narrow())
		put_lack(out, "types of a kernel of 32 bits, of which only those of tasks are learnt");
	if (!k->layout.whole)
		return; /* what is not known may yet be learnt */
	for (int i = 0; i < MEMBERS; i++)
		if (lacks_member(k, (enum member)i))
			put_lack(out, layout_member(i));
	if (lacks_both(k, MODULE_MEM, MODULE_CORE_LAYOUT, FEATURE_MODULES))
		put_lack(out, layout_member(MODULE_MEM));
	if (lacks_both(k, QUEUE_DISK, REQUEST_DISK, FEATURE_BLOCK))
		put_lack(out, layout_member(QUEUE_DISK));
}

/* Functions by what they are called (function_name.h): hash → index in the list + 1. The first of a name counts. */
static void index_functions(const struct symbol_list *symbols, struct map *ret)
{
	for (size_t i = 0; i < symbols->count; i++)
		if (symbol_is_text(symbols->symbols[i].type)) {
			struct function_name name = function_name_shown(symbol_list_name(symbols, i));

			map_put(ret, hash_bytes(0, name.text, name.len), i + 1);
		}
}

static const struct raw_symbol *find_function(const struct symbol_list *symbols, const struct map *index,
					      const char *name)
{
	const uint64_t *found = map_get(index, hash_bytes(0, name, strlen(name)));

	return found ? &symbols->symbols[*found - 1] : NULL;
}

static void add_hook(struct kernel *k, size_t hook, uint64_t addr)
{
	*map_put(&k->hooks_at, addr, 0) = hook + 1;
	k->lacking &= ~(1ull << hook);
}

static void find_hooks(struct kernel *k, const struct kernel_image *image, uint64_t slide)
{
	struct map index = { 0 };

	index_functions(&image->symbols, &index);
	for (size_t i = 0; i < hooks_count; i++) {
		const struct raw_symbol *sym = NULL;

		for (int n = 0; n < HOOK_NAMES && hooks[i].functions[n] && !sym; n++)
			sym = find_function(&image->symbols, &index, hooks[i].functions[n]);
		k->lacking |= 1ull << i;
		if (sym)
			add_hook(k, i, sym->addr + slide);
		else if (hooks[i].watch == watch_task_switch && image->switch_addr)
			add_hook(k, i, image->switch_addr + slide);
	}
	for (int i = 1; i < FEATURES; i++)
		if (!find_function(&image->symbols, &index, feature_functions[i]))
			k->without |= 1u << i;
	map_free(&index);
}

static void note_names(struct kernel *k, const struct kernel_image *image)
{
	if (!k->tab.count)
		k->no_names = xstrdup(image->no_names.text);
}

/* What a kernel of Linux has, and nothing else. */
static bool is_linux(const struct kernel_image *image)
{
	return image->banner || symbol_list_find(&image->symbols, "linux_banner");
}

/* Data of each CPU has small numbers for addresses before 6.15, which no slide moves. */
static uint64_t place_of(const struct kernel_image *image, const char *name, uint64_t slide)
{
	const struct raw_symbol *sym = symbol_list_find(&image->symbols, name);

	return !sym ? 0 : sym->addr >= IMAGE_LOW ? sym->addr + slide : sym->addr;
}

static void find_data(struct kernel *k, const struct kernel_image *image, uint64_t slide)
{
	static const char *const names[KERNEL_DATA] = {
		[DATA_INIT_TASK] = "init_task",       [DATA_PER_CPU_OFFSET] = "__per_cpu_offset",
		[DATA_CURRENT_TASK] = "current_task", [DATA_PCPU_HOT] = "pcpu_hot",
		[DATA_MODULES] = "modules",	      [DATA_BPF_KALLSYMS] = "bpf_kallsyms",
		[DATA_COMMAND_LINE] = "saved_command_line", [DATA_LOG] = "prb",
		[DATA_BTF_MODULES] = "btf_modules",
		[DATA_ORC_IPS] = "__start_orc_unwind_ip", [DATA_ORC_IPS_END] = "__stop_orc_unwind_ip",
		[DATA_ORC] = "__start_orc_unwind",
		[DATA_EVENTS] = "__start_ftrace_events", [DATA_EVENTS_END] = "__stop_ftrace_events",
		[DATA_ENUMS] = "__start_ftrace_eval_maps", [DATA_ENUMS_END] = "__stop_ftrace_eval_maps",
		[DATA_EVENT_STRINGS] = "__start___tracepoint_str",
		[DATA_EVENT_STRINGS_END] = "__stop___tracepoint_str",
		[DATA_TRACEPOINTS] = "__start___tracepoints_ptrs", [DATA_TRACEPOINTS_END] = "__stop___tracepoints_ptrs",
		[DATA_JUMPS] = "__start___jump_table", [DATA_JUMPS_END] = "__stop___jump_table",
	};

	for (int i = 0; i < KERNEL_DATA; i++)
		k->data[i] = place_of(image, names[i], slide);
	for (size_t i = 0; i < k->n_wanted; i++)
		k->wanted[i].addr = place_of(image, k->wanted[i].name, slide);
}

void kernel_want_symbol(struct kernel *k, const char *name)
{
	for (size_t i = 0; i < k->n_wanted; i++)
		if (!strcmp(k->wanted[i].name, name))
			return;
	k->wanted = xreallocarray(k->wanted, k->n_wanted + 1, sizeof *k->wanted);
	k->wanted[k->n_wanted++] = (struct wanted_symbol){ .name = xstrdup(name) };
}

uint64_t kernel_symbol(const struct kernel *k, const char *name)
{
	for (size_t i = 0; i < k->n_wanted; i++)
		if (!strcmp(k->wanted[i].name, name))
			return k->wanted[i].addr;
	return 0;
}

static void use_image(struct kernel *k, const struct kernel_image *image, const struct layout *layout, uint64_t slide)
{
	const struct raw_symbol *command_line = symbol_list_find(&image->symbols, "boot_command_line");
	const struct raw_symbol *early = symbol_list_find(&image->symbols, "early_idt_handler_array");
	const struct raw_symbol *entry_start = symbol_list_find(&image->symbols, "__entry_text_start");
	const struct raw_symbol *entry_end = symbol_list_find(&image->symbols, "__entry_text_end");

	guest_narrow = image->narrow;
	k->slide = slide;
	if (k->keeps_types) {
		k->types.len = 0;
		buf_put(&k->types, image->btf.data, image->btf.len);
	}
	k->layout = *layout;
	note_names(k, image);
	if (is_linux(image)) /* functions of another kernel mean something else by such names */
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
	find_data(k, image, slide);
	k->command_line = command_line ? command_line->addr + slide : 0;
	if (image->banner && !k->banner)
		k->banner = xstrndup(image->banner, strcspn(image->banner, "\n"));
	__atomic_store_n(&k->found, true, __ATOMIC_RELEASE);
}

void kernel_start(struct kernel *k, const struct kernel_sources *sources)
{
	*k = (struct kernel){ .image_table = -1, .sources = *sources };
	if (!sources->image && !sources->n_symbols && !sources->types)
		return;
	if (sources->n_symbols || sources->types) {
		load(k);
		if (k->have_image && k->tab.count && !is_linux(&k->known.image)) {
			k->no_linux = true;
			k->tables = 1;
			use_image(k, &k->known.image, &k->known.layout, 0);
		}
		return;
	}
	k->loading = pthread_create(&k->loader, NULL, load, k) == 0;
	if (!k->loading)
		load(k);
}

/*
 * Is the kernel of the image there, moved by that much? A System.map tells where the banner is, not what it says: any
 * will do there.
 */
static bool is_at(struct registers *regs, const struct kernel_image *image, uint64_t addr, char text[BANNER_MAX + 1])
{
	size_t n = image->banner ? strlen(image->banner) : sizeof "Linux version 6";

	if (!guest_read(regs, addr, text, n))
		return false;
	if (image->banner)
		return !memcmp(text, image->banner, n);
	text[n] = '\0';
	return !strncmp(text, "Linux version ", 14) && guest_read(regs, addr, text, BANNER_MAX);
}

/* Where slid images end. */
static uint64_t image_high(const struct narrow *narrow)
{
	return narrow->size ? (narrow->start | NARROW_HIGH) + NARROW_SLIDES : IMAGE_HIGH;
}

/* A kernel of 32 bits is looked for where such code runs, and no other. */
static bool find_slide(struct kernel *k, struct registers *regs, const struct narrow *narrow)
{
	const struct kernel_image *image = &k->known.image;
	const struct raw_symbol *sym = image->n_banners ? NULL : symbol_list_find(&image->symbols, "linux_banner");
	uint64_t addr = image->n_banners ? image->banner_addrs[0] : sym ? sym->addr : 0;
	char text[BANNER_MAX + 1] = "";

	if (!addr || !narrow->size != !image->narrow.size)
		return false;
	for (uint64_t slide = 0; addr + slide < image_high(&image->narrow) && addr + slide >= addr; slide += SLIDE_STEP)
		if (is_at(regs, image, addr + slide, text)) {
			if (!image->banner)
				k->banner = xstrndup(text, strcspn(text, "\n"));
			use_image(k, image, &k->known.layout, slide);
			k->from_image = true;
			return true;
		}
	return false;
}

/*
 * Where a kernel of 32 bits may begin that has code at that address: all memory is mapped from PAGE_OFFSET on, and the
 * code runs early.
 */
static uint64_t narrow_low(const struct narrow *narrow, uint64_t addr)
{
	uint64_t start = narrow->start | NARROW_HIGH, low = addr & -(uint64_t)NARROW_LINKED;

	return low >= start + NARROW_LINKED ? low - NARROW_LINKED : start;
}

/* The image as it lies in guest memory, from its first page to the first that is missing. */
static void read_mapped(struct registers *regs, const struct narrow *narrow, uint64_t addr, struct buf *out,
			uint64_t *ret_start)
{
	uint64_t at = narrow->size ? narrow_low(narrow, addr) : IMAGE_LOW, high = image_high(narrow);
	char step[4096];

	while (at < high && !guest_read(regs, at, step, sizeof step))
		at += SLIDE_STEP;
	*ret_start = at;
	for (; at < high && out->len < IMAGE_MAX && guest_read(regs, at, step, sizeof step); at += sizeof step)
		buf_put(out, step, sizeof step);
}

/*
 * Symbols out of guest memory are relocated already: put them back to where they are linked for. Returns the slide; 0
 * if the kernel is linked for another place.
 */
static uint64_t undo_slide(struct kernel_image *image)
{
	const struct raw_symbol *text = symbol_list_find(&image->symbols, "_text");
	uint64_t linked = image->narrow.size ? (image->narrow.start | NARROW_HIGH) + NARROW_LINKED : IMAGE_LINKED;
	uint64_t slide = text ? text->addr - linked : 0;

	if (slide % SLIDE_STEP || slide >= image_high(&image->narrow) - linked)
		return 0;
	image->switch_addr -= image->switch_addr ? slide : 0;
	for (size_t i = 0; i < image->symbols.count; i++)
		if (image->symbols.symbols[i].addr >= linked + slide)
			image->symbols.symbols[i].addr -= slide;
	return slide;
}

static bool find_in_memory(struct kernel *k, struct registers *regs, const struct narrow *narrow, uint64_t addr)
{
	struct kernel_image image;
	struct buf memory = { 0 };
	struct layout layout, own;
	struct error ignored;
	uint64_t start;

	read_mapped(regs, narrow, addr, &memory, &start);
	kernel_image_from_memory(memory.data, memory.len, start, narrow, &image);
	if (image.banner) {
		uint64_t slide = undo_slide(&image);

		layout_init(&layout);
		if (image.btf.len && !kernel_sources_learn(&k->sources) &&
		    layout_from_btf(image.btf.data, image.btf.len, &own, &ignored) == 0)
			layout_add(&layout, &own, LAYOUT_MEMORY);
		k->other_types = k->have_image && !kernel_types_fit(&image, &k->known.layout);
		if (k->have_image && !k->other_types) /* types that the user named */
			layout_add(&layout, &k->known.layout, LAYOUT_TYPES);
		symtab_deinit(&k->tab);
		symtab_from_image(&k->tab, &image);
		k->memory_jumps.len = 0;
		tail_jumps_find(memory.data, memory.len, start - slide, symtab_bounds, &k->tab, &k->memory_jumps);
		use_image(k, &image, &layout, slide);
	}
	buf_free(&memory);
	kernel_image_deinit(&image);
	return k->found;
}

bool kernel_is_inside(struct kernel *k, uint64_t addr, uint64_t target)
{
	bool inside;
	long function;

	if (!guard_enter(&asked))
		return false;
	function = kernel_function(k, addr);
	inside = function != SYMTAB_NONE && function == kernel_function(k, target) &&
		 !kernel_function_start(k, function, target);
	guard_leave(&asked);
	return inside;
}

bool kernel_has_code(struct kernel *k, uint64_t addr)
{
	bool has;

	if (!guard_enter(&asked))
		return false;
	has = kernel_function(k, addr) != SYMTAB_NONE;
	guard_leave(&asked);
	return has;
}

/* Nobody looks anything up meanwhile. */
static void forget(struct kernel *k)
{
	struct kernel next;

	if (k->no_linux) {
		k->modules = (struct modules){ 0 };
		return; /* what it is, and where, was said by the user */
	}
	next = (struct kernel){
		.sources = k->sources, .error = k->error, .known = k->known, .have_image = k->have_image,
		.keeps_types = k->keeps_types, .types = k->types, .wanted = k->wanted,
		.n_wanted = k->n_wanted, .tables = k->tables, .image_table = k->image_table,
		.image_jumps = k->image_jumps, .memory_jumps = k->memory_jumps,
	};
	if (k->found && !k->from_image) {
		symtab_deinit(&k->tab);
		if (k->have_image)
			symtab_from_image(&k->tab, &k->known.image);
	}
	next.tab = k->tab;
	free(k->banner);
	free(k->no_names);
	map_free(&k->hooks_at);
	guest_narrow = (struct narrow){ 0 };
	*k = next;
}

void kernel_forget(struct kernel *k)
{
	wait_for_image(k);
	guard_shut(&asked);
	forget(k);
	guard_open(&asked);
}

bool kernel_due(struct kernel *k)
{
	if (k->found || k->no_linux)
		return false;
	/* early on, memory may not be mapped as it will be: try at 1, 4, 16 … blocks */
	k->asked++;
	return !(k->asked & (k->asked - 1)) && !(k->asked & 0xaaaaaaaau) && k->asked <= ASKED_MAX;
}

bool kernel_given_up(const struct kernel *k)
{
	return k->asked > ASKED_MAX;
}

bool kernel_may_be_at(struct registers *regs, uint64_t addr)
{
	if (addr >= IMAGE_LOW && addr < IMAGE_HIGH)
		return true;
	return addr < NARROW_END && cpu_is_paged_32(regs);
}

/*
 * The addresses of a kernel of 32 bits that has code at `addr`: those of the image, if it may be that one, else those
 * likely. Where it turns paging on, its code is still at its physical address.
 */
static struct narrow narrow_at(const struct kernel *k, uint64_t addr)
{
	const struct narrow *known = &k->known.image.narrow;

	if (addr > UINT32_MAX)
		return (struct narrow){ 0 };
	if (k->have_image && known->size && (addr < NARROW_LOWEST || addr >= known->start))
		return *known;
	return narrow_from(narrow_page_offset(addr < NARROW_LOWEST ? NARROW_END : addr));
}

bool kernel_find(struct kernel *k, struct registers *regs, uint64_t addr)
{
	struct narrow narrow;

	wait_for_image(k);
	/* reads are of extended addresses */
	guest_narrow = narrow = narrow_at(k, addr);
	if (narrow.size && addr < NARROW_LOWEST)
		addr += narrow.start;
	if ((k->have_image && find_slide(k, regs, &narrow)) || find_in_memory(k, regs, &narrow, guest_address(addr)))
		return true;
	guest_narrow = (struct narrow){ 0 };
	return false;
}
