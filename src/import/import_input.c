/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import_input.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#ifdef UPTO_SMALL_TABLES /* as in trace/model.h */
enum { READ = 64 << 10 };
#else
enum { READ = 4 << 20 };
#endif

ssize_t import_read(struct import_input *in, struct error *err)
{
	ssize_t n;

	if (in->fd < 0)
		return 0;
	buf_reserve(&in->data, READ);
	do
		n = read(in->fd, in->data.data + in->data.len, in->data.cap - in->data.len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_set(err, "%s: %s", in->path, strerror(errno));
	in->data.len += (size_t)n;
	return n;
}
