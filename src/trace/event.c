/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event.h"

static const struct {
	const char *name;
	unsigned n_args;
} kinds[EVENT_KINDS] = {
	[EVENT_NONE] = { "none", 0 },
	[EVENT_CALL] = { "call", 0 },
	[EVENT_CALL_INDIRECT] = { "call-indirect", 0 },
	[EVENT_RETURN] = { "return", 0 },
	[EVENT_JUMP] = { "jump", 0 },
	[EVENT_JUMP_INDIRECT] = { "jump-indirect", 0 },
	[EVENT_ARRIVE] = { "arrive", 0 },
	[EVENT_INTERRUPT_RETURN] = { "interrupt-return", 2 },
	[EVENT_INTERRUPT] = { "interrupt", 3 },
	[EVENT_SYSCALL] = { "syscall", 8 },
	[EVENT_SYSCALL_RETURN] = { "syscall-return", 1 },
	[EVENT_HALT] = { "halt", 0 },
	[EVENT_RESUME] = { "resume", 0 },
	[EVENT_TASK_SWITCH] = { "task-switch", 2 },
	[EVENT_ADDRESS_SPACE] = { "address-space", 1 },
	[EVENT_CLOCK] = { "clock", 0 },
	[EVENT_GAP] = { "gap", GAP_ARGS },
};

const char *event_kind_name(enum event_kind kind)
{
	return (unsigned)kind < EVENT_KINDS ? kinds[kind].name : "unknown";
}

unsigned event_n_args(enum event_kind kind)
{
	return (unsigned)kind < EVENT_KINDS ? kinds[kind].n_args : 0;
}
