/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe_resolve.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "dwarf_definition.h"
#include "static_probes.h"

/* The kernel's addresses are those at run time, which its file does not have. */
static void put_kernel_address(const struct probe_definition *d, struct buf *out)
{
	cleanup_free char *event = probe_event_name(d, "");

	buf_printf(out, "p:%s/%s 0x%" PRIx64, probe_group_name(d), event, d->address);
	for (size_t i = 0; i < d->n_args; i++)
		probe_arg_put(&d->args[i], out);
	buf_printf(out, "\n");
}

int probe_resolve(const struct dwarf_file *f, const struct probe_definition *d, struct buf *out, size_t *ret_left_out,
		  struct error *err)
{
	*ret_left_out = 0;
	if (d->place == PROBE_STATIC)
		return static_probes_put(f, d, out, err);
	if (d->place == PROBE_ADDRESS && f->kind != DWARF_PROGRAM && !probe_definition_has_variables(d)) {
		put_kernel_address(d, out);
		return 0;
	}
	return dwarf_definition_put(f, d, out, ret_left_out, err);
}
