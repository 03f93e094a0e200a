/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command line for QEMU, which any program may have written, as text. */
#include "fuzz.h"

#include "cli/record/qemu_tcg.h"
#include "cli/record/shell_words.h"

/* Words that are quoted come back as they were. */
static void quote_all(const struct shell_words *w)
{
	struct shell_words again = { 0 };
	struct buf text = { 0 };
	struct error err;

	for (size_t i = 0; i < w->count; i++) {
		shell_words_quote(w->list[i], &text);
		buf_put_u8(&text, ' ');
	}
	buf_put_u8(&text, 0);
	must(shell_words_split(&again, (char *)text.data, &err) == 0 && again.count == w->count);
	for (size_t i = 0; i < w->count; i++)
		must(!strcmp(again.list[i], w->list[i]));
	shell_words_deinit(&again);
	buf_free(&text);
}

/* What was changed is not changed again, and nothing of KVM is left that QEMU would heed. */
static void change_twice(char *const *argv)
{
	struct buf said = { 0 }, twice = { 0 };
	char **once = qemu_with_tcg(argv, &said), **again = qemu_with_tcg(once, &twice);

	must(!twice.len);
	for (size_t i = 0; once[i] || again[i]; i++)
		must(once[i] && again[i] && !strcmp(once[i], again[i]));
	qemu_argv_free(once);
	qemu_argv_free(again);
	buf_free(&said);
	buf_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct shell_words w = { 0 };
	struct error err;

	shell_words_add(&w, "qemu-system-x86_64");
	if (shell_words_split(&w, text, &err) == 0) {
		quote_all(&w);
		qemu_only_asks(w.list);
		change_twice(w.list);
	}
	shell_words_deinit(&w);
	free(text);
	return 0;
}
