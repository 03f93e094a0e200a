/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "float_text.h"
#include "utf8.h"

void json_init(struct json *j, const struct sink *sink)
{
	*j = (struct json){ .sink = sink };
}

void json_flush(struct json *j)
{
	if (!j->failed && j->text.len && j->sink->write(j->sink->context, j->text.data, j->text.len, &j->err) < 0)
		j->failed = true;
	j->text.len = 0;
}

int json_end(struct json *j, struct error *err)
{
	int r = sink_end(j->sink, &j->text, j->failed ? -1 : 0, &j->err);

	if (r < 0)
		*err = j->err;
	return r;
}

static void put_string(struct buf *out, const char *text)
{
	buf_put_u8(out, '"');
	while (*text) {
		uint32_t c = 0;
		unsigned n = utf8_decode(text, &c);

		if (!n)
			buf_printf(out, "\\ufffd");
		else if (c < 0x20 || c == 0x7f)
			buf_printf(out, "\\u%04x", (unsigned)c);
		else if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", (char)c);
		else
			buf_put(out, text, n);
		text += n ? n : 1;
	}
	buf_put_u8(out, '"');
}

/* What goes before a value. */
static void begin(struct json *j, const char *key)
{
	if (j->failed)
		j->text.len = 0;
	else if (sink_pass(j->sink, &j->text, &j->err) < 0)
		j->failed = true;
	if (j->depth) {
		if (j->open[j->depth - 1].any)
			buf_put_u8(&j->text, ',');
		if (j->open[j->depth - 1].rows)
			buf_put_u8(&j->text, '\n');
		j->open[j->depth - 1].any = true;
	}
	if (!key)
		return;
	put_string(&j->text, key);
	buf_put_u8(&j->text, ':');
}

static void end(struct json *j)
{
	if (!j->depth)
		buf_put_u8(&j->text, '\n');
}

static void open(struct json *j, const char *key, char first, char last, bool rows)
{
	assert(j->depth < JSON_DEPTH_MAX);
	begin(j, key);
	buf_put_u8(&j->text, (uint8_t)first);
	j->open[j->depth].end = last;
	j->open[j->depth].any = false;
	j->open[j->depth].rows = rows;
	j->depth++;
}

void json_object(struct json *j, const char *key)
{
	open(j, key, '{', '}', false);
}

void json_array(struct json *j, const char *key)
{
	open(j, key, '[', ']', false);
}

void json_rows(struct json *j, const char *key)
{
	open(j, key, '[', ']', true);
}

void json_close(struct json *j)
{
	assert(j->depth);
	j->depth--;
	if (j->open[j->depth].rows)
		buf_put_u8(&j->text, '\n');
	buf_put_u8(&j->text, (uint8_t)j->open[j->depth].end);
	end(j);
}

void json_number(struct json *j, const char *key, uint64_t n)
{
	begin(j, key);
	buf_printf(&j->text, "%" PRIu64, n);
	end(j);
}

void json_known(struct json *j, const char *key, bool known, uint64_t n)
{
	if (known)
		json_number(j, key, n);
	else
		json_null(j, key);
}

void json_signed(struct json *j, const char *key, int64_t n)
{
	begin(j, key);
	buf_printf(&j->text, "%" PRId64, n);
	end(j);
}

void json_real(struct json *j, const char *key, double n, int places)
{
	begin(j, key);
	buf_printf(&j->text, "%.*f", places, n);
	end(j);
}

void json_float(struct json *j, const char *key, double n)
{
	begin(j, key);
	if (isfinite(n))
		float_put(&j->text, n, false);
	else
		buf_printf(&j->text, "null");
	end(j);
}

void json_flag(struct json *j, const char *key, bool yes)
{
	begin(j, key);
	buf_printf(&j->text, "%s", yes ? "true" : "false");
	end(j);
}

void json_text(struct json *j, const char *key, const char *text)
{
	if (!text) {
		json_null(j, key);
		return;
	}
	begin(j, key);
	put_string(&j->text, text);
	end(j);
}

void json_address(struct json *j, const char *key, uint64_t addr)
{
	begin(j, key);
	buf_printf(&j->text, "\"0x%" PRIx64 "\"", addr);
	end(j);
}

void json_null(struct json *j, const char *key)
{
	begin(j, key);
	buf_printf(&j->text, "null");
	end(j);
}
