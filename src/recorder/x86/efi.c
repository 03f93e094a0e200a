/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "efi.h"

#include <string.h>

enum {
	PAGE = 4096,
	IMAGE_MAX = 64 << 20,
	SETUP_MAGIC = 0x202, /* "HdrS" in a bzImage's first page */
	PE_OFFSET = 0x3c,    /* where a PE file's header is, and in it: where the program begins */
	PE_ENTRY = 0x28,
};

static bool reads(struct registers *regs, uint64_t addr, const char *text)
{
	char there[8];

	return guest_read(regs, addr, there, strlen(text)) && !memcmp(there, text, strlen(text));
}

/* The image's first page; 0: none is before the address. */
static uint64_t find_image(struct registers *regs, uint64_t addr)
{
	uint64_t at = addr & -(uint64_t)PAGE;

	for (uint64_t n = 0; n < IMAGE_MAX && at; n += PAGE, at -= PAGE)
		if (reads(regs, at, "MZ"))
			return at;
	return 0;
}

bool efi_enters_kernel(struct registers *regs, uint64_t addr)
{
	uint64_t image;
	uint32_t header, entry;

	/* the system table begins with its signature */
	if (!reads(regs, registers_read(regs, GUEST_RDX), "IBI SYST"))
		return false;
	image = find_image(regs, addr);
	return image && reads(regs, image + SETUP_MAGIC, "HdrS") &&
	       guest_read(regs, image + PE_OFFSET, &header, sizeof header) && reads(regs, image + header, "PE") &&
	       guest_read(regs, image + header + PE_ENTRY, &entry, sizeof entry) && image + entry == addr;
}
