/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording_config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "base/file.h"
#include "config.h"
#include "qemu.h"
#include "recording_args.h"
#include "run_inputs.h"
#include "run_register.h"

static char *join(char *const *argv)
{
	struct buf text = { 0 };

	for (; *argv; argv++)
		buf_printf(&text, "%s%s", text.len ? " " : "", *argv);
	buf_put_u8(&text, 0);
	return (char *)text.data;
}

/* Several vCPUs share a thread, if something asks for that: recorder/qemu/qemu_inside.h, turns_tell(). */
static void put_turns(const struct recording *rec, struct buf *lines)
{
	const char *accel = qemu_option(rec->argv, "accel"), *why = NULL;

	if (rec->deterministic)
		why = "--deterministic";
	else if (qemu_option(rec->argv, "icount"))
		why = "-icount";
	else if (accel && strstr(accel, "thread=single"))
		why = "thread=single";
	if (why && qemu_vcpus_max(rec->argv) > 1)
		meta_put(lines, "turns", why);
}

/* The trace is a part of what the guest did, chosen by that option. */
static void put_snapshot(const struct recording *rec, struct buf *lines)
{
	char *const *option = qemu_snapshot(rec->argv);
	cleanup_free char *both = option ? xasprintf("%s %s", option[0], option[1]) : NULL;

	if (!both)
		return;
	meta_put(lines, "snapshot", "1");
	meta_put(lines, "meta.thinned", both);
}

/* What guest time is. Of several vCPUs, QEMU's clock goes on with each one's instructions. */
static void put_icount(const struct recording *rec, struct buf *lines)
{
	bool icount = rec->deterministic || qemu_option(rec->argv, "icount");
	int shift = rec->deterministic ? 0 : qemu_icount_shift(rec->argv);
	bool exact = icount && shift >= 0 && qemu_vcpus_max(rec->argv) == 1;

	if (icount)
		meta_put_u64(lines, "icount", 1);
	if (exact) {
		meta_put_u64(lines, "icount_shift", (uint64_t)shift);
		meta_put_u64(lines, "meta.icount_shift", (uint64_t)shift);
	}
	meta_put(lines, "meta.clock", exact ? "instructions retired; guest ns (icount: exact)" : icount ?
		 "instructions retired; guest ns (icount; interpolated between sync points)" :
		 "instructions retired; guest ns (interpolated between sync points)");
}

/* The files that tell of the kernel. */
static void put_sources(const struct kernel_sources *sources, struct buf *lines)
{
	if (sources->image)
		meta_put(lines, "kernel", sources->image);
	if (sources->types)
		meta_put(lines, "types", sources->types);
	if (sources->cache)
		meta_put(lines, "cache", sources->cache);
	for (size_t i = 0; i < sources->n_symbols; i++) {
		char key[32];

		snprintf(key, sizeof key, "symbols.%zu", i);
		meta_put(lines, key, sources->symbols[i].path);
		snprintf(key, sizeof key, "address.%zu", i);
		if (sources->symbols[i].placed)
			meta_put_u64(lines, key, sources->symbols[i].address);
	}
}

/* What it takes to run that guest again, and to record it. */
static void put_run(const struct recording *rec, struct buf *lines)
{
	static const char *const options[] = { "symbols", "types", "sysroot" };
	struct buf run = { 0 };
	char key[32];

	run_inputs_put(rec->argv, &run);
	if (rec->log)
		meta_put(&run, "meta.run.log", rec->log);
	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		snprintf(key, sizeof key, "meta.run.%s", options[i]);
		if (arg(rec->args, options[i]))
			meta_put(&run, key, arg(rec->args, options[i]));
	}
	run_register_put(&run);
	buf_put(lines, run.data, run.len);
	buf_free(&run);
}

int recording_config(const struct recording *rec, const struct recording_parts *parts, struct error *err)
{
	const char *append = qemu_option(rec->argv, "append");
	cleanup_free char *command = join(rec->argv), *kernel_args = recording_args_of_kernel(rec->args);
	struct buf lines = { 0 };
	int fd, r;

	meta_put_u64(&lines, "out", (uint64_t)parts->out);
	meta_put_u64(&lines, "stats", (uint64_t)parts->stats_fd);
	put_sources(parts->sources, &lines);
	meta_put(&lines, "meta.arch", arch_x86_64.name);
	meta_put(&lines, "meta.upto", UPTO_VERSION);
	meta_put(&lines, "meta.qemu", parts->version);
	meta_put(&lines, "meta.qemu_command", command);
	if (append)
		meta_put(&lines, "meta.command_line", append);
	if (rec->changed)
		meta_put(&lines, "meta.changed", rec->changed);
	put_icount(rec, &lines);
	put_turns(rec, &lines);
	put_snapshot(rec, &lines);
	if (!rec->again && (rec->deterministic || rec->log))
		put_run(rec, &lines);
	recording_choice_put(rec->args, &lines);
	meta_put(&lines, "inside", parts->inside);
	if (rec->thunks)
		meta_put(&lines, "thunks", "1");
	if (rec->said)
		meta_put(&lines, "guest_goes_on", "1");
	if (kernel_args)
		meta_put(&lines, "args", kernel_args);
	if (arg(rec->args, "event"))
		meta_put(&lines, "event", arg(rec->args, "event"));
	if (arg(rec->args, "event-check"))
		meta_put(&lines, "meta.event_check", "1");
	buf_put(&lines, parts->probes->data, parts->probes->len);
	meta_put_u64(&lines, "meta.vcpus", qemu_vcpus(rec->argv));
	meta_put_u64(&lines, "meta.started", (uint64_t)time(NULL));
	fd = memfd_create("upto-config", 0);
	r = fd < 0 ? -errno : write_all(fd, lines.data, lines.len);
	buf_free(&lines);
	if (r < 0) {
		if (fd >= 0)
			close(fd);
		return error_set(err, "configuration: %s", strerror(-r));
	}
	lseek(fd, 0, SEEK_SET);
	return fd;
}
