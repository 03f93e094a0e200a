/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A configuration of KFI or KFT. Each function must stand in the text where it is said to. The same input as a
 * System.map, and as a log whose addresses that map replaces.
 */
#include "fuzz.h"

#include "kfi/config.h"
#include "kfi/resolve.h"

static void look_at_function(const struct kfi_function *f, const char *text, size_t size)
{
	if (!f->name)
		return;
	must(strlen(f->name) && f->at <= size && strlen(f->name) <= size - f->at);
	must(!memcmp(text + f->at, f->name, strlen(f->name)) && f->line);
}

static void look(const struct kfi_config *config, const char *text, size_t size)
{
	must(config->count);
	for (size_t i = 0; i < config->count; i++) {
		const struct kfi_run *run = &config->runs[i];

		must(run->line && run->log_entries && !(run->no_interrupts && run->only_interrupts));
		must(!run->max_us || run->min_us <= run->max_us);
		look_at_function(&run->start.function, text, size);
		look_at_function(&run->stop.function, text, size);
		for (size_t k = 0; k < run->n_functions; k++)
			look_at_function(&run->functions[k], text, size);
	}
}

static void resolve(const char *text, size_t size, bool in_rows)
{
	struct resolver r = { .in_rows = in_rows };
	struct symbol_map map;
	struct buf out = { 0 };
	struct error err;
	const char *end = text + size;

	if (symbol_map_read(text, size, &map, &err) == 0) {
		r.map = &map;
		for (const char *p = text; p < end;) {
			const char *nl = memchr(p, '\n', (size_t)(end - p)), *next = nl ? nl + 1 : end;

			resolve_line(&r, p, (size_t)(next - p), &out);
			p = next;
		}
	}
	buf_free(&out);
	symbol_map_deinit(&map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guarded g = guarded_copy(data, size, 1);
	struct kfi_config config;
	struct error err;

	if (kfi_config_parse("conf", (char *)g.data, size, &config, &err) == 0)
		look(&config, (char *)g.data, size);
	else
		must(!strncmp(err.text, "conf:", 5));
	kfi_config_deinit(&config);
	resolve((char *)g.data, size, false);
	resolve((char *)g.data, size, true);
	guarded_free(&g);
	return 0;
}
