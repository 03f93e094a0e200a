/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "cli/print/terminal.h"
#include "file_symbols.h"

static int run(const struct args *args, struct error *err)
{
	struct file_symbols found;
	struct roots roots = { 0 };
	int r;

	if (!arg(args, "sysroot")) {
		error_set(err, "--sysroot is missing: where are the guest's files?");
		return EXIT_USAGE;
	}
	roots.fetch = true;
	roots_add_list(&roots, arg(args, "sysroot"));
	r = file_symbols_add(args->operands[0], &roots, &found, err);
	roots_deinit(&roots);
	if (r < 0)
		return EXIT_FAILED;
	printf("%zu of the %zu files that ran have more symbols now\n", found.found, found.wanted);
	if (found.differ)
		printf("of %zu there are only files with their path and size, but other content\n", found.differ);
	if (found.unsure)
		printf("%zu may be one of several files: their content was not seen, or is not enough to tell\n",
		       found.unsure);
	if (found.stripped) {
		struct buf names = { 0 }, packages = { 0 };

		terminal_escape(&names, found.stripped_names);
		if (found.stripped > STRIPPED_NAMED)
			buf_printf(&names, " …");
		file_symbols_put_packages(&found, &packages);
		printf("%zu are stripped, and have only the names that they offer to others (%.*s): their debug packages%.*s have all, below /usr/lib/debug, "
		       "or a server that DEBUGINFOD_URLS names\n",
		       found.stripped, (int)names.len, (char *)names.data, (int)packages.len, (char *)packages.data);
		buf_free(&names);
		buf_free(&packages);
	}
	if (found.left_out)
		printf("the symbols of %zu did not fit into the trace\n", found.left_out);
	return EXIT_OK;
}

static const struct option options[] = {
	{ 0, "sysroot", "ROOTS", "the guest's files: folders, images of file systems, initramfs; with colons between them", ':' },
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_symbols = {
	.name = "symbols",
	.operands = "TRACE",
	.summary = "add the functions of programs and libraries to a trace",
	.description =
		"Looks for the files that ran in the guest, and puts the functions of each into the trace, which then has their names "
		"wherever it is read. 'upto record' and 'upto boot' do so themselves with the guest's initramfs, its disks that are "
		"plain images of ext4, and what --sysroot names. Of squashfs, erofs and btrfs, squashfs-tools, erofs-utils or btrfs-progs must be installed.\n"
		"A file is taken for one that ran if it has the build-id that was in the guest's memory, or else the ELF header and "
		"the bytes of code that were there; first under its own path, then anywhere. If none of it was in memory, path and size "
		"tell, or the inode in an ext4 image, but only if no other file may be meant.\n"
		"The symbols of a stripped file are looked for by its build-id: below usr/lib/debug in the given folders, "
		"below the host's /usr/lib/debug, then on a debuginfod server, if DEBUGINFOD_URLS names one.\n",
	.examples =
		"  upto symbols --sysroot /srv/guest trace.upto\n      from a folder\n"
		"  upto symbols --sysroot root.ext4:initrd.img trace.upto\n      from an image, then from an initramfs\n",
	.options = options,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
