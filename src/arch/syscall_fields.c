/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "syscall_fields.h"

#include <string.h>

static const char *const fields[][2] = {
	{ "read", "fd buf count" }, { "write", "fd buf count" }, { "open", "filename flags mode" }, { "close", "fd" },
	{ "stat", "filename statbuf" }, { "fstat", "fd statbuf" }, { "lstat", "filename statbuf" },
	{ "poll", "ufds nfds timeout_msecs" }, { "lseek", "fd offset whence" }, { "mmap", "addr len prot flags fd off" },
	{ "mprotect", "start len prot" }, { "munmap", "addr len" }, { "brk", "brk" },
	{ "rt_sigaction", "sig act oact sigsetsize" }, { "rt_sigprocmask", "how nset oset sigsetsize" },
	{ "ioctl", "fd cmd arg" }, { "pread64", "fd buf count pos" }, { "pwrite64", "fd buf count pos" },
	{ "readv", "fd vec vlen" }, { "writev", "fd vec vlen" }, { "access", "filename mode" }, { "pipe", "fildes" },
	{ "select", "n inp outp exp tvp" }, { "mremap", "addr old_len new_len flags new_addr" },
	{ "msync", "start len flags" }, { "madvise", "start len_in behavior" }, { "dup", "fildes" },
	{ "dup2", "oldfd newfd" }, { "nanosleep", "rqtp rmtp" }, { "alarm", "seconds" },
	{ "sendfile", "out_fd in_fd offset count" }, { "socket", "family type protocol" },
	{ "connect", "fd uservaddr addrlen" }, { "accept", "fd upeer_sockaddr upeer_addrlen" },
	{ "sendto", "fd buff len flags addr addr_len" }, { "recvfrom", "fd ubuf size flags addr addr_len" },
	{ "sendmsg", "fd msg flags" }, { "recvmsg", "fd msg flags" }, { "shutdown", "fd how" },
	{ "bind", "fd umyaddr addrlen" }, { "listen", "fd backlog" },
	{ "getsockname", "fd usockaddr usockaddr_len" }, { "getpeername", "fd usockaddr usockaddr_len" },
	{ "socketpair", "family type protocol usockvec" }, { "setsockopt", "fd level optname optval optlen" },
	{ "getsockopt", "fd level optname optval optlen" }, { "clone", "clone_flags newsp parent_tidptr child_tidptr tls" },
	{ "execve", "filename argv envp" }, { "exit", "error_code" }, { "wait4", "upid stat_addr options ru" },
	{ "kill", "pid sig" }, { "uname", "name" }, { "fcntl", "fd cmd arg" }, { "flock", "fd cmd" }, { "fsync", "fd" },
	{ "fdatasync", "fd" }, { "truncate", "path length" }, { "ftruncate", "fd length" },
	{ "getdents", "fd dirent count" }, { "getcwd", "buf size" }, { "chdir", "filename" }, { "fchdir", "fd" },
	{ "rename", "oldname newname" }, { "mkdir", "pathname mode" }, { "rmdir", "pathname" },
	{ "creat", "pathname mode" }, { "link", "oldname newname" }, { "unlink", "pathname" },
	{ "symlink", "oldname newname" }, { "readlink", "path buf bufsiz" }, { "chmod", "filename mode" },
	{ "fchmod", "fd mode" }, { "chown", "filename user group" }, { "fchown", "fd user group" },
	{ "lchown", "filename user group" }, { "umask", "mask" }, { "gettimeofday", "tv tz" },
	{ "getrlimit", "resource rlim" }, { "getrusage", "who ru" }, { "sysinfo", "info" }, { "times", "tbuf" },
	{ "setuid", "uid" }, { "setgid", "gid" }, { "setpgid", "pid pgid" }, { "setreuid", "ruid euid" },
	{ "setregid", "rgid egid" }, { "getgroups", "gidsetsize grouplist" }, { "setgroups", "gidsetsize grouplist" },
	{ "setresuid", "ruid euid suid" }, { "setresgid", "rgid egid sgid" }, { "setfsuid", "uid" }, { "setfsgid", "gid" },
	{ "capget", "header dataptr" }, { "capset", "header data" }, { "mknod", "filename mode dev" },
	{ "statfs", "pathname buf" }, { "fstatfs", "fd buf" }, { "prctl", "option arg2 arg3 arg4 arg5" },
	{ "arch_prctl", "option arg2" }, { "setrlimit", "resource rlim" }, { "chroot", "filename" },
	{ "mount", "dev_name dir_name type flags data" }, { "umount2", "name flags" }, { "swapon", "specialfile swap_flags" },
	{ "reboot", "magic1 magic2 cmd arg" }, { "sethostname", "name len" }, { "init_module", "umod len uargs" },
	{ "delete_module", "name_user flags" }, { "readahead", "fd offset count" },
	{ "setxattr", "pathname name value size flags" }, { "getxattr", "pathname name value size" },
	{ "lgetxattr", "pathname name value size" }, { "fgetxattr", "fd name value size" }, { "tkill", "pid sig" },
	{ "time", "tloc" }, { "futex", "uaddr op val utime uaddr2 val3" }, { "getdents64", "fd dirent count" },
	{ "set_tid_address", "tidptr" }, { "fadvise64", "fd offset len advice" }, { "clock_gettime", "which_clock tp" },
	{ "clock_nanosleep", "which_clock flags rqtp rmtp" }, { "exit_group", "error_code" },
	{ "epoll_wait", "epfd events maxevents timeout" }, { "epoll_ctl", "epfd op fd event" }, { "tgkill", "tgid pid sig" },
	{ "waitid", "which upid infop options ru" }, { "inotify_add_watch", "fd pathname mask" },
	{ "openat", "dfd filename flags mode" }, { "mkdirat", "dfd pathname mode" }, { "mknodat", "dfd filename mode dev" },
	{ "fchownat", "dfd filename user group flag" }, { "newfstatat", "dfd filename statbuf flag" },
	{ "unlinkat", "dfd pathname flag" }, { "renameat", "olddfd oldname newdfd newname" },
	{ "linkat", "olddfd oldname newdfd newname flags" }, { "symlinkat", "oldname newdfd newname" },
	{ "readlinkat", "dfd pathname buf bufsiz" }, { "fchmodat", "dfd filename mode" }, { "faccessat", "dfd filename mode" },
	{ "pselect6", "n inp outp exp tsp sig" }, { "ppoll", "ufds nfds tsp sigmask sigsetsize" }, { "unshare", "unshare_flags" },
	{ "set_robust_list", "head len" }, { "splice", "fd_in off_in fd_out off_out len flags" }, { "tee", "fdin fdout len flags" },
	{ "sync_file_range", "fd offset nbytes flags" }, { "utimensat", "dfd filename utimes flags" },
	{ "epoll_pwait", "epfd events maxevents timeout sigmask sigsetsize" }, { "signalfd4", "ufd user_mask sizemask flags" },
	{ "eventfd2", "count flags" }, { "epoll_create1", "flags" }, { "dup3", "oldfd newfd flags" }, { "pipe2", "fildes flags" },
	{ "inotify_init1", "flags" }, { "timerfd_create", "clockid flags" }, { "timerfd_settime", "ufd flags utmr otmr" },
	{ "fallocate", "fd mode offset len" }, { "accept4", "fd upeer_sockaddr upeer_addrlen flags" },
	{ "perf_event_open", "attr_uptr pid cpu group_fd flags" }, { "prlimit64", "pid resource new_rlim old_rlim" },
	{ "syncfs", "fd" }, { "sendmmsg", "fd mmsg vlen flags" }, { "setns", "fd flags" }, { "getcpu", "cpup nodep unused" },
	{ "finit_module", "fd uargs flags" }, { "renameat2", "olddfd oldname newdfd newname flags" },
	{ "seccomp", "op flags uargs" }, { "getrandom", "ubuf len flags" }, { "memfd_create", "uname flags" }, { "bpf", "cmd uattr size" },
	{ "execveat", "fd filename argv envp flags" }, { "membarrier", "cmd flags cpu_id" },
	{ "copy_file_range", "fd_in off_in fd_out off_out len flags" }, { "statx", "dfd filename flags mask buffer" },
	{ "rseq", "rseq rseq_len flags sig" }, { "clone3", "uargs size" }, { "close_range", "fd max_fd flags" },
	{ "openat2", "dfd filename how usize" }, { "faccessat2", "dfd filename mode flags" },
	{ "fchmodat2", "dfd filename mode flags" },
};

