/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cpu_mode.h"

bool cpu_is_paged_32(struct registers *r)
{
	enum { PAGING = 1u << 31, LONG_MODE_ACTIVE = 1 << 10 }; /* CR0.PG, EFER.LMA: AMD APM vol. 2, 3.1 */

	return r->handles[GUEST_CR0] && r->handles[GUEST_EFER] && registers_read(r, GUEST_CR0) & PAGING &&
	       !(registers_read(r, GUEST_EFER) & LONG_MODE_ACTIVE);
}
