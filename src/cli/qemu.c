/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "qemu_program.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* What the program prints when asked for one thing. -1: it could not be run. */
static int ask(const char *program, const char *question, struct buf *out)
{
	int fds[2], status;
	char step[4096];
	ssize_t n;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], STDOUT_FILENO);
		execlp(program, program, question, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	while ((n = read(fds[0], step, sizeof step)) > 0)
		buf_put(out, step, (size_t)n);
	close(fds[0]);
	buf_put_u8(out, 0);
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) == 127)
		return -1;
	return 0;
}

static int check_version(const char *program, const char *text, struct error *err)
{
	const char *version = strstr(text, "version ");
	int major, minor;

	if (!version || sscanf(version + 8, "%d.%d", &major, &minor) != 2)
		return error_set(err, "%s: does not tell its version: is it a QEMU?", program);
	if (major < 9 || (major == 9 && minor < 2))
		return error_set(err, "%s: QEMU %d.%d has too old a plugin interface (9.2 has the first that will do); "
				      "on Debian 12: apt-get install -t bookworm-backports qemu-system-x86",
				 program, major, minor);
	if (major >= 11)
		return error_set(err, "%s: QEMU %d.%d has another plugin interface (API 6); use 9.2 to 10.2", program,
				 major, minor);
	return 0;
}

int qemu_probe(const char *program, struct buf *ret_version, struct error *err)
{
	const char *name = base_name(program);

	if (!strncmp(name, "qemu-system-", 12) && strcmp(name, "qemu-system-x86_64"))
		return error_set(err, "%s: %s guests cannot be recorded yet: only qemu-system-x86_64's", program,
				 name + 12);
	if (qemu_program_version(program, ret_version))
		return check_version(program, (char *)ret_version->data, err);
	/* its help begins with its version: one question is enough */
	if (ask(program, "--help", ret_version) < 0)
		return error_set(err, "%s: cannot be run; on Debian 12: "
				      "apt-get install -t bookworm-backports qemu-system-x86", program);
	if (check_version(program, (char *)ret_version->data, err) < 0)
		return -1;
	if (!strstr((char *)ret_version->data, "-plugin"))
		return error_set(err, "%s: was built without plugins (--enable-plugins)", program);
	ret_version->data[strcspn((char *)ret_version->data, "\n")] = '\0';
	return 0;
}

static bool is_option(const char *word, const char *name)
{
	if (*word != '-')
		return false;
	word += word[1] == '-' ? 2 : 1;
	return !strcmp(word, name);
}

const char *qemu_option(char *const *argv, const char *name)
{
	const char *value = NULL;

	for (; *argv; argv++)
		if (is_option(*argv, name) && argv[1])
			value = argv[1];
	return value;
}

static bool names_other_accel(const char *list)
{
	static const char *const others[] = { "kvm", "xen", "hvf", "whpx", "nvmm" };

	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		const char *hit = strstr(list, others[i]);

		if (hit == list || (hit && hit[-1] == '=') || (hit && hit[-1] == ':'))
			return true;
	}
	return false;
}

int qemu_refuse(char *const *argv, struct error *err)
{
	for (; *argv; argv++) {
		const char *accel = NULL;

		if (is_option(*argv, "enable-kvm"))
			accel = "kvm";
		else if (is_option(*argv, "accel") && argv[1])
			accel = argv[1];
		else if ((is_option(*argv, "machine") || is_option(*argv, "M")) && argv[1])
			accel = strstr(argv[1], "accel=");
		if (accel && names_other_accel(accel))
			return error_set(err, "%s: only what TCG runs can be recorded; use -accel tcg, or leave it out",
					 *argv);
	}
	return 0;
}

bool qemu_uses_terminal(char *const *argv)
{
	for (; *argv; argv++)
		if (is_option(*argv, "nographic") || is_option(*argv, "curses") || strstr(*argv, "stdio"))
			return true;
	return false;
}

bool qemu_may_drop_stores(char *const *argv, const char *version)
{
	static const char known[] = "QEMU emulator version 10.0.";

	if (strncmp(version, known, sizeof known - 1))
		return false;
	for (; *argv; argv++)
		if (is_option(*argv, "plugin"))
			return false;
	return true;
}

unsigned qemu_vcpus(char *const *argv)
{
	const char *smp = qemu_option(argv, "smp"), *cpus;
	int n = 1;

	if (!smp)
		return 1;
	cpus = strstr(smp, "cpus=");
	n = atoi(cpus ? cpus + 5 : smp);
	return n < 1 ? 1 : (unsigned)n;
}
