/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers that programs name as the kernel's headers do: they need not include these here. */
#include "constants.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define NAMED(name)         \
	{                   \
#name, name \
	}

static const struct {
	const char *name;
	int64_t value;
} constants[] = {
	NAMED(AF_UNSPEC),
	NAMED(AF_UNIX),
	NAMED(AF_INET),
	NAMED(AF_INET6),
	NAMED(AF_NETLINK),
	NAMED(AF_PACKET),
	NAMED(IPPROTO_TCP),
	NAMED(IPPROTO_UDP),
	NAMED(IPPROTO_ICMP),
	NAMED(SOCK_STREAM),
	NAMED(SOCK_DGRAM),
	NAMED(SIGHUP),
	NAMED(SIGINT),
	NAMED(SIGKILL),
	NAMED(SIGTERM),
	NAMED(SIGSEGV),
	NAMED(SIGCHLD),
	NAMED(SIGPIPE),
	NAMED(O_RDONLY),
	NAMED(O_WRONLY),
	NAMED(O_RDWR),
	NAMED(O_CREAT),
	NAMED(O_TRUNC),
	NAMED(O_APPEND),
	NAMED(O_CLOEXEC),
	NAMED(AT_FDCWD),
	NAMED(ENOENT),
	NAMED(EACCES),
	NAMED(EAGAIN),
	NAMED(EINTR),
	NAMED(EINVAL),
	NAMED(ENOMEM),
	NAMED(EPERM),
	NAMED(EEXIST),
	NAMED(ETIMEDOUT),
	NAMED(EPIPE),
	NAMED(S_IFMT),
	NAMED(S_IFREG),
	NAMED(S_IFDIR),
	NAMED(S_IFCHR),
	NAMED(S_IFBLK),
	NAMED(S_IFIFO),
	NAMED(S_IFLNK),
	NAMED(S_IFSOCK),
	/* include/linux/sched.h of Linux 5.10 to 7.2 */
	{ "TASK_RUNNING", 0 },
	{ "TASK_INTERRUPTIBLE", 1 },
	{ "TASK_UNINTERRUPTIBLE", 2 },
	/* include/net/tcp_states.h */
	{ "TCP_ESTABLISHED", 1 },
	{ "TCP_SYN_SENT", 2 },
	{ "TCP_SYN_RECV", 3 },
	{ "TCP_FIN_WAIT1", 4 },
	{ "TCP_FIN_WAIT2", 5 },
	{ "TCP_TIME_WAIT", 6 },
	{ "TCP_CLOSE", 7 },
	{ "TCP_CLOSE_WAIT", 8 },
	{ "TCP_LAST_ACK", 9 },
	{ "TCP_LISTEN", 10 },
	{ "TCP_CLOSING", 11 },
	{ "TCP_NEW_SYN_RECV", 12 },
	/* include/net/dropreason-core.h, since Linux 6.0 */
	{ "SKB_NOT_DROPPED_YET", 0 },
	{ "SKB_CONSUMED", 1 },
	{ "SKB_DROP_REASON_NOT_SPECIFIED", 2 },
	{ "true", 1 },
	{ "false", 0 },
	{ "NULL", 0 },
};

bool constant_find(const char *name, uint64_t *ret)
{
	for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
		if (!strcmp(constants[i].name, name)) {
			*ret = (uint64_t)constants[i].value;
			return true;
		}
	return false;
}
