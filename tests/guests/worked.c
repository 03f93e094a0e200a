// SPDX-License-Identifier: GPL-2.0-or-later
/* What bpftrace in the guest and upto from outside are to see alike: files that are opened, reads of many sizes. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static char buffer[8192];

static void read_all(const char *path, size_t step)
{
	int fd = open(path, O_RDONLY);
	size_t size = 1;

	while (fd >= 0 && read(fd, buffer, size) > 0)
		size = (size * 3 + step) % sizeof buffer + 1;
	close(fd);
}

int main(void)
{
	int fd;

	read_all("/proc/version", 1);
	read_all("/init", 7);
	read_all("/nowhere", 1);
	read_all("/bin/busybox", 4096);
	fd = open("/tmp/made", O_CREAT | O_WRONLY, 0600);
	for (size_t i = 1; i < 40; i++)
		if (write(fd, buffer, i * i) < 0)
			return 1;
	close(fd);
	return 0;
}
