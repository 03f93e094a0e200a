/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "build_layout.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "cli/print/json_output.h"
#include "cli/print/output_file.h"
#include "guest/kernel_sources.h"
#include "trace/format.h"

/* The last boot's, of which there is one. */
static int from_trace(const char *path, struct layout *ret, struct error *err)
{
	char key[BOOT_KEY];
	const char *text = NULL;
	struct reader *r;

	if (reader_open(path, &r, err) < 0)
		return -1;
	for (size_t i = r->boots.count; i-- > 0 && !text;)
		text = meta_get(&r->meta, boot_key(r->boots.list[i].number, "layout", key));
	if (text)
		layout_from_text(text, ret);
	reader_free(r);
	return text ? 0
		    : error_set(err, "%s: has no layout: no kernel was found, or an earlier version recorded it", path);
}

static bool is_trace(const char *path)
{
	char magic[sizeof FORMAT_MAGIC - 1];
	FILE *f = fopen(path, "rb");
	bool is = f && fread(magic, sizeof magic, 1, f) == 1 && !memcmp(magic, FORMAT_MAGIC, sizeof magic);

	if (f)
		fclose(f);
	return is;
}

/* A kernel's image, with what lies beside it, or any file that describes types. */
static int from_file(const char *path, struct layout *ret, struct error *err)
{
	const struct kernel_sources sources = { .image = path };
	struct known_kernel kernel;
	struct error ignored;

	if (layout_from_file(path, ret, err) == 0) {
		for (int i = 0; i < MEMBERS; i++)
			ret->from[i] = LAYOUT_TYPES;
		return 0;
	}
	if (kernel_sources_read(&sources, &kernel, &ignored) < 0)
		return -1;
	*ret = kernel.layout;
	known_kernel_deinit(&kernel);
	return layout_any(ret)
		       ? 0
		       : error_set(
				 err,
				 "%s: has no types, and no vmlinux with types lies beside it; --build DIR makes them of its build tree",
				 path);
}

static int find_layout(const struct args *args, struct layout *ret, struct error *err)
{
	if (arg(args, "build"))
		return build_layout(arg(args, "build"), ret, err);
	return is_trace(args->operands[0]) ? from_trace(args->operands[0], ret, err)
					   : from_file(args->operands[0], ret, err);
}

static void print_text(const struct layout *l)
{
	for (int i = 0; i < MEMBERS; i++)
		if (l->offset[i] != MEMBER_UNKNOWN)
			printf("%-36s %6" PRId32 "  %s\n", layout_member((enum member)i), l->offset[i],
			       layout_source_name((enum layout_source)l->from[i]));
	for (int i = 0; i < LAYOUT_SIZES; i++)
		if (l->size[i])
			printf("sizeof %-29s %6" PRIu32 "\n", layout_structure((enum layout_size)i), l->size[i]);
}

static void print_json(const struct layout *l)
{
	struct json j;

	json_output_begin(&j);
	json_object(&j, NULL);
	json_rows(&j, "members");
	for (int i = 0; i < MEMBERS; i++) {
		if (l->offset[i] == MEMBER_UNKNOWN)
			continue;
		json_object(&j, NULL);
		json_text(&j, "member", layout_member((enum member)i));
		json_signed(&j, "offset", l->offset[i]);
		json_text(&j, "from", layout_source_name((enum layout_source)l->from[i]));
		json_close(&j);
	}
	json_close(&j);
	json_object(&j, "sizes");
	for (int i = 0; i < LAYOUT_SIZES; i++)
		if (l->size[i])
			json_number(&j, layout_structure((enum layout_size)i), l->size[i]);
	json_close(&j);
	json_close(&j);
	json_output_end(&j);
}

static int write_btf(const struct args *args, const struct layout *l, struct error *err)
{
	struct buf out = { 0 };
	struct output_file file;
	int r = layout_put_btf(l, &out, err);

	if (r == 0)
		r = output_file_open(&file, arg(args, "output"), OUTPUT_TEXT, arg(args, "force"), err);
	if (r == 0) {
		r = write_all(file.fd, out.data, out.len);
		r = output_file_close(&file, r < 0 ? error_set(err, "%s: %s", arg(args, "output"), strerror(-r)) : 0,
				      err);
	}
	buf_free(&out);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int run(const struct args *args, struct error *err)
{
	struct layout layout;

	if (!arg(args, "build") == !args->n_operands) {
		error_set(err, args->n_operands ? "--build DIR and a file exclude each other"
						: "a file is missing: a trace, a kernel, or one with types");
		return EXIT_USAGE;
	}
	if (arg(args, "output") && output_file_check(arg(args, "output"), OUTPUT_TEXT, arg(args, "force"),
						     args->n_operands ? args->operands[0] : NULL, err) < 0)
		return EXIT_FAILED;
	if (find_layout(args, &layout, err) < 0)
		return EXIT_FAILED;
	if (arg(args, "output"))
		return write_btf(args, &layout, err);
	(arg(args, "json") ? print_json : print_text)(&layout);
	return EXIT_OK;
}

static const struct option options[] = {
	{ 0, "build", "DIR",
	  "of the kernel whose build tree, or package of headers, this is: compiles one object in it" },
	{ 'o', "output", "FILE", "write BTF, for --types and for other tools, instead of printing" },
	FORCE_OPTION("file"),
	{ 0, "json", NULL, "print JSON" },
	HELP_OPTION,
	{ 0 },
};

static const struct term keys[] = {
	{ "members", "where a structure has a member" },
	{ "member", "\"task_struct.pid\"" },
	{ "offset", "in bytes" },
	{ "from",
	  "image: the kernel's own BTF; memory: the same in guest memory; types: the file that --types named; vmlinux: that of the "
	  "image, found beside it; cache: an earlier recording of the same build learnt it; learnt: the running guest" },
	{ "sizes", "bytes of structures that stand in arrays" },
	{ 0 },
};
static const struct legend legends[] = { { "JSON", NULL, keys }, { 0 } };

const struct command cmd_layout = {
	.name = "layout",
	.operands = "[FILE|TRACE]",
	.summary = "where does a kernel keep what upto reads of it, and how is that known?",
	.description =
		"Prints the places of members in a kernel's structures: those that a trace was recorded with, or those that a file tells: "
		"a bzImage or vmlinux, BTF, an ELF file with BTF or debug information.\n"
		"A kernel without BTF needs none of this: what lies beside its image is found, and the rest is learnt from the running guest.\n",
	.examples =
		"  upto layout trace.upto\n      what was known, and from where\n"
		"  upto layout --build ~/linux -o linux.btf && upto record --types linux.btf -- qemu-system-x86_64 …\n"
		"      from a build tree without debug information, in some seconds\n"
		"  upto layout vmlinux\n      from debug information\n",
	.options = options,
	.legends = legends,
	.max_operands = 1,
	.run = run,
};
