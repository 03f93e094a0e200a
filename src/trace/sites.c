/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sites.h"

#include "base/alloc.h"

void sites_init(struct sites *s)
{
	*s = (struct sites){ 0 };
	for (unsigned i = 0; i < SITE_FIRST; i++)
		sites_add(s, &(struct site){ .kind = i < EVENT_KINDS ? (enum event_kind)i : EVENT_NONE });
}

/* A block of sites that are not known, which stands for all such blocks: nobody writes to it. */
static struct site nowhere[SITE_BLOCK];

void sites_deinit(struct sites *s)
{
	for (size_t i = 0; i <= s->count / SITE_BLOCK && i < SITES_MAX / SITE_BLOCK; i++)
		if (s->blocks[i] != nowhere)
			free(s->blocks[i]);
	*s = (struct sites){ 0 };
}

uint32_t sites_add(struct sites *s, const struct site *site)
{
	uint32_t i = s->count;

	if (i == SITES_MAX)
		return 0;
	if (!s->blocks[i / SITE_BLOCK])
		s->blocks[i / SITE_BLOCK] = xcalloc(SITE_BLOCK, sizeof *site);
	s->blocks[i / SITE_BLOCK][i % SITE_BLOCK] = *site;
	__atomic_store_n(&s->count, i + 1, __ATOMIC_RELEASE);
	return i;
}

void sites_leave_out(struct sites *s, uint64_t to)
{
	if (to <= s->count || to > SITES_MAX)
		return;
	/* whole blocks take no memory; the one that goes on with sites that are known has its own */
	for (uint64_t i = s->count / SITE_BLOCK; i < to / SITE_BLOCK; i++)
		if (!s->blocks[i])
			s->blocks[i] = nowhere;
	if (to < SITES_MAX && !s->blocks[to / SITE_BLOCK])
		s->blocks[to / SITE_BLOCK] = xcalloc(SITE_BLOCK, sizeof(struct site));
	s->count = (uint32_t)to;
}

static bool has_target(enum event_kind kind)
{
	return kind == EVENT_CALL || kind == EVENT_JUMP;
}

void sites_encode(const struct sites *s, uint32_t from, uint32_t to, struct buf *out)
{
	uint64_t before = 0;

	buf_put_varint(out, from);
	buf_put_varint(out, to - from);
	for (uint32_t i = from; i < to; i++) {
		const struct site *site = sites_get(s, i);

		buf_put_u8(out, (uint8_t)site->kind);
		buf_put_u8(out, site->length);
		buf_put_svarint(out, (int64_t)(site->addr - before));
		if (has_target(site->kind))
			buf_put_svarint(out, (int64_t)(site->target - site->addr));
		before = site->addr;
	}
}

int sites_decode(struct cursor *in, struct sites *s, struct error *err)
{
	uint64_t from = cursor_varint(in), n = cursor_varint(in), before = 0;

	if (in->bad || from != s->count || n > cursor_left(in) / 3 || n > SITES_MAX - s->count)
		return error_set(err, "damaged site table");
	while (n--) {
		struct site site = { .kind = cursor_u8(in) };

		site.length = cursor_u8(in);
		site.addr = before + (uint64_t)cursor_svarint(in);
		if (has_target(site.kind))
			site.target = site.addr + (uint64_t)cursor_svarint(in);
		if (in->bad || site.kind == EVENT_NONE || site.kind >= EVENT_FIRST_SITELESS)
			return error_set(err, "damaged site table");
		sites_add(s, &site);
		before = site.addr;
	}
	return 0;
}
