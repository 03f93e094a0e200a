/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program's memory, its mappings and files: include/linux/mm_types.h, fs.h, dcache.h, mount.h, fs/mount.h. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "learn_inner.h"

enum {
	MM_MAX = 2048, MM_PGD_MAX = 512, FILE_MAX = 512, INODE_MAX = 512, MAPPING_MAX = 256, DENTRY_MAX = 256,
	PATH_DEPTH = 32,
	/* members that stand in this order in all kernels from 5.10 on */
	DENTRY_TO_NAME = 8,             /* from d_parent to d_name … */
	DENTRY_TO_TEXT = 16,            /* … to its text (qstr.name) … */
	DENTRY_TO_INODE = 24,           /* … and to d_inode */
	VFSMOUNT_ROOT_AT = 0, VFSMOUNT_SUPER_AT = 8,
	MOUNT_PARENT_AT = 16, MOUNT_POINT_AT = 24, MOUNT_MNT_AT = 32,
	SUPER_DEVICE_AT = 16,
};

#define GIGABYTE (1ull << 30)
#define USER_END (1ull << 56)

/*
 * Has the memory the page tables that are in use? They lie in the map of all memory, which begins at a multiple of 1
 * GiB.
 */
static bool has_tables(const struct learn_memory *m, uint64_t mm, uint64_t space)
{
	for (size_t at = 0; at < MM_PGD_MAX; at += WORD) {
		uint64_t pgd = read_u64(m, mm + at);

		if (is_pointer(pgd) && pgd % 4096 == 0 && (pgd - space) % GIGABYTE == 0)
			return true;
	}
	return false;
}

/* mm and active_mm follow each other, and are the same in programs. */
static int find_mm(const struct learner *l, const struct learn_memory *m, const struct piece *task, uint64_t space)
{
	int found = NOT_FOUND;

	for (size_t at = 0; at + 16 <= task->len && at < (size_t)l->layout->offset[TASK_PID]; at += WORD) {
		uint64_t mm = piece_u64(task, at);

		if (is_pointer(mm) && piece_u64(task, at + 8) == mm && has_tables(m, mm, space))
			add_candidate(&found, (int)at);
	}
	return found;
}

/* A file that is open, and how its path is found. */
struct path {
	uint64_t mnt, dentry, root;
	char name[256];
	int parent;             /* where a dentry has its parent */
};

/* Does a dentry's parents lead to the root of the mount? Its name is "/". */
static bool leads_to_root(const struct learn_memory *m, const struct path *p, int parent)
{
	uint64_t dentry = p->dentry;
	char name[4];

	for (int depth = 0; depth < PATH_DEPTH; depth++) {
		uint64_t above = read_u64(m, dentry + (uint64_t)parent);

		if (dentry == p->root)
			return depth && above == dentry &&
			       read_name(m, read_u64(m, dentry + (uint64_t)parent + DENTRY_TO_TEXT), name,
					 sizeof name) &&
			       !strcmp(name, "/");
		if (!is_pointer(above) || above == dentry)
			return false;
		dentry = above;
	}
	return false;
}

/* Is a struct path there: a mount, and a dentry in it that is not the mount's root? */
static bool is_path(const struct learn_memory *m, uint64_t addr, struct path *ret)
{
	int found = NOT_FOUND;

	*ret = (struct path){ .mnt = read_u64(m, addr), .dentry = read_u64(m, addr + WORD) };
	if (!is_pointer(ret->mnt) || !is_pointer(ret->dentry))
		return false;
	ret->root = read_u64(m, ret->mnt + VFSMOUNT_ROOT_AT);
	if (!is_pointer(ret->root) || !is_pointer(read_u64(m, ret->mnt + VFSMOUNT_SUPER_AT)))
		return false;
	for (int at = WORD; at < DENTRY_MAX / 2; at += WORD)
		if (leads_to_root(m, ret, at))
			add_candidate(&found, at);
	ret->parent = found;
	return found >= 0 &&
	       read_name(m, read_u64(m, ret->dentry + (uint64_t)found + DENTRY_TO_TEXT), ret->name, sizeof ret->name);
}

/* Where a file has its path. The first place counts, for behind a file lies another one. */
static int find_path(const struct learn_memory *m, uint64_t file, struct path *ret)
{
	for (int at = 0; at < FILE_MAX; at += WORD)
		if (is_path(m, file + (uint64_t)at, ret))
			return at;
	return NOT_FOUND;
}

