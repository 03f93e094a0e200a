/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The programs of the folder tools/, which come with upto: made of it by scripts/tools-source.py. */
#ifndef UPTO_CLI_COMMANDS_SCRIPT_TOOLS_H
#define UPTO_CLI_COMMANDS_SCRIPT_TOOLS_H

struct script_tool {
	const char *name; /* "opensnoop.bt"; NULL: the list's end */
	const char *text;
};

extern const struct script_tool script_tools[];

#endif
