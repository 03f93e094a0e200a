/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/args/trace_arg.h"
#include "cli/commands.h"
#include "recording.h"

#define BOOT "/boot"

enum { WORDS_MAX = 256 };

struct words {
	char *v[WORDS_MAX];
	size_t n;
};

static void add(struct words *w, const char *word)
{
	if (w->n + 1 < WORDS_MAX)
		w->v[w->n++] = xstrdup(word);
}

/* Is it the name of an old kernel, or of one that is being installed? Debian's and Fedora's tools use these. */
static bool is_aside(const char *name)
{
	static const char *const ends[] = { ".old",      ".bak",    ".dpkg-new", ".dpkg-old",
					    ".dpkg-tmp", ".rpmnew", ".rpmsave",  "~" };
	size_t n = strlen(name);

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (n > strlen(ends[i]) && !strcmp(name + n - strlen(ends[i]), ends[i]))
			return true;
	return strstr(name, "-rescue");
}

/* The newest /boot/vmlinuz-RELEASE, by version. */
static char *newest_kernel(struct error *err)
{
	static const char prefix[] = "vmlinuz-";
	char *best = NULL;
	DIR *dir = opendir(BOOT);
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (!strncmp(d->d_name, prefix, sizeof prefix - 1) && !is_aside(d->d_name) &&
		    (!best || strverscmp(d->d_name, best) > 0)) {
			free(best);
			best = xstrdup(d->d_name);
		}
	if (dir)
		closedir(dir);
	if (!best)
		error_set(err, BOOT "/vmlinuz-*: no kernel there; name one: upto boot KERNEL [INITRD]");
	return best;
}

#define BUILT "arch/x86/boot/bzImage"

/* In a kernel's build tree that kernel is meant. */
static bool is_build_tree(void)
{
	return access(BUILT, R_OK) == 0 && access("vmlinux", R_OK) == 0;
}

static int default_kernel(char **ret_kernel, char **ret_initrd, struct error *err)
{
	cleanup_free char *name = is_build_tree() ? NULL : newest_kernel(err);

	*ret_initrd = NULL;
	if (is_build_tree()) {
		*ret_kernel = xstrdup(BUILT);
		return 0;
	}
	if (!name)
		return -1;
	*ret_kernel = xasprintf(BOOT "/%s", name);
	*ret_initrd = xasprintf(BOOT "/initrd.img-%s", name + strlen("vmlinuz-"));
	if (access(*ret_initrd, R_OK) < 0) {
		free(*ret_initrd);
		*ret_initrd = NULL;
	}
	return 0;
}

static int check_readable(const char *path, struct error *err)
{
	if (path && access(path, R_OK) < 0)
		return error_set(err, "%s: cannot be read", path);
	return 0;
}

/* `more`: for the kernel's command line, behind what the user has for it; NULL: nothing */
static void compose(const struct args *args, const char *kernel, const char *initrd, const char *more, struct words *w)
{
	static const char *const fixed[] = {
		"-accel", "tcg", "-cpu", "max", "-nographic", "-nic", "none", "-no-reboot"
	};
	cleanup_free char *append = xasprintf("console=ttyS0 panic=-1%s%s%s%s", arg(args, "append") ? " " : "",
					      arg(args, "append") ? arg(args, "append") : "", more ? " " : "",
					      more ? more : "");

	add(w, arg(args, "qemu") ? arg(args, "qemu") : "qemu-system-x86_64");
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		add(w, fixed[i]);
	add(w, "-m");
	add(w, arg(args, "memory") ? arg(args, "memory") : "1G");
	add(w, "-smp");
	add(w, arg(args, "cpus") ? arg(args, "cpus") : "1");
	add(w, "-kernel");
	add(w, kernel);
	if (initrd) {
		add(w, "-initrd");
		add(w, initrd);
	}
	add(w, "-append");
	add(w, append);
	for (char **word = args->rest; word && *word; word++)
		add(w, *word);
}

/*
 * The kernel's own list has no patterns but SYSTEM:* (__ftrace_set_clr_event_nolock(), kernel/trace/trace_events.c),
 * and says nothing of a name that it does not know.
 */
static int check_enabling(const struct args *args, struct error *err)
{
	const char *word = arg(args, "event");

	if (!arg(args, "enable-events"))
		return 0;
	if (!word)
		return error_set(err, "--enable-events: is for --event");
	while (*word) {
		size_t n = strcspn(word, ","), system = strcspn(word, ":");
		size_t plain = strcspn(word, "*?[");

		if (plain < n && (plain != system + 1 || plain + 1 != n || word[plain] != '*'))
			return error_set(err, "--enable-events: %.*s: the kernel itself knows names and SYSTEM:* only",
					 (int)n, word);
		word += n + (word[n] == ',');
	}
	return 0;
}

/* The kernel's parameter that enables the events from its start on; NULL: not asked for. */
static char *enabling(const struct args *args)
{
	return arg(args, "enable-events") ? xasprintf("trace_event=%s", arg(args, "event")) : NULL;
}

static int run(const struct args *args, struct error *err)
{
	cleanup_free char *kernel = NULL, *initrd = NULL, *enable = NULL;
	struct words words = { 0 };
	struct recording rec;
	int r = EXIT_FAILED;

	if (check_enabling(args, err) < 0)
		return EXIT_USAGE;
	if (args->n_operands) {
		kernel = xstrdup(args->operands[0]);
		initrd = args->n_operands > 1 ? xstrdup(args->operands[1]) : NULL;
	} else if (default_kernel(&kernel, &initrd, err) < 0) {
		return EXIT_FAILED;
	}
	if (check_readable(kernel, err) == 0 && check_readable(initrd, err) == 0) {
		enable = enabling(args);
		compose(args, kernel, initrd, enable, &words);
		recording_args(args, &rec);
		rec.argv = words.v;
		rec.changed = enable;
		r = recording_run(&rec, err);
	}
	for (size_t i = 0; i < words.n; i++)
		free(words.v[i]);
	return r;
}

static const struct option options[] = {
	{ 0, "append", "TEXT", "more for the kernel's command line, behind \"console=ttyS0 panic=-1\"" },
	{ 'm', "memory", "SIZE", "guest memory (default: 1G)" },
	{ 0, "cpus", "N", "vCPUs (default: 1)" },
	{ 0, "qemu", "PROGRAM", "the QEMU to run (default: qemu-system-x86_64)" },
	{ 0, "enable-events", NULL, "the guest records what --event names itself, from its start on: trace_event=NAMES for its kernel" },
	RECORDING_OUTPUT,
	RECORDING_OPTIONS,
	HELP_OPTION,
	{ 0 },
};

const struct command cmd_boot = {
	.name = "boot",
	.operands = "[KERNEL [INITRD]] [-- more QEMU options]",
	.summary = "boot a kernel in QEMU and record it",
	.description =
		"Runs QEMU with a command line of its own: the given kernel and initrd; or in a kernel's build tree "
		"that kernel; or the newest ones in /boot; on a serial console. Words behind -- are added to QEMU's command line.\n",
	.examples =
		"  upto boot\n      this machine's own newest kernel; in a build tree, the one that was built there\n"
		"  upto boot vmlinuz initrd.img\n      another one\n"
		"  upto boot --append 'root=/dev/vda rw' vmlinuz -- -drive file=root.img,if=virtio,format=raw\n"
		"      with a disk\n",
	.options = options,
	.max_operands = 2,
	.rest = true,
	.run = run,
};
