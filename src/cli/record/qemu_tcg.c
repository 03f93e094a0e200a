/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu_tcg.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* "-accel", "--accel" */
static bool is(const char *word, const char *name)
{
	if (*word != '-')
		return false;
	word += word[1] == '-' ? 2 : 1;
	return !strcmp(word, name);
}

static bool is_any(const char *word, const char *const *names)
{
	for (; *names; names++)
		if (is(word, *names))
			return true;
	return false;
}

static const char *const machine_options[] = { "machine", "M", NULL };

/*
 * "help" and "?" as a whole value, or as its last part: -device virtio-blk-pci,help, -net nic,model=help. What is behind
 * a "=" may be a name as any other where only "help" is asked with.
 */
static bool asks_for_help(const char *word)
{
	const char *comma = strrchr(word, ','), *last = comma ? comma + 1 : word, *equals = strchr(last, '=');

	return !strcmp(last, "help") || !strcmp(last, "?") || (equals && !strcmp(equals + 1, "help"));
}

/*
 * libguestfs and libvirt ask a QEMU for its schema that has nothing to boot from: all that it is given are words of
 * these. Anything else may be a guest.
 */
static bool has_nothing_to_boot(char *const *argv)
{
	static const char *const alone[] = { "nodefaults", "no-user-config", "nographic", "S", "enable-kvm", NULL };
	static const char *const valued[] = { "qmp", "display", "machine", "M",   "accel",  "cpu",
					      "m",   "pidfile", "monitor", "vga", "serial", NULL };
	bool asks = false;

	for (char *const *word = argv + 1; *word; word++) {
		asks |= is(*word, "qmp");
		if (is_any(*word, valued) && word[1])
			word++;
		else if (!is_any(*word, alone))
			return false;
	}
	return asks;
}

bool qemu_only_asks(char *const *argv)
{
	static const char *const questions[] = { "version", "help", "h", NULL };
	/* whose values are anybody's words */
	static const char *const free_words[] = { "append", "kernel", "initrd", "name", "fw_cfg", "smbios", NULL };

	if (has_nothing_to_boot(argv))
		return true;
	for (char *const *word = argv + 1; *word; word++) {
		if (is_any(*word, questions))
			return true;
		if (**word == '-' && word[1] && !is_any(*word, free_words) && asks_for_help(word[1]))
			return true;
		if (is_any(*word, machine_options) && word[1] &&
		    (!strcmp(word[1], "none") || !strncmp(word[1], "none,", 5)))
			return true;
	}
	return false;
}

struct argv {
	char **words;
	size_t count, cap;
	bool has_tcg; /* an accelerator was asked for that stays */
};

static void add(struct argv *a, const char *word)
{
	a->words = array_grow(a->words, a->count, &a->cap, sizeof *a->words);
	a->words[a->count++] = word ? xstrdup(word) : NULL;
}

static void take_out(struct argv *a, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		free(a->words[i]);
	memmove(a->words + first, a->words + first + n, (a->count - first - n) * sizeof *a->words);
	a->count -= n;
}

static void say(struct buf *said, const char *option, const char *value)
{
	buf_printf(said, "%s%s%s%s", said->len ? ", " : "", option, value ? " " : "", value ? value : "");
}

static bool is_tcg(const char *accel)
{
	/* the first word's key may be left out */
	accel += strncmp(accel, "accel=", 6) ? 0 : 6;
	return !strncmp(accel, "tcg", 3) && (!accel[3] || accel[3] == ',');
}

/* A part of a list ends at a comma; two of them are one in it. */
static size_t part_length(const char *list)
{
	size_t n = 0;

	while (list[n] && (list[n] != ',' || list[n + 1] == ','))
		n += list[n] == ',' ? 2 : 1;
	return n;
}

static bool has_part(const char *list, const char *begin)
{
	for (; *list; list += part_length(list), list += *list == ',')
		if (!strncmp(list, begin, strlen(begin)))
			return true;
	return false;
}

