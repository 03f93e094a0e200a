/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu_replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "qemu.h"

struct making {
	char *const *argv;
	struct shell_words *out;
	bool q35; /* the machine's IDE has a bus for each disk */
	bool has_network;
	unsigned disks, nets; /* made so far */
	unsigned ide;         /* the next free place, if the option tells none */
};

/* A value of "a=b,c=d", of which the caller frees the copy; NULL: there is none. A comma of a value is written twice.
 */
static char *part_of(const char *list, const char *key)
{
	size_t n = strlen(key);

	while (*list) {
		size_t len = 0;

		while (list[len] && (list[len] != ',' || list[len + 1] == ','))
			len += list[len] == ',' ? 2 : 1;
		if (len > n && !strncmp(list, key, n) && list[n] == '=')
			return xstrndup(list + n + 1, len - n - 1);
		list += len + (list[len] == ',');
	}
	return NULL;
}

static bool part_is(const char *list, const char *key, const char *value)
{
	cleanup_free char *part = part_of(list, key);

	return part && !strcmp(part, value);
}

/* The list without the parts of some keys. */
static char *without(const char *list, const char *const *keys)
{
	struct buf out = { 0 };

	while (*list) {
		size_t len = 0, name;
		bool drop = false;

		while (list[len] && (list[len] != ',' || list[len + 1] == ','))
			len += list[len] == ',' ? 2 : 1;
		name = strcspn(list, "=,");
		for (const char *const *key = keys; *key; key++)
			drop |= strlen(*key) == name && !strncmp(list, *key, name);
		if (!drop)
			buf_printf(&out, "%s%.*s", out.len ? "," : "", (int)len, list);
		list += len + (list[len] == ',');
	}
	buf_put_u8(&out, 0);
	return (char *)out.data;
}

static void add(struct making *m, const char *option, char *value)
{
	shell_words_add(m->out, option);
	shell_words_add(m->out, value);
	free(value);
}

/* Is that already the image of a replay driver? */
static bool is_under_replay(const struct making *m, const char *drive)
{
	cleanup_free char *id = part_of(drive, "id");

	for (char *const *word = m->argv; id && *word; word++)
		if (part_is(*word, "driver", "blkreplay") && part_is(*word, "image", id))
			return true;
	return false;
}

static void add_replay_driver(struct making *m, const char *image, const char *id)
{
	add(m, "-drive", xasprintf("driver=blkreplay,if=none,image=%s,id=%s", image, id));
}

/* Of -hda to -hdd, -cdrom, and -drive with if=ide, which it is where nothing is said. */
static void add_ide(struct making *m, const char *id, bool cdrom, unsigned place)
{
	const char *device = cdrom ? "ide-cd" : "ide-hd";

	if (m->q35)
		add(m, "-device", xasprintf("%s,drive=%s,bus=ide.%u", device, id, place));
	else
		add(m, "-device", xasprintf("%s,drive=%s,bus=ide.%u,unit=%u", device, id, place / 2, place % 2));
}

/* Options of -drive that say where the disk is, which is then said by -device. */
static const char *const of_place[] = { "if", "id", "index", "bus", "unit", "media", "snapshot", NULL };

static int wrap_drive(struct making *m, const char *drive, struct error *err)
{
	cleanup_free char *interface = part_of(drive, "if"), *id = part_of(drive, "id"),
			  *index = part_of(drive, "index"), *rest = without(drive, of_place);
	cleanup_free char *image = xasprintf("upto-image%u", m->disks);
	bool none = interface && !strcmp(interface, "none"), virtio = interface && !strcmp(interface, "virtio"),
	     ide = !interface || !strcmp(interface, "ide"), cdrom = part_is(drive, "media", "cdrom");
	unsigned place = index ? (unsigned)strtoul(index, NULL, 10) : cdrom ? 2 : m->ide;

	if (!none && !virtio && !ide)
		return error_set(err, "-drive %s: QEMU's replay has no disk with if=%s: give if=none and a -device",
				 drive, interface);
	if (!id)
		id = xasprintf("upto-disk%u", m->disks);
	m->disks++;
	add(m, "-drive", xasprintf("%s,if=none,snapshot=on,id=%s", rest, image));
	add_replay_driver(m, image, id);
	if (virtio)
		add(m, "-device", xasprintf("virtio-blk-pci,drive=%s", id));
	if (!ide)
		return 0;
	add_ide(m, id, cdrom, place);
	m->ide = place + 1;
	return 0;
}

static int put_drive(struct making *m, const char *drive, struct error *err)
{
	if (!part_is(drive, "driver", "blkreplay") && !is_under_replay(m, drive) && !part_is(drive, "if", "pflash"))
		return wrap_drive(m, drive, err);
	add(m, "-drive", xstrdup(drive));
	return 0;
}

/* -hda FILE: its place is told by its letter. */
static int put_disk(struct making *m, const char *option, const char *file, struct error *err)
{
	struct buf name = { 0 };
	bool cdrom = !strcmp(option, "cdrom");
	int r;

	buf_printf(&name, "media=%s,index=%d,file=", cdrom ? "cdrom" : "disk", cdrom ? 2 : option[2] - 'a');
	for (; *file; file++)
		buf_printf(&name, *file == ',' ? ",," : "%c", *file);
	buf_put_u8(&name, 0);
	r = wrap_drive(m, (char *)name.data, err);
	buf_free(&name);
	return r;
}

