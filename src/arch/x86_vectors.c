/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "x86_vectors.h"

#include <stddef.h>

/* AMD APM vol. 2, table 8-1 */
static const char *const names[32] = {
	[0] = "#DE divide error",
	[1] = "#DB debug",
	[2] = "NMI",
	[3] = "#BP breakpoint",
	[4] = "#OF overflow",
	[5] = "#BR bound range",
	[6] = "#UD invalid opcode",
	[7] = "#NM device not available",
	[8] = "#DF double fault",
	[10] = "#TS invalid TSS",
	[11] = "#NP segment not present",
	[12] = "#SS stack",
	[13] = "#GP general protection",
	[14] = "#PF page fault",
	[16] = "#MF x87 error",
	[17] = "#AC alignment check",
	[18] = "#MC machine check",
	[19] = "#XF SIMD error",
	[21] = "#CP control protection",
	[28] = "#HV hypervisor injection",
	[29] = "#VC VMM communication",
	[30] = "#SX security",
};

const char *x86_vector_name(uint64_t vector)
{
	return vector < 32 ? names[vector] : NULL;
}
