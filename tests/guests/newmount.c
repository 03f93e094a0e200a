// SPDX-License-Identifier: GPL-2.0-or-later
/* Mounts a tmpfs at a folder as util-linux does it since 2.39: fsopen(2), fsmount(2), move_mount(2). */
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FSCONFIG_SET_STRING = 1, FSCONFIG_CMD_CREATE = 6, MOVE_MOUNT_F_EMPTY_PATH = 4 }; /* include/uapi/linux/mount.h */

int main(int argc, char **argv)
{
	int fs = (int)syscall(SYS_fsopen, "tmpfs", 0), mnt;

	if (fs < 0 || argc < 2)
		return 1;
	syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "source", "modern", 0);
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return 1;
	mnt = (int)syscall(SYS_fsmount, fs, 0, 0);
	if (mnt < 0 || syscall(SYS_move_mount, mnt, "", AT_FDCWD, argv[1], MOVE_MOUNT_F_EMPTY_PATH)) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