/* Where a super block has its file system's type, which begins with its name: "ext4". */
static int find_type(const struct learn_memory *m, uint64_t super)
{
	enum { FROM = 24, TO = 96 };
	int found = NOT_FOUND;

	for (int at = FROM; at <= TO; at += WORD) {
		uint64_t type = read_u64(m, super + (uint64_t)at);
		char name[32];

		if (is_pointer(type) && is_pointer(read_u64(m, type)) &&
		    read_name(m, read_u64(m, type), name, sizeof name) &&
		    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.") == strlen(name))
			add_candidate(&found, at);
	}
	return found;
}

static bool learn_mount(struct learner *l, const struct learn_memory *m, const struct path *p)
{
	uint64_t mount = p->mnt - MOUNT_MNT_AT, parent = read_u64(m, mount + MOUNT_PARENT_AT),
		 point = read_u64(m, mount + MOUNT_POINT_AT);
	uint64_t super = read_u64(m, p->mnt + VFSMOUNT_SUPER_AT);
	int type = find_type(m, super);
	bool news = false;

	/* the first mount is its own parent, at its own root; others have another one */
	if (!is_pointer(parent) || !is_pointer(point) || (parent == mount) != (point == p->root))
		return false;
	news |= learnt(l, VFSMOUNT_ROOT, VFSMOUNT_ROOT_AT) | learnt(l, VFSMOUNT_SUPER, VFSMOUNT_SUPER_AT);
	news |= learnt(l, MOUNT_MNT, MOUNT_MNT_AT) | learnt(l, MOUNT_PARENT, MOUNT_PARENT_AT) |
		learnt(l, MOUNT_MOUNTPOINT, MOUNT_POINT_AT);
	if (type >= 0)
		news |= learnt(l, SUPER_TYPE, type) | learnt(l, FSTYPE_NAME, 0) |
			learnt(l, SUPER_DEVICE, SUPER_DEVICE_AT);
	return news;
}

/* i_sb, i_mapping, i_security (with CONFIG_SECURITY), i_ino, i_nlink and i_rdev, i_size. */
static bool learn_inode(struct learner *l, const struct learn_memory *m, uint64_t inode, uint64_t super)
{
	struct piece *p = xmalloc(sizeof *p);
	int at_super = NOT_FOUND, at_number = NOT_FOUND;

	piece_read(p, m, inode, INODE_MAX);
	for (size_t at = 0; at < 128; at += WORD)
		if (piece_u64(p, at) == super)
			add_candidate(&at_super, (int)at);
	for (int at = at_super + 16; at_super >= 0 && at <= at_super + 24; at += WORD) {
		uint64_t number = piece_u64(p, (size_t)at), links = piece_u32(p, (size_t)at + 8),
			 size = piece_u64(p, (size_t)at + 16);

		if (number && number >> 48 == 0 && links && links < 1 << 16 && !piece_u32(p, (size_t)at + 12) && size &&
		    size >> 40 == 0)
			add_candidate(&at_number, at);
	}
	/* i_mapping leads to i_data, within the inode */
	if (at_super >= 0 && piece_u64(p, (size_t)at_super + 8) - inode >= 2048)
		at_super = NOT_FOUND;
	free(p);
	if (at_super < 0)
		return false;
	return learnt(l, INODE_SUPER, at_super) |
	       (at_number >= 0 && (learnt(l, INODE_NUMBER, at_number) | learnt(l, INODE_SIZE, at_number + 16)));
}

static bool learn_file(struct learner *l, const struct learn_memory *m, uint64_t file, const struct path *p,
		       int at_path)
{
	uint64_t inode = read_u64(m, p->dentry + (uint64_t)p->parent + DENTRY_TO_INODE);
	int at_inode = NOT_FOUND;
	bool news;

	news = learnt(l, FILE_PATH, at_path) | learnt(l, PATH_MNT, 0) | learnt(l, PATH_DENTRY, WORD);
	news |= learnt(l, DENTRY_PARENT, p->parent) | learnt(l, DENTRY_NAME, p->parent + DENTRY_TO_NAME) |
		learnt(l, QSTR_NAME, WORD);
	for (int at = 0; at < FILE_MAX && is_pointer(inode) && at_inode < 0; at += WORD)
		if (read_u64(m, file + (uint64_t)at) == inode)
			at_inode = at;
	news |= learnt(l, FILE_INODE, at_inode);
	if (at_inode >= 0)
		news |= learn_inode(l, m, inode, read_u64(m, p->mnt + VFSMOUNT_SUPER_AT));
	return learn_mount(l, m, p) | news;
}

/* The first open file that a program's memory knows is the program; behind it lies another program's memory. */
static bool learn_program(struct learner *l, const struct learn_memory *m, uint64_t mm)
{
	for (int at = 0; at < MM_MAX; at += WORD) {
		uint64_t file = read_u64(m, mm + (uint64_t)at);
		struct path path;
		int at_path = is_pointer(file) ? find_path(m, file, &path) : NOT_FOUND;

		if (at_path >= 0)
			return learnt(l, MM_EXE_FILE, at) | learn_file(l, m, file, &path, at_path);
	}
	return false;
}

bool learn_exec(struct learner *l, const struct learn_memory *m, uint64_t task, uint64_t space)
{
	struct piece *p;
	bool news = false;
	uint64_t mm;

	if (!knows(l, TASK_PID) || !is_pointer(task))
		return false;
	if (!knows(l, TASK_MM)) {
		p = xmalloc(sizeof *p);
		piece_read(p, m, task, sizeof p->data);
		news = learnt(l, TASK_MM, find_mm(l, m, p, space));
		free(p);
	}
	mm = knows(l, TASK_MM) ? read_u64(m, at_member(l, task, TASK_MM)) : 0;
	if (is_pointer(mm) && !knows(l, MM_EXE_FILE))
		news |= learn_program(l, m, mm);
	return news;
}

/*
 * arg_start, arg_end, env_start, env_end, then the vector that tells a program of its machine: AT_SYSINFO_EHDR or
 * another small number.
 */
bool learn_arguments(struct learner *l, const struct learn_memory *m, uint64_t mm)
{
	enum { VECTOR_MAX = 64 };
	int found = NOT_FOUND;

	if (!is_pointer(mm))
		return false;
	for (int at = 0; at < MM_MAX && found < 0; at += WORD) {
		uint64_t v[5];

		if (!m->read(m->context, mm + (uint64_t)at, v, sizeof v))
			break;
		if (v[0] && v[0] < v[1] && v[1] == v[2] && v[2] <= v[3] && v[3] < USER_END && v[3] - v[0] < 1 << 23 &&
		    v[4] && v[4] < VECTOR_MAX)
			found = at;
	}
	return learnt(l, MM_ARG_START, found) | (found >= 0 && learnt(l, MM_ARG_END, found + WORD));
}

/* Rights to read, write and execute, and that each may be given (VM_MAYREAD …): include/linux/mm.h. */
static bool are_flags(uint64_t value)
{
	enum { RIGHTS = 7, MAY_BE_GIVEN = 0x70, READ = 1 };

	return (value & MAY_BE_GIVEN) == MAY_BE_GIVEN && value & RIGHTS & READ && value >> 40 == 0;
}

/* vm_ops, vm_pgoff, vm_file and vm_private_data follow each other. */
static bool learn_mapped_file(struct learner *l, const struct piece *p, uint64_t file)
{
	int found = NOT_FOUND;

	for (size_t at = 32; at < MAPPING_MAX; at += WORD)
		if (piece_u64(p, at) == file && is_pointer(piece_u64(p, at - 16)) && piece_u64(p, at - 8) < 1ull << 36)
			add_candidate(&found, (int)at);
	if (!learnt(l, VMA_FILE, found))
		return false;
	learnt(l, VMA_PGOFF, found - 8);
	learnt(l, VMA_OPS, found - 16);
	learnt(l, VMA_PRIVATE, found + 8);
	return true;
}

bool learn_mapping(struct learner *l, const struct learn_memory *m, uint64_t task, uint64_t vma)
{
	uint64_t mm = knows(l, TASK_MM) && task ? read_u64(m, at_member(l, task, TASK_MM)) : 0;
	uint64_t file = knows(l, MM_EXE_FILE) && is_pointer(mm) ? read_u64(m, at_member(l, mm, MM_EXE_FILE)) : 0, start,
		 end;
	struct piece *p;
	int at_mm = NOT_FOUND, at_flags = NOT_FOUND;
	bool news = false;

	if (!is_pointer(vma) || !is_pointer(mm))
		return false;
	p = xmalloc(sizeof *p);
	piece_read(p, m, vma, MAPPING_MAX);
	start = piece_u64(p, 0);
	end = piece_u64(p, WORD);
	for (size_t at = 16; at < 96; at += WORD) {
		if (piece_u64(p, at) == mm)
			add_candidate(&at_mm, (int)at);
		if (are_flags(piece_u64(p, at)))
			add_candidate(&at_flags, (int)at);
	}
	if (start % 4096 == 0 && end % 4096 == 0 && start < end && end < USER_END && at_mm >= 0) {
		news = learnt(l, VMA_START, 0) | learnt(l, VMA_END, WORD) | learnt(l, VMA_MM, at_mm) |
		       learnt(l, VMA_FLAGS, at_flags);
		if (is_pointer(file) && !knows(l, VMA_FILE))
			news |= learn_mapped_file(l, p, file);
		/* struct vm_special_mapping begins with its name */
		news |= knows(l, VMA_PRIVATE) && learnt(l, MAPPING_NAME, 0);
	}
	free(p);
	return news;
}