/* Calls whose function in the kernel has another name than their number. */
static const char *const others[][2] = {
	{ "stat", "newstat" }, { "fstat", "newfstat" }, { "lstat", "newlstat" }, { "sendfile", "sendfile64" }, { "uname", "newuname" },
	{ "umount2", "umount" },
};

const char *syscall_fields(const char *call)
{
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (!strcmp(fields[i][0], call))
			return fields[i][1];
	return NULL;
}

int syscall_field(const char *call, const char *field, size_t len)
{
	const char *at = syscall_fields(call);

	for (int i = 0; at && *at; i++) {
		size_t n = strcspn(at, " ");

		if (n == len && !memcmp(at, field, n))
			return i;
		at += n + (at[n] == ' ');
	}
	return -1;
}

const char *syscall_tracepoint(const char *call)
{
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (!strcmp(others[i][0], call))
			return others[i][1];
	return call;
}

const char *syscall_of_tracepoint(const char *name)
{
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (!strcmp(others[i][1], name))
			return others[i][0];
	return name;
}

const char *syscall_structure(const char *field)
{
	static const char *const structures[][2] = {
		{ "rqtp", "__kernel_timespec" }, { "rmtp", "__kernel_timespec" }, { "utmr", "__kernel_itimerspec" },
		{ "otmr", "__kernel_itimerspec" }, { "statbuf", "stat" }, { "uservaddr", "sockaddr" },
		{ "umyaddr", "sockaddr" }, { "upeer_sockaddr", "sockaddr" }, { "ufds", "pollfd" },
		{ "vec", "iovec" }, { "mmsg", "mmsghdr" }, { "events", "epoll_event" }, { "event", "epoll_event" },
		{ "how", "open_how" }, { "attr_uptr", "perf_event_attr" }, { "new_rlim", "rlimit64" },
		{ "old_rlim", "rlimit64" }, { "act", "sigaction" }, { "oact", "sigaction" }, { "buffer", "statx" },
	};

	for (size_t i = 0; i < sizeof structures / sizeof *structures; i++)
		if (!strcmp(structures[i][0], field))
			return structures[i][1];
	return NULL;
}
