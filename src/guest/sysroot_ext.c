/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ext2fs/ext2fs.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "sysroot_kinds.h"

enum {
	STEP = 1 << 18,
	PATH_LENGTH = 4096,
};

static void read_inode(ext2_filsys fs, ext2_ino_t number, uint64_t size, struct buf *out)
{
	struct ext2_inode inode;
	ext2_file_t file;
	unsigned n;

	if (ext2fs_read_inode(fs, number, &inode) || !LINUX_S_ISREG(inode.i_mode) || EXT2_I_SIZE(&inode) != size ||
	    ext2fs_file_open(fs, number, 0, &file))
		return;
	buf_reserve(out, size);
	while (out->len < size &&
	       !ext2fs_file_read(file, out->data + out->len,
				 (unsigned)(size - out->len < STEP ? size - out->len : STEP), &n) &&
	       n)
		out->len += n;
	ext2fs_file_close(file);
}

static void look_up(ext2_filsys fs, const struct search *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct buf data = { 0 };
		ext2_ino_t number;

		if (!search_wants(&s->files[i]) ||
		    ext2fs_namei_follow(fs, EXT2_ROOT_INO, EXT2_ROOT_INO, s->files[i].path, &number))
			continue;
		read_inode(fs, number, s->files[i].size, &data);
		search_hand_over(s, &s->files[i], &data);
		buf_free(&data);
	}
}

/*
 * The folders that are yet to be read. Whatever has several names counts once, so that an image in which folders hold
 * each other ends.
 */
struct walk {
	ext2_filsys fs;
	const struct search *search;
	ext2fs_inode_bitmap seen;
	struct folder {
		ext2_ino_t number;
		char *path;
	} *folders;
	size_t count, cap;
	const char *path;     /* of the folder that is read */
};

static void visit(struct walk *w, ext2_ino_t number, char *path, const struct ext2_inode *inode)
{
	const struct guest_file f = { .path = path, .size = EXT2_I_SIZE(inode), .inode = number };
	struct buf data = { 0 };

	if (search_visits(w->search, &f)) {
		read_inode(w->fs, number, f.size, &data);
		search_visit(w->search, &f, &data);
	}
	buf_free(&data);
	free(path);
}

/* Is the folder above or below the one that is asked for, or that one? */
static bool is_on_the_way(const char *below, const char *path)
{
	size_t n = below ? strlen(below) : 0, m = strlen(path), common = n < m ? n : m;

	return !below || (!strncmp(below, path, common) &&
			  (n == m || (n > m ? below[m] == '/' : path[n] == '/')));
}

static int take_entry(ext2_ino_t folder, int entry, struct ext2_dir_entry *e, int offset, int block_size, char *block,
		      void *state)
{
	struct walk *w = state;
	struct ext2_inode inode;
	char *path;

	(void)folder, (void)offset, (void)block_size, (void)block;
	if (entry != DIRENT_OTHER_FILE || !e->inode || e->inode > w->fs->super->s_inodes_count ||
	    ext2fs_read_inode(w->fs, e->inode, &inode))
		return 0;
	if (ext2fs_mark_inode_bitmap2(w->seen, e->inode))
		return 0;
	path = xasprintf("%s/%.*s", w->path, ext2fs_dirent_name_len(e), e->name);
	if (LINUX_S_ISREG(inode.i_mode)) {
		visit(w, e->inode, path, &inode);
	} else if (LINUX_S_ISDIR(inode.i_mode) && strlen(path) < PATH_LENGTH &&
		   is_on_the_way(w->search->visitor->below, path)) {
		w->folders = array_grow(w->folders, w->count, &w->cap, sizeof *w->folders);
		w->folders[w->count++] = (struct folder){ .number = e->inode, .path = path };
	} else {
		free(path);
	}
	return 0;
}

static void walk(ext2_filsys fs, const struct search *s)
{
	struct walk w = { .fs = fs, .search = s };

	if (ext2fs_allocate_inode_bitmap(fs, "seen", &w.seen))
		return;
	w.path = "";
	ext2fs_mark_inode_bitmap2(w.seen, EXT2_ROOT_INO);
	ext2fs_dir_iterate2(fs, EXT2_ROOT_INO, 0, NULL, take_entry, &w);
	while (w.count) {
		struct folder f = w.folders[--w.count];

		w.path = f.path;
		ext2fs_dir_iterate2(fs, f.number, 0, NULL, take_entry, &w);
		free(f.path);
	}
	free(w.folders);
	ext2fs_free_inode_bitmap(w.seen);
}

int search_ext(const char *root, uint64_t offset, const struct search *s, struct error *err)
{
	ext2_filsys fs;
	char where[32];
	errcode_t r;

	snprintf(where, sizeof where, "offset=%" PRIu64, offset);
	r = ext2fs_open2(root, where, EXT2_FLAG_64BITS | EXT2_FLAG_IGNORE_CSUM_ERRORS, 0, 0, unix_io_manager, &fs);

	if (r)
		return error_set(err, "%s: damaged file system (libext2fs: error %ld)", root, (long)r);
	if (s->visitor)
		walk(fs, s);
	else
		look_up(fs, s);
	ext2fs_close_free(&fs);
	return 0;
}
