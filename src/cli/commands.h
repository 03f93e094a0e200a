/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands, for main.c's table. */
#ifndef UPTO_CLI_COMMANDS_H
#define UPTO_CLI_COMMANDS_H

#include "command.h"

extern const struct command cmd_record, cmd_run, cmd_boot, cmd_top, cmd_first, cmd_syscalls, cmd_ps,
	cmd_tree, cmd_calls, cmd_stack, cmd_log, cmd_disk, cmd_events, cmd_object, cmd_latency, cmd_waits,
	cmd_timeline, cmd_why, cmd_dump, cmd_info, cmd_check, cmd_symbols, cmd_kd, cmd_import, cmd_export,
	cmd_report, cmd_ui, cmd_exec, cmd_host,
	cmd_addr2sym, cmd_sym2addr, cmd_thin, cmd_layout, cmd_probe, cmd_replay;

#endif