/* What stays of a list: those parts that `keeps` wants, as it writes them. */
static char *parts_of(const char *list, bool (*keeps)(const char *part, struct buf *out))
{
	struct buf out = { 0 };
	const char *rest = list;
	bool changed = false;

	for (size_t n; *rest; rest += n + (rest[n] == ',')) {
		struct buf kept = { 0 };
		char *part;

		n = part_length(rest);
		part = xstrndup(rest, n);
		if (keeps(part, &kept)) {
			changed |= kept.len != n || memcmp(kept.data, part, n);
			buf_printf(&out, "%s%.*s", out.len ? "," : "", (int)kept.len,
				   kept.len ? (char *)kept.data : "");
		} else {
			changed = true;
		}
		buf_free(&kept);
		free(part);
	}
	buf_put_u8(&out, 0);
	if (changed)
		return (char *)out.data;
	buf_free(&out);
	return xstrdup(list);
}

/* KVM's interrupt controllers are not TCG's. */
static bool keeps_of_machine(const char *part, struct buf *out)
{
	if (!strncmp(part, "kernel-irqchip=", 15) || !strncmp(part, "kernel_irqchip=", 15) || !strncmp(part, "kvm-", 4))
		return false;
	buf_printf(out, "%s", !strncmp(part, "accel=", 6) ? "accel=tcg" : part);
	return true;
}

/* The host's CPU is KVM's; what it was told of the hypervisor means nothing to TCG. */
static bool keeps_of_cpu(const char *part, struct buf *out)
{
	if (!strncmp(part, "kvm", 3) || !strncmp(part, "hv-", 3) || !strncmp(part, "hv_", 3) ||
	    !strncmp(part, "host-", 5) || !strncmp(part, "migratable", 10))
		return false;
	buf_printf(out, "%s", strcmp(part, "host") ? part : "max");
	return true;
}

static bool is_host(const char *cpu)
{
	return part_length(cpu) == 4 && !strncmp(cpu, "host", 4);
}

static void add_machine(struct argv *a, const char *option, const char *value, struct buf *said)
{
	char *kept = parts_of(value, keeps_of_machine);

	a->has_tcg |= has_part(value, "accel=");
	if (strcmp(kept, value))
		say(said, option, value);
	add(a, option);
	add(a, kept);
	free(kept);
}

static void add_accel(struct argv *a, const char *option, const char *value, struct buf *said)
{
	if (!is_tcg(value)) {
		say(said, option, value);
		return;
	}
	a->has_tcg = true;
	add(a, option);
	add(a, value);
}

static void add_cpu(struct argv *a, const char *option, const char *value, struct buf *said)
{
	char *kept = is_host(value) ? parts_of(value, keeps_of_cpu) : xstrdup(value);

	if (strcmp(kept, value))
		say(said, option, value);
	add(a, option);
	add(a, kept);
	free(kept);
}

char **qemu_with_tcg(char *const *argv, struct buf *said)
{
	struct argv a = { 0 };

	/*
	 * a QEMU may have another default, as those that are called kvm; it stands first, so that it is nobody's value
	 */
	add(&a, argv[0]);
	add(&a, "-accel");
	add(&a, "tcg");
	for (char *const *word = argv + 1; *word; word++) {
		const char *value = word[1];

		if (is(*word, "enable-kvm")) {
			say(said, *word, NULL);
		} else if (is(*word, "accel") && value) {
			add_accel(&a, *word++, value, said);
		} else if (is_any(*word, machine_options) && value) {
			add_machine(&a, *word++, value, said);
		} else if (is(*word, "cpu") && value) {
			add_cpu(&a, *word++, value, said);
		} else {
			add(&a, *word);
		}
	}
	add(&a, NULL);
	if (a.has_tcg)
		take_out(&a, 1, 2);
	return a.words;
}

void qemu_argv_free(char **argv)
{
	for (char **word = argv; word && *word; word++)
		free(*word);
	free(argv);
}
