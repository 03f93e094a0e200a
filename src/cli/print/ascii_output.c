/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ascii_output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"

enum { CHARACTER_MAX = 4 };

struct filter {
	int fd;
	char rest[CHARACTER_MAX]; /* the beginning of a character whose end comes with the next write */
	size_t n_rest;
	/* by so many columns the line is longer than it was: padding that follows makes up for it */
	unsigned longer;
	char last;
};

bool ascii_output_wanted(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return !strcasestr(value, "utf-8") && !strcasestr(value, "utf8");
	}
	return false;
}

static const char *likeness_of(uint32_t character)
{
	static const struct { uint32_t character; const char *text; } known[] = {
		{ 0xb5, "u" },                                                      /* µ */
		{ 0x2026, "..." },                                                  /* … */
		/* bars of five to eight eighths … */
		{ 0x2588, "#" }, { 0x2589, "#" }, { 0x258a, "#" }, { 0x258b, "#" },
		{ 0x258c, "-" }, { 0x258d, "-" }, { 0x258e, "-" }, { 0x258f, "-" }, /* … and of fewer */
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].character == character)
			return known[i].text;
	return "?";
}

static void put_byte(struct filter *f, char byte, struct buf *out)
{
	if (byte == ' ' && f->last == ' ' && f->longer) {
		f->longer--;
		return;
	}
	if (byte == '\n')
		f->longer = 0;
	f->last = byte;
	buf_put_u8(out, (uint8_t)byte);
}

static void put_character(struct filter *f, const char *text, struct buf *out)
{
	uint32_t character;
	const char *likeness = utf8_decode(text, &character) ? likeness_of(character) : "?";

	for (const char *p = likeness; *p; p++)
		put_byte(f, *p, out);
	f->longer += (unsigned)strlen(likeness) - 1;
}

/* A character's bytes are gathered: its first one tells how many there are. */
static size_t length_by(uint8_t first)
{
	return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
}

static void filter_byte(struct filter *f, char byte, struct buf *out)
{
	char text[CHARACTER_MAX + 1] = "";

	if (f->n_rest && (byte & 0xc0) != 0x80) { /* it has no end */
		f->n_rest = 0;
		put_byte(f, '?', out);
	}
	if (!f->n_rest && !(byte & 0x80)) {
		put_byte(f, byte, out);
		return;
	}
	f->rest[f->n_rest++] = byte;
	if (f->n_rest < length_by((uint8_t)f->rest[0]))
		return;
	memcpy(text, f->rest, f->n_rest);
	f->n_rest = 0;
	put_character(f, text, out);
}

static bool write_whole(int fd, const struct buf *data)
{
	for (size_t at = 0; at < data->len;) {
		ssize_t n = write(fd, data->data + at, data->len - at);

		if (n < 0 && errno != EINTR)
			return false;
		at += n < 0 ? 0 : (size_t)n;
	}
	return true;
}

static ssize_t write_filtered(void *cookie, const char *data, size_t n)
{
	struct filter *f = cookie;
	struct buf out = { 0 };
	bool done;

	for (size_t i = 0; i < n; i++)
		filter_byte(f, data[i], &out);
	done = write_whole(f->fd, &out);
	buf_free(&out);
	return done ? (ssize_t)n : 0;
}

static int forget(void *cookie)
{
	free(cookie);
	return 0;
}

void ascii_output(FILE **stream, int fd)
{
	struct filter *f = xcalloc(1, sizeof *f);
	FILE *filtered;

	f->fd = fd;
	filtered = fopencookie(f, "w", (cookie_io_functions_t){ .write = write_filtered, .close = forget });
	if (!filtered) {
		free(f);
		return;
	}
	setvbuf(filtered, NULL, fd == STDERR_FILENO ? _IONBF : isatty(fd) ? _IOLBF : _IOFBF, BUFSIZ);
	*stream = filtered;
}
