/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints what is made of the symbols of a kernel that stand on stdin: "shown source what" lines. */
#include <stdio.h>
#include <string.h>

#include "guest/function_name.h"

int main(void)
{
	char line[256];

	while (fgets(line, sizeof line, stdin)) {
		struct function_name shown;

		line[strcspn(line, "\n")] = '\0';
		shown = function_name_shown(line);
		printf("%.*s %.*s %s\n", (int)shown.len, shown.text, (int)function_name_source(shown.text, shown.len),
		       shown.text,
		       function_name_is_none(line)   ? "none"
		       : function_name_is_mark(line) ? "mark"
						     : "function");
	}
	return 0;
}
