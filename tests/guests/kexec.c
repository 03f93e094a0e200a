/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts another kernel: kexec KERNEL INITRAMFS COMMAND-LINE. With -p before them, it starts when this one crashes, as
 * it then does on CPU 1.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/reboot.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int crash(void)
{
	cpu_set_t one;
	int trigger = open("/proc/sysrq-trigger", O_WRONLY);

	CPU_ZERO(&one);
	CPU_SET(1, &one);
	if (sched_setaffinity(0, sizeof one, &one) < 0 || write(trigger, "c", 1) < 0)
		perror("crash");
	return 1;
}

int main(int argc, char **argv)
{
	int kernel, initramfs, crashes = argc > 1 && !strcmp(argv[1], "-p");

	argc -= crashes;
	argv += crashes;
	if (argc != 4)
		return 2;
	kernel = open(argv[1], O_RDONLY);
	initramfs = open(argv[2], O_RDONLY);
	if (syscall(SYS_kexec_file_load, kernel, initramfs, strlen(argv[3]) + 1, argv[3],
		    crashes ? (unsigned long)KEXEC_FILE_ON_CRASH : 0UL) < 0) {
		perror("kexec_file_load");
		return 1;
	}
	if (crashes)
		return crash();
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, NULL);
	perror("reboot");
	return 1;
}
