/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host_note.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

#define NOTE "/run/upto-host"
enum { NOTE_MAX = 1 << 24 };

int host_note_begin(struct host_note *n, char **ret_left, struct error *err)
{
	struct buf text = { 0 };
	struct error ignored;

	*ret_left = NULL;
	n->fd = open(NOTE, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (n->fd < 0)
		return 0;
	if (flock(n->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		close(n->fd);
		n->fd = -1;
		return error_set(err, "another 'upto host record' has the kernel's tracer just now");
	}
	if (file_read(NOTE, NOTE_MAX, &text, &ignored) == 0 && text.len) {
		buf_put_u8(&text, 0);
		*ret_left = xstrdup((char *)text.data);
	}
	buf_free(&text);
	return 0;
}

/* KIND FILE TEXT, tabs between, also where the text has lines. */
void host_note_add(const struct host_note *n, enum host_note_kind kind, const char *file, const char *text)
{
	struct buf line = { 0 };

	if (n->fd < 0)
		return;
	buf_printf(&line, "%c\t%s\t", (char)kind, file);
	for (; *text; text++)
		buf_put_u8(&line, *text == '\n' ? '\t' : (uint8_t)*text);
	buf_put_u8(&line, '\n');
	write_all(n->fd, line.data, line.len);
	buf_free(&line);
}

bool host_note_take(char *left, enum host_note_kind *ret_kind, const char **ret_file, char **ret_text)
{
	size_t len = strlen(left);
	char *line, *text;

	/* one that was cut short is of a file that was not changed yet */
	while (len && left[len - 1] != '\n')
		left[--len] = 0;
	if (!len)
		return false;
	left[len - 1] = 0;
	line = strrchr(left, '\n') ? strrchr(left, '\n') + 1 : left;
	text = *line && line[1] == '\t' ? strchr(line + 2, '\t') : NULL;
	*ret_kind = (enum host_note_kind)*line;
	*ret_file = text ? line + 2 : "";
	*ret_text = text ? text + 1 : line + strlen(line);
	if (text)
		*text = 0;
	for (char *at = *ret_text; *at; at++)
		*at = *at == '\t' ? '\n' : *at;
	/* who asks again finds the line before it; what was returned is behind that */
	*line = 0;
	return true;
}

void host_note_forget(const struct host_note *n)
{
	/* the file itself stays: who has opened it already would have one that nobody else finds */
	if (n->fd >= 0 && ftruncate(n->fd, 0) < 0)
		unlink(NOTE);
}

void host_note_end(struct host_note *n)
{
	if (n->fd < 0)
		return;
	host_note_forget(n);
	close(n->fd);
	n->fd = -1;
}
