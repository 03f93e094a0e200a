/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kinds of roots share: sysroot_folder.c, sysroot_ext.c, sysroot_archive.c, sysroot_unpacked.c. */
#ifndef UPTO_GUEST_SYSROOT_KINDS_H
#define UPTO_GUEST_SYSROOT_KINDS_H

#include "sysroot.h"

enum { SYSROOT_FILE_MAX = 512 << 20 };

/* Either files are looked up, or all are shown to a visitor. */
struct search {
	struct wanted_file *files;
	size_t count;
	bool (*take)(void *state, const struct wanted_file *file, const struct buf *data);
	void *state;
	const struct sysroot_visitor *visitor; /* NULL: they are looked up */
};

static inline bool search_wants(const struct wanted_file *f)
{
	return !f->found && *f->path == '/' && f->size && f->size <= SYSROOT_FILE_MAX;
}

/* Is there anything left to look for? */
static inline bool search_wants_any(const struct search *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (search_wants(&s->files[i]))
			return true;
	return s->visitor;
}

static inline void search_hand_over(const struct search *s, struct wanted_file *f, const struct buf *data)
{
	f->found = data->len == f->size && s->take(s->state, f, data);
}

static inline bool search_visits(const struct search *s, const struct guest_file *f)
{
	return f->size && f->size <= SYSROOT_FILE_MAX && s->visitor->wants(s->visitor->state, f);
}

static inline void search_visit(const struct search *s, const struct guest_file *f, const struct buf *data)
{
	if (data->len == f->size)
		s->visitor->take(s->visitor->state, f, data);
}

int search_folder(const char *root, const struct search *s, struct error *err);
/* `offset` is where the file system begins in the image, in bytes. */
int search_ext(const char *root, uint64_t offset, const struct search *s, struct error *err);

/* A file system in an image. */
struct sysroot_part {
	const char *type;       /* blkid's name for it */
	uint64_t offset, size;  /* in bytes; size 0: it is the whole image */
};

/* Is it of a type that a tool unpacks? */
bool sysroot_unpacks(const char *type);
/* Of such a type. `fd` is the image's. */
int search_unpacked(const char *root, int fd, const struct sysroot_part *part, const struct search *s,
		    struct error *err);
int search_archives(const char *root, const struct search *s, struct error *err);

#endif
