/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report_page.h"

#include "base/gzip.h"
#include "page_bytes.h"

/* A sink that writes base64 (RFC 4648): three bytes become four letters. */
struct base64 {
	const struct sink *to;
	struct buf text;
	uint8_t left[3]; /* bytes that are not three yet */
	size_t n_left;
};

static void put_three(struct base64 *b, size_t n)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits =
		(uint32_t)b->left[0] << 16 | (n > 1 ? (uint32_t)b->left[1] << 8 : 0) | (n > 2 ? b->left[2] : 0u);

	for (unsigned i = 0; i < 4; i++)
		buf_put_u8(&b->text, i <= n ? (uint8_t)letters[bits >> (18 - 6 * i) & 63] : '=');
}

static int write_base64(void *context, const void *data, size_t n, struct error *err)
{
	struct base64 *b = context;
	const uint8_t *bytes = data;

	for (size_t i = 0; i < n; i++) {
		b->left[b->n_left++] = bytes[i];
		if (b->n_left == 3) {
			put_three(b, 3);
			b->n_left = 0;
		}
	}
	return sink_pass(b->to, &b->text, err);
}

bool report_page_is_there(void)
{
	return page_head_size > 0;
}

static int put_data(const struct report *r, const struct sink *to, struct error *err)
{
	struct base64 base64 = { .to = to };
	const struct sink letters = { write_base64, &base64 };
	struct gzip gzip;
	struct json json;
	int result;

	if (gzip_init(&gzip, &letters, err) < 0)
		return -1;
	json_init(&json, &gzip.sink);
	report_put(r, &json);
	result = gzip_end(&gzip, json_end(&json, err), err);
	if (base64.n_left)
		put_three(&base64, base64.n_left);
	return sink_end(to, &base64.text, result, err);
}

int report_page_put(const struct report *r, const struct sink *to, struct error *err)
{
	if (to->write(to->context, page_head, page_head_size, err) < 0 || put_data(r, to, err) < 0)
		return -1;
	return to->write(to->context, page_tail, page_tail_size, err);
}

void report_page_put_empty(struct buf *out)
{
	buf_put(out, page_head, page_head_size);
	buf_put(out, page_tail, page_tail_size);
}
