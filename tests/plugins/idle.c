/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plugin that does nothing but be there: others must then expect that it asks QEMU for what they do not. */
#include "recorder/qemu/qemu_interface.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	(void)id;
	(void)info;
	(void)argc;
	(void)argv;
	return 0;
}
