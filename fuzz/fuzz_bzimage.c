/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A bzImage: header and payload. What unpacks it must not start programs, as libarchive does for some formats. */
#include "fuzz.h"

#include <spawn.h>

#include "guest/bzimage.h"

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
		 const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	(void)pid, (void)file, (void)actions, (void)attributes, (void)argv, (void)envp;
	must(!"starts a program");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guarded g = guarded_copy(data, size, 1);
	struct buf vmlinux = { 0 };
	struct error err;

	if (bzimage_unpack(g.data, size, &vmlinux, &err) == 0)
		must(vmlinux.len >= 4 && vmlinux.len <= vmlinux.cap);
	else
		must(!vmlinux.data);
	buf_free(&vmlinux);
	guarded_free(&g);
	return 0;
}
