// SPDX-License-Identifier: GPL-2.0-or-later
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "recorder.h"
#include "says.h"

static struct {
	pthread_mutex_t lock;
	size_t used;
	unsigned more; /* lines that there was no room for */
} said = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* For the last line, which tells how many there was no room for. */
#define ROOM_FOR_MORE 40

static bool is_said(const char *line)
{
	size_t length = strlen(line);

	for (const char *at = recorder.stats->says; *at; at = strchr(at, '\n') + 1)
		if (!strncmp(at, line, length) && at[length] == '\n')
			return true;
	return false;
}

static void add(const char *line)
{
	char *says = recorder.stats->says;
	size_t room = sizeof recorder.stats->says - ROOM_FOR_MORE - said.used;

	if (!said.more && strlen(line) + 2 <= room)
		said.used += (size_t)sprintf(says + said.used, "%s\n", line);
	else
		sprintf(says + said.used, "and %u more of such words\n", ++said.more);
}

void recorder_says(const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	for (char *at = line; (at = strchr(at, '\n'));)
		*at = ' ';
	pthread_mutex_lock(&said.lock);
	if (!is_said(line))
		add(line);
	pthread_mutex_unlock(&said.lock);
}
