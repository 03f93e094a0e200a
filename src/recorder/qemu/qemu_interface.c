/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu_interface.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

enum { PLAIN = 4, DISCONTINUITIES = 6, USERDATA = 7 };

QEMU_PLUGIN_EXPORT int qemu_plugin_version = PLAIN;

/* The version of the QEMU that this runs in, as 100 * major + minor. It is found in QEMU's read-only data. */
static int find_version(struct dl_phdr_info *program, size_t size, void *ret)
{
	static const char before[] = "QEMU emulator version ";

	(void)size;
	for (int i = 0; i < program->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &program->dlpi_phdr[i];
		const char *data = (const char *)program->dlpi_addr + segment->p_vaddr, *hit;
		int major, minor;

		if (segment->p_type != PT_LOAD || segment->p_flags != PF_R)
			continue;
		hit = memmem(data, segment->p_filesz, before, sizeof before - 1);
		if (hit && sscanf(hit + sizeof before - 1, "%d.%d", &major, &minor) == 2)
			*(int *)ret = major * 100 + minor;
	}
	return 1; /* the program is listed first: stop after it */
}

/*
 * QEMU reads qemu_plugin_version once the plugin is loaded, and refuses what is
 * older or newer than it takes.
 */
static __attribute__((constructor)) void choose_version(void)
{
	int qemu = 0;

	if (!dlsym(RTLD_DEFAULT, "qemu_plugin_set_pc"))
		return; /* that came with 6 */
	dl_iterate_phdr(find_version, &qemu);
	qemu_plugin_version = qemu == 1100 ? DISCONTINUITIES : USERDATA;
}

static struct qemu_callbacks callbacks;
static qemu_plugin_id_t plugin_id;
static void (*translated_anew)(void);

/* Callbacks as versions up to 6 call them, with the plugin's number first. */

static void vcpu_begun_6(qemu_plugin_id_t id, unsigned cpu)
{
	(void)id;
	callbacks.vcpu_begun(cpu);
}

static void translated_6(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	callbacks.translated(tb);
}

static void discontinuity_6(qemu_plugin_id_t id, unsigned cpu, int type, uint64_t from, uint64_t to)
{
	(void)id;
	callbacks.discontinuity(cpu, type, from, to);
}

static void ended_6(qemu_plugin_id_t id, void *userdata)
{
	(void)id;
	(void)userdata;
	callbacks.ended();
}

/* Callbacks as version 7 calls them, with userdata last. */

static void vcpu_begun_7(unsigned cpu, void *userdata)
{
	(void)userdata;
	callbacks.vcpu_begun(cpu);
}

static void translated_7(struct qemu_plugin_tb *tb, void *userdata)
{
	(void)userdata;
	callbacks.translated(tb);
}

static void discontinuity_7(unsigned cpu, int type, uint64_t from, uint64_t to, void *userdata)
{
	(void)userdata;
	callbacks.discontinuity(cpu, type, from, to);
}

static void ended_7(void *userdata)
{
	(void)userdata;
	callbacks.ended();
}

typedef void (*any_function)(void);

/* Since version 7 all of them have userdata; before, its register is ignored. */
static void enlist(const char *how, qemu_plugin_id_t id, any_function old, any_function new)
{
	void (*add)(qemu_plugin_id_t, any_function, void *) =
		(void (*)(qemu_plugin_id_t, any_function, void *))dlsym(RTLD_DEFAULT, how);

	add(id, qemu_plugin_version < USERDATA ? old : new, NULL);
}

static bool enlist_discontinuity(qemu_plugin_id_t id)
{
	void (*add)(qemu_plugin_id_t, int, any_function, void *) =
		(void (*)(qemu_plugin_id_t, int, any_function, void *))dlsym(RTLD_DEFAULT,
									     "qemu_plugin_register_vcpu_discon_cb");

	if (qemu_plugin_version < DISCONTINUITIES || !add || !callbacks.discontinuity)
		return false;
	add(id, QEMU_DISCON_INTERRUPT | QEMU_DISCON_EXCEPTION,
	    qemu_plugin_version < USERDATA ? (any_function)discontinuity_6 : (any_function)discontinuity_7, NULL);
	return true;
}

bool qemu_register_callbacks(qemu_plugin_id_t id, const struct qemu_callbacks *wanted)
{
	callbacks = *wanted;
	plugin_id = id;
	if (callbacks.vcpu_begun)
		enlist("qemu_plugin_register_vcpu_init_cb", id, (any_function)vcpu_begun_6, (any_function)vcpu_begun_7);
	if (callbacks.translated)
		enlist("qemu_plugin_register_vcpu_tb_trans_cb", id, (any_function)translated_6,
		       (any_function)translated_7);
	if (callbacks.ended)
		enlist("qemu_plugin_register_atexit_cb", id, (any_function)ended_6, (any_function)ended_7);
	return enlist_discontinuity(id);
}

/*
 * qemu_plugin_reset() takes the callbacks off. Its own callback gets the plugin's number, and from version 7 on
 * userdata: neither is used.
 */
static void reset(void)
{
	qemu_register_callbacks(plugin_id, &(struct qemu_callbacks){
		callbacks.vcpu_begun, callbacks.translated, callbacks.discontinuity, callbacks.ended,
	});
	translated_anew();
}

void qemu_translate_anew(void (*done)(void))
{
	void (*ask)(qemu_plugin_id_t, any_function, void *) =
		(void (*)(qemu_plugin_id_t, any_function, void *))dlsym(RTLD_DEFAULT, "qemu_plugin_reset");

	translated_anew = done;
	ask(plugin_id, reset, NULL);
}
