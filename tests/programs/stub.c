// SPDX-License-Identifier: GPL-2.0-or-later
/* The least that a hook can do: the time, and the function, into a ring. It is what libupto is held against. */
#include <stdint.h>

static uint64_t ring[1 << 16];
static unsigned at;

__attribute__((no_instrument_function)) void __cyg_profile_func_enter(void *function, void *site);
__attribute__((no_instrument_function)) void __cyg_profile_func_exit(void *function, void *site);

void __cyg_profile_func_enter(void *function, void *site)
{
	(void)site;
	ring[at++ & 0xffff] = __builtin_ia32_rdtsc();
	ring[at++ & 0xffff] = (uintptr_t)function;
}

void __cyg_profile_func_exit(void *function, void *site)
{
	(void)site;
	ring[at++ & 0xffff] = __builtin_ia32_rdtsc();
	ring[at++ & 0xffff] = (uintptr_t)function | UINT64_C(1) << 63;
}
