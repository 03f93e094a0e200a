/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "structures.h"

#include <string.h>

#include "guest_address.h"

enum {
	NAME_LEN = 255,       /* NAME_MAX, include/uapi/linux/limits.h */
	PATH_DEPTH = 256,     /* at most so many directories and mounts in one path */
};

int32_t structure_at(enum member member)
{
	return recorder.kernel.layout.offset[member];
}

bool structures_known(const enum member *members, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (structure_at(members[i]) == MEMBER_UNKNOWN)
			return false;
	return true;
}

uint64_t structure_read(struct vcpu *v, uint64_t structure, enum member member, size_t size)
{
	uint64_t value = 0;

	if (!structure || structure_at(member) == MEMBER_UNKNOWN ||
	    !guest_read(&v->regs, structure + (uint64_t)structure_at(member), &value, size))
		return 0;
	return value;
}

uint64_t structure_pointer(struct vcpu *v, uint64_t structure, enum member member)
{
	return guest_address(structure_long(v, structure, member));
}

uint64_t structure_pointer_at(struct vcpu *v, uint64_t addr)
{
	uint64_t value = 0;

	if (!addr || !guest_read(&v->regs, addr, &value, guest_word()))
		return 0;
	return guest_address(value);
}

uint64_t structure_current(struct vcpu *v, uint64_t own)
{
	const uint64_t *data = recorder.kernel.data;
	bool hot = structure_at(HOT_TASK) != MEMBER_UNKNOWN && data[DATA_PCPU_HOT];
	uint64_t at = hot ? data[DATA_PCPU_HOT] + (uint64_t)structure_at(HOT_TASK) : data[DATA_CURRENT_TASK];

	return own && at ? structure_pointer_at(v, own + at) : 0;
}

uint64_t structure_long(struct vcpu *v, uint64_t structure, enum member member)
{
	return structure_read(v, structure, member, guest_word());
}

/* Put "/name" before the path in the buffer. Returns where the path begins now. */
static char *prepend_name(struct vcpu *v, uint64_t dentry, char *path, char *begin)
{
	uint64_t text = 0;
	char name[NAME_LEN + 1] = "";
	size_t n;

	if (structure_at(DENTRY_NAME) == MEMBER_UNKNOWN || structure_at(QSTR_NAME) == MEMBER_UNKNOWN ||
	    !guest_read(&v->regs, dentry + (uint64_t)structure_at(DENTRY_NAME) + (uint64_t)structure_at(QSTR_NAME),
			&text, guest_word()))
		return begin;
	text = guest_address(text);
	/* the memory behind a name may be missing */
	for (size_t got = 0; got < NAME_LEN; got += 32) {
		size_t step = NAME_LEN - got < 32 ? NAME_LEN - got : 32;

		if (!guest_read(&v->regs, text + got, name + got, step) || memchr(name + got, 0, step))
			break;
	}
	name[NAME_LEN] = '\0';
	n = strlen(name);
	if ((size_t)(begin - path) < n + 1)
		return begin;
	begin -= n;
	memcpy(begin, name, n);
	*--begin = '/';
	return begin;
}

/* As fs/d_path.c does it. */
const char *structure_path_at(struct vcpu *v, uint64_t where, char *path)
{
	char *begin = path + STRUCTURE_PATH - 1;
	uint64_t dentry, mnt;

	*begin = '\0';
	if (structure_at(MOUNT_MNT) == MEMBER_UNKNOWN)
		return begin;
	dentry = structure_pointer(v, where, PATH_DENTRY);
	mnt = structure_pointer(v, where, PATH_MNT);
	for (int i = 0; i < PATH_DEPTH && dentry && mnt; i++) {
		uint64_t parent = structure_pointer(v, dentry, DENTRY_PARENT);

		if (dentry == structure_pointer(v, mnt, VFSMOUNT_ROOT)) {
			uint64_t mount = mnt - (uint64_t)structure_at(MOUNT_MNT),
				 above = structure_pointer(v, mount, MOUNT_PARENT);

			if (!above || above == mount)
				break;
			dentry = structure_pointer(v, mount, MOUNT_MOUNTPOINT);
			mnt = above + (uint64_t)structure_at(MOUNT_MNT);
			continue;
		}
		if (parent == dentry)
			break;
		begin = prepend_name(v, dentry, path, begin);
		dentry = parent;
	}
	return begin;
}

const char *structure_path(struct vcpu *v, uint64_t file, char *path)
{
	if (!file || structure_at(FILE_PATH) == MEMBER_UNKNOWN) {
		path[STRUCTURE_PATH - 1] = '\0';
		return path + STRUCTURE_PATH - 1;
	}
	return structure_path_at(v, file + (uint64_t)structure_at(FILE_PATH), path);
}

const char *structure_text(struct vcpu *v, uint64_t addr, char *text, size_t size)
{
	enum { STEP = 64 }; /* a string may end right before memory that is not there */
	size_t n = 0;

	while (n + 1 < size) {
		size_t step = STEP - (addr + n) % STEP;

		if (step > size - 1 - n)
			step = size - 1 - n;
		if (!guest_read(&v->regs, addr + n, text + n, step))
			break;
		if (memchr(text + n, 0, step))
			return text;
		n += step;
	}
	text[n] = '\0';
	return text;
}

void structure_block(struct vcpu *v, uint64_t addr, uint64_t max, struct buf *out)
{
	enum { GUEST_PAGE = 4096 };

	while (out->len < max) {
		uint64_t at = addr + out->len, step = GUEST_PAGE - at % GUEST_PAGE;

		if (step > max - out->len)
			step = max - out->len;
		buf_reserve(out, step);
		if (!guest_read(&v->regs, at, out->data + out->len, step))
			break;
		out->len += step;
	}
}
