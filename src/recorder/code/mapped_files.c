/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mapped_files.h"

#include "contents.h"
#include "loaded.h"

void mapped_files_add(struct vcpu *v, const struct code_record *mapping)
{
	loaded_mapped(mapping);
	contents_mapped(v, mapping);
}

/* A file that is known by its content has its functions from elsewhere, so contents come first. */
void mapped_files_exit(struct vcpu *v, uint64_t mm)
{
	contents_exit(v, mm);
	loaded_exit(v, mm);
}

void mapped_files_forget(uint64_t mm)
{
	contents_forget(mm);
	loaded_forget(mm);
}

void mapped_files_forget_all(void)
{
	contents_forget_all();
	loaded_forget_all();
}