/* Is there a replay filter at that network? */
static bool is_filtered(const struct making *m, const char *id)
{
	for (char *const *word = m->argv; *word; word++)
		if (!strncmp(*word, "filter-replay,", 14) && part_is(*word, "netdev", id))
			return true;
	return false;
}

static void add_filter(struct making *m, const char *id)
{
	if (!is_filtered(m, id))
		add(m, "-object", xasprintf("filter-replay,id=upto-filter%u,netdev=%s", m->nets++, id));
}

static int put_network(struct making *m, const char *option, const char *value, struct error *err)
{
	cleanup_free char *id = part_of(value, "id");

	m->has_network = true;
	if (!strcmp(value, "none")) {
		add(m, option, xstrdup(value));
		return 0;
	}
	if (!strcmp(option, "-net"))
		return error_set(
			err, "-net %s: QEMU's replay needs the network's name: give -netdev …,id=NAME and a -device",
			value);
	if (id) {
		add(m, option, xstrdup(value));
	} else {
		id = xasprintf("upto-net%u", m->nets);
		add(m, option, xasprintf("%s,id=%s", value, id));
	}
	add_filter(m, id);
	return 0;
}

/* What QEMU's replay does not log, or refuses. */
static int refuse(char *const *argv, struct error *err)
{
	static const struct {
		const char *option, *why;
	} refused[] = {
		{ "blockdev", "give the disk as -drive" },
		{ "incoming", "a run that goes on from a snapshot cannot be replayed" },
		{ "loadvm", "a run that goes on from a snapshot cannot be replayed" },
		{ "fsdev", "what comes from a shared folder is not in QEMU's log" },
		{ "virtfs", "what comes from a shared folder is not in QEMU's log" },
	};

	if (qemu_vcpus(argv) > 1)
		return error_set(err, "-smp %s: QEMU's record/replay takes one vCPU", qemu_option(argv, "smp"));
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (qemu_option(argv, refused[i].option))
			return error_set(err, "-%s %s: %s", refused[i].option, qemu_option(argv, refused[i].option),
					 refused[i].why);
	for (char *const *word = argv; *word; word++)
		if (strstr(*word, "vhost-"))
			return error_set(err, "%s: what lies outside QEMU is not in its log", *word);
	return 0;
}

/* How many ns an instruction takes stays as it was asked for. */
static void add_counter(struct making *m, const char *log, bool replays)
{
	static const char *const replay[] = { "rr", "rrfile", "rrsnapshot", "sleep", "align", NULL };
	const char *given = qemu_option(m->argv, "icount");
	cleanup_free char *rest = without(given ? given : "shift=0", replay);

	add(m, "-icount", xasprintf("%s%srr=%s,rrfile=%s", rest, *rest ? "," : "", replays ? "replay" : "record", log));
	if (!qemu_option(m->argv, "seed"))
		add(m, "-seed", xstrdup("42"));
}

/* Returns how many words it took; negative: error. */
static int put(struct making *m, char *const *word, struct error *err)
{
	const char *option = *word + 1 + (word[0][1] == '-');
	int r = 0;

	if (**word != '-')
		option = "";
	if (!strcmp(option, "snapshot"))
		return 1;
	if (!strcmp(option, "icount") && word[1])
		return 2;
	if (!strcmp(option, "drive") && word[1])
		r = put_drive(m, word[1], err);
	else if ((!strcmp(option, "cdrom") ||
		  (!strncmp(option, "hd", 2) && strlen(option) == 3 && option[2] >= 'a' && option[2] <= 'd')) &&
		 word[1])
		r = put_disk(m, option, word[1], err);
	else if ((!strcmp(option, "netdev") || !strcmp(option, "nic") || !strcmp(option, "net")) && word[1])
		r = put_network(m, *word, word[1], err);
	else {
		shell_words_add(m->out, *word);
		return 1;
	}
	return r < 0 ? -1 : 2;
}

int qemu_replay_words(char *const *argv, const char *log, bool replays, struct shell_words *ret, struct error *err)
{
	const char *machine = qemu_option(argv, "machine") ? qemu_option(argv, "machine") : qemu_option(argv, "M");
	struct making m = { .argv = argv, .out = ret, .q35 = machine && strstr(machine, "q35") };

	*ret = (struct shell_words){ 0 };
	if (refuse(argv, err) < 0)
		return -1;
	if (strchr(log, ','))
		return error_set(err, "%s: QEMU cannot have a log whose path has a comma", log);
	for (char *const *word = argv; *word;) {
		int took = put(&m, word, err);

		if (took < 0)
			return -1;
		word += took;
	}
	/* a machine of which nothing is said has a network */
	if (!m.has_network && !qemu_option(argv, "nodefaults")) {
		add(&m, "-nic", xstrdup("user,id=upto-net"));
		add_filter(&m, "upto-net");
	}
	add_counter(&m, log, replays);
	return 0;
}
