/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints what the parser has of a configuration of KFI or KFT: a line for each run. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "kfi/config.h"

static void print_trigger(const char *name, const struct kfi_trigger *t)
{
	static const char *const kinds[] = { "never", "entry", "exit", "time" };

	printf("%s %s", name, kinds[t->kind]);
	if (t->function.name)
		printf(" %s", t->function.name);
	if (t->kind == KFI_TRIGGER_TIME)
		printf(" %" PRIu64, t->usecs);
	printf(", ");
}

static void print_run(const struct kfi_run *r)
{
	printf("run %u: ", r->line);
	print_trigger("start", &r->start);
	print_trigger("stop", &r->stop);
	printf("min %" PRIu64 ", max %" PRIu64 ", noints %d, onlyints %d, stack %" PRIu64 ", worst %" PRIu64
	       ", entries %" PRIu64 ", autorepeat %d, overwrite %d, untimed %d, functions",
	       r->min_us, r->max_us, r->no_interrupts, r->only_interrupts, r->stack, r->worst_stack, r->log_entries,
	       r->autorepeat, r->overwrite, r->untimed);
	for (size_t i = 0; i < r->n_functions; i++)
		printf(" %s", r->functions[i].name);
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct kfi_config config = { 0 };
	struct buf text = { 0 };
	struct error err;
	int r = -1;

	if (argc == 2 && file_read(argv[1], 1 << 20, &text, &err) == 0)
		r = kfi_config_parse(argv[1], (char *)text.data, text.len, &config, &err);
	if (r < 0 && argc == 2)
		fprintf(stderr, "%s\n", err.text);
	for (size_t i = 0; r == 0 && i < config.count; i++)
		print_run(&config.runs[i]);
	kfi_config_deinit(&config);
	buf_free(&text);
	return r < 0;
}
