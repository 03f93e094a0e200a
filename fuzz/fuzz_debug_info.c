/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file with debug information: its functions, lines and variables, as definitions of probes name them. */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "probes/dwarf_values.h"
#include "probes/probe_resolve.h"

/* elfutils 0.188 loses a few bytes where it gives up on what is damaged (dwarf_getscopes()). */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libdw\n";
}

static void see(void *context, const char *type, const char *name, const char *why)
{
	(void)context;
	must(type && name && (!why || *why));
}

static void look_for(const struct dwarf_file *f, const char *text)
{
	struct probe_definition d, again;
	struct dwarf_places places;
	struct buf out = { 0 };
	struct error err;
	size_t left_out;

	must(probe_definition_parse(text, &d, &err) == 0);
	if (dwarf_places_init(&places, f, &d, &err) == 0)
		for (size_t i = 0; i < places.count; i++)
			dwarf_each_variable(f, &places.list[i], see, NULL);
	dwarf_places_deinit(&places);
	/* what is put is a definition itself, unless names have what no name has */
	if (probe_resolve(f, &d, &out, &left_out, &err) == 0 && out.len) {
		buf_put_u8(&out, 0);
		((char *)out.data)[strcspn((char *)out.data, "\n")] = '\0';
		probe_definition_parse((char *)out.data, &again, &err);
		probe_definition_deinit(&again);
	}
	buf_free(&out);
	probe_definition_deinit(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const texts[] = {
		"f $vars",     "f:2 $vars",    "g* s->a s->b.c[1]", "f%return $retval", "x.c:3 n:u32 name:string",
		"f+4 s->bits", "f;*n* $params", "f $arg1->a $arg7", "0x1000 x", "sdt_probed:*", "p:a/b g ((s*)$arg1)->a"
	};
	int fd = memfd_create("debug", MFD_CLOEXEC);
	struct dwarf_file *f;
	struct error err;
	char path[64];

	must(fd >= 0 && write_all(fd, data, size) == 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (dwarf_file_open(path, &f, &err) == 0) {
		for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
			look_for(f, texts[i]);
		dwarf_file_close(f);
	}
	close(fd);
	return 0;
}
