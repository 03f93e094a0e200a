/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "qemu_program.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Run the program with one option and read what it prints. Returns -1 if it cannot be run. */
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

/* 100 times the major version, and the minor one. */
static int version_number(const char *text)
{
	const char *version = strstr(text, "version ");
	int major = 0, minor = 0;

	return version && sscanf(version + 8, "%d.%d", &major, &minor) == 2 ? major * 100 + minor : 0;
}

static int check_version(const char *program, const char *text, struct error *err)
{
	enum { OLDEST = 902, NEWEST = 1199 };
	int number = version_number(text);

	if (!number)
		return error_set(err, "%s: does not tell its version: is it a QEMU?", program);
	if (number < OLDEST)
		return error_set(err, "%s: the plugin interface of QEMU %d.%d is too old; upto needs QEMU 9.2 or newer "
				      "(on Debian 12: apt-get install -t bookworm-backports qemu-system-x86)",
				 program, number / 100, number % 100);
	if (number > NEWEST)
		return error_set(err,
				 "%s: the plugin interface of QEMU %d.%d is newer than this upto; use QEMU 9.2 to 11",
				 program, number / 100, number % 100);
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
	/* its help begins with its version, so it is run only once */
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

char *const *qemu_snapshot(char *const *argv)
{
	char *const *found = NULL;

	for (; *argv; argv++)
		if ((is_option(*argv, "incoming") || is_option(*argv, "loadvm")) && argv[1])
			found = argv;
	return found;
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

/* Does a value of an option's begin with that word? */
static bool begins_with(const char *value, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(value, word, n) && (!value[n] || value[n] == ',' || word[n - 1] == '-');
}

void qemu_outside(char *const *argv, struct buf *out)
{
	static const struct {
		const char *option, *value; /* "vhost-user-": any that begins so */
	} outside[] = {
		{ "device", "vhost-user-" }, { "device", "vfio-" },    { "netdev", "user" },  { "netdev", "tap" },
		{ "netdev", "bridge" },      { "netdev", "socket" },   { "netdev", "stream" }, { "netdev", "dgram" },
		{ "netdev", "vhost-user" },  { "netdev", "passt" },    { "nic", "user" },     { "nic", "tap" },
		{ "nic", "bridge" },         { "tpmdev", "emulator" }, { "fsdev", "local" },  { "virtfs", "local" },
	};

	for (; *argv; argv++)
		for (size_t i = 0; argv[1] && i < sizeof outside / sizeof *outside; i++)
			if (is_option(*argv, outside[i].option) && begins_with(argv[1], outside[i].value))
				buf_printf(out, "%s%s %.*s", out->len ? ", " : "", *argv, (int)strcspn(argv[1], ","),
					   argv[1]);
}

/* "microvm", "type=microvm" among a machine's words */
static bool is_microvm(const char *machine)
{
	static const char name[] = "microvm", key[] = "type=";

	for (size_t len; *machine; machine += len + (machine[len] == ',')) {
		size_t skip = strncmp(machine, key, strlen(key)) ? 0 : strlen(key);

		len = strcspn(machine, ",");
		if (len - skip == strlen(name) && !memcmp(machine + skip, name, strlen(name)))
			return true;
	}
	return false;
}

int qemu_hangs(char *const *argv, struct error *err)
{
	const char *machine = qemu_option(argv, "machine"), *m = qemu_option(argv, "M");

	if ((machine && is_microvm(machine)) || (m && is_microvm(m)))
		return error_set(err,
				 "a microvm hangs where there is no KVM, which cannot be recorded: give another "
				 "machine (virtme-ng: --disable-microvm)");
	return 0;
}

int qemu_refuse(char *const *argv, struct error *err)
{
	if (qemu_hangs(argv, err) < 0)
		return -1;
	for (; *argv; argv++) {
		const char *accel = NULL;

		if (is_option(*argv, "daemonize"))
			return error_set(
				err,
				"%s: the recording ends with QEMU, which has to stay in the foreground; leave it out",
				*argv);
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

static bool has_plugin(char *const *argv)
{
	for (; *argv; argv++)
		if (is_option(*argv, "plugin"))
			return true;
	return false;
}

/*
 * In the order of recorder/qemu/qemu_inside.h. Functions with plain arguments may be in any QEMU; layouts are those of
 * the versions looked at.
 */
static const struct {
	const char *name;
	int first, last; /* versions; 0: any */
	bool alone;      /* other plugins may want what it takes away */
} insides[] = {
	{ "clock" },
	{ "shutdown", 902, 1101 },
	{ "suspend", 902, 1101 },
	{ "values", 902, 1101 },
	{ "registers", 902, 1101 },
	{ "stores", 1000, 1000, .alone = true },
	{ "turns", 902, 1101 },
};

/* A power-off only stops the vCPUs then, and what runs them can reset the machine and let it go on. */
static bool outlives_power_off(char *const *argv)
{
	const char *action = qemu_option(argv, "action");

	for (char *const *word = argv; *word; word++)
		if (is_option(*word, "no-shutdown"))
			return true;
	return action && strstr(action, "shutdown=pause");
}

static bool is_asked(const char *asked, const char *name)
{
	size_t n = strlen(name);

	if (!asked || !strcmp(asked, "all"))
		return true;
	for (; *asked; asked += strcspn(asked, ","), asked += *asked == ',')
		if (strcspn(asked, ",") == n && !strncmp(asked, name, n))
			return true;
	return false;
}

static int check_asked(const char *asked, struct error *err)
{
	if (!asked || !strcmp(asked, "all") || !strcmp(asked, "none"))
		return 0;
	for (size_t n; *asked; asked += n + (asked[n] == ',')) {
		bool known = false;

		n = strcspn(asked, ",");
		for (size_t i = 0; i < sizeof insides / sizeof *insides; i++)
			known |= strlen(insides[i].name) == n && !strncmp(asked, insides[i].name, n);
		if (!known)
			return error_set(
				err,
				"--qemu-inside: %.*s: not all, none, clock, shutdown, suspend, values, registers, stores or turns",
				(int)n, asked);
	}
	return 0;
}

int qemu_inside(char *const *argv, const char *version, const char *asked, struct buf *ret, struct error *err)
{
	int number = version_number(version);

	if (check_asked(asked, err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof insides / sizeof *insides; i++) {
		bool known = !insides[i].first || (number >= insides[i].first && number <= insides[i].last);

		if (!strcmp(insides[i].name, "shutdown") && outlives_power_off(argv))
			known = false;
		if (known && is_asked(asked, insides[i].name) && !(insides[i].alone && has_plugin(argv)))
			buf_printf(ret, "%s%s", ret->len ? "," : "", insides[i].name);
	}
	buf_put_u8(ret, 0);
	return 0;
}

int qemu_icount_shift(char *const *argv)
{
	const char *icount = qemu_option(argv, "icount"), *shift = icount ? strstr(icount, "shift=") : NULL;

	if (shift)
		icount = shift + 6;
	return icount && *icount >= '0' && *icount <= '9' ? atoi(icount) : -1;
}

/* How many vCPUs there are, by hw/core/machine-smp.c. */
struct smp {
	unsigned cpus, maxcpus, product; /* 0: not told */
};

/* A part of -smp, or of -machine behind "smp.": "4", "cpus=4", "cores=2" */
static void take_smp(struct smp *smp, const char *part)
{
	const char *equals = strchr(part, '='), *comma = strchr(part, ',');
	size_t len = equals && (!comma || equals < comma) ? (size_t)(equals - part) : 0;
	unsigned long n = strtoul(len ? equals + 1 : part, NULL, 10);

	if (!n || n > UINT16_MAX)
		return;
	if (!len || (len == 4 && !strncmp(part, "cpus", len)))
		smp->cpus = (unsigned)n;
	else if (len == 7 && !strncmp(part, "maxcpus", len))
		smp->maxcpus = (unsigned)n;
	else
		smp->product = smp->product * (unsigned)n > UINT16_MAX ? UINT16_MAX : smp->product * (unsigned)n;
}

static struct smp smp_of(char *const *argv)
{
	struct smp smp = { .product = 1 };

	for (; *argv; argv++) {
		bool is_smp = is_option(*argv, "smp"), is_machine = is_option(*argv, "machine") || is_option(*argv, "M");
		const char *part = (is_smp || is_machine) && argv[1] ? argv[1] : "";

		for (; *part; part += strcspn(part, ","), part += *part == ',') {
			if (is_smp)
				take_smp(&smp, part);
			else if (!strncmp(part, "smp.", 4))
				take_smp(&smp, part + 4);
		}
	}
	return smp;
}

unsigned qemu_vcpus(char *const *argv)
{
	struct smp smp = smp_of(argv);

	return smp.cpus ? smp.cpus : smp.maxcpus ? smp.maxcpus : smp.product;
}

unsigned qemu_vcpus_max(char *const *argv)
{
	struct smp smp = smp_of(argv);
	unsigned most = smp.cpus > smp.maxcpus ? smp.cpus : smp.maxcpus;

	return most > smp.product ? most : smp.product;
}
