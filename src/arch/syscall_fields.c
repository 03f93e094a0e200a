/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "syscall_fields.h"

#include <string.h>

static const char *const fields[][2] = {
	{ "read", "fd buf count" }, { "write", "fd buf count" }, { "open", "filename flags mode" }, { "close", "fd" },
	{ "stat", "filename statbuf" }, { "fstat", "fd statbuf" }, { "lstat", "filename statbuf" },
	{ "poll", "ufds nfds timeout_msecs" }, { "lseek", "fd offset whence" },
	{ "mmap", "addr len prot flags fd off" }, { "mprotect", "start len prot" }, { "munmap", "addr len" },
	{ "brk", "brk" }, { "rt_sigaction", "sig act oact sigsetsize" },
	{ "rt_sigprocmask", "how nset oset sigsetsize" }, { "ioctl", "fd cmd arg" }, { "pread64", "fd buf count pos" },
	{ "pwrite64", "fd buf count pos" }, { "readv", "fd vec vlen" }, { "writev", "fd vec vlen" },
	{ "access", "filename mode" }, { "pipe", "fildes" }, { "select", "n inp outp exp tvp" },
	{ "mremap", "addr old_len new_len flags new_addr" }, { "msync", "start len flags" },
	{ "madvise", "start len_in behavior" }, { "shmget", "key size shmflg" }, { "shmat", "shmid shmaddr shmflg" },
	{ "shmctl", "shmid cmd buf" }, { "dup", "fildes" }, { "dup2", "oldfd newfd" }, { "nanosleep", "rqtp rmtp" },
	{ "getitimer", "which value" }, { "alarm", "seconds" }, { "setitimer", "which value ovalue" },
	{ "sendfile", "out_fd in_fd offset count" }, { "socket", "family type protocol" },
	{ "connect", "fd uservaddr addrlen" }, { "accept", "fd upeer_sockaddr upeer_addrlen" },
	{ "sendto", "fd buff len flags addr addr_len" }, { "recvfrom", "fd ubuf size flags addr addr_len" },
	{ "sendmsg", "fd msg flags" }, { "recvmsg", "fd msg flags" }, { "shutdown", "fd how" },
	{ "bind", "fd umyaddr addrlen" }, { "listen", "fd backlog" }, { "getsockname", "fd usockaddr usockaddr_len" },
	{ "getpeername", "fd usockaddr usockaddr_len" }, { "socketpair", "family type protocol usockvec" },
	{ "setsockopt", "fd level optname optval optlen" }, { "getsockopt", "fd level optname optval optlen" },
	{ "clone", "clone_flags newsp parent_tidptr child_tidptr tls" }, { "execve", "filename argv envp" },
	{ "exit", "error_code" }, { "wait4", "upid stat_addr options ru" }, { "kill", "pid sig" }, { "uname", "name" },
	{ "semget", "key nsems semflg" }, { "semop", "semid tsops nsops" }, { "semctl", "semid semnum cmd arg" },
	{ "shmdt", "shmaddr" }, { "msgget", "key msgflg" }, { "msgsnd", "msqid msgp msgsz msgflg" },
	{ "msgrcv", "msqid msgp msgsz msgtyp msgflg" }, { "msgctl", "msqid cmd buf" }, { "fcntl", "fd cmd arg" },
	{ "flock", "fd cmd" }, { "fsync", "fd" }, { "fdatasync", "fd" }, { "truncate", "path length" },
	{ "ftruncate", "fd length" }, { "getdents", "fd dirent count" }, { "getcwd", "buf size" },
	{ "chdir", "filename" }, { "fchdir", "fd" }, { "rename", "oldname newname" }, { "mkdir", "pathname mode" },
	{ "rmdir", "pathname" }, { "creat", "pathname mode" }, { "link", "oldname newname" }, { "unlink", "pathname" },
	{ "symlink", "oldname newname" }, { "readlink", "path buf bufsiz" }, { "chmod", "filename mode" },
	{ "fchmod", "fd mode" }, { "chown", "filename user group" }, { "fchown", "fd user group" },
	{ "lchown", "filename user group" }, { "umask", "mask" }, { "gettimeofday", "tv tz" },
	{ "getrlimit", "resource rlim" }, { "getrusage", "who ru" }, { "sysinfo", "info" }, { "times", "tbuf" },
	{ "ptrace", "request pid addr data" }, { "syslog", "type buf len" }, { "setuid", "uid" }, { "setgid", "gid" },
	{ "setpgid", "pid pgid" }, { "setreuid", "ruid euid" }, { "setregid", "rgid egid" },
	{ "getgroups", "gidsetsize grouplist" }, { "setgroups", "gidsetsize grouplist" },
	{ "setresuid", "ruid euid suid" }, { "getresuid", "ruidp euidp suidp" }, { "setresgid", "rgid egid sgid" },
	{ "getresgid", "rgidp egidp sgidp" }, { "getpgid", "pid" }, { "setfsuid", "uid" }, { "setfsgid", "gid" },
	{ "getsid", "pid" }, { "capget", "header dataptr" }, { "capset", "header data" },
	{ "rt_sigpending", "uset sigsetsize" }, { "rt_sigtimedwait", "uthese uinfo uts sigsetsize" },
	{ "rt_sigqueueinfo", "pid sig uinfo" }, { "rt_sigsuspend", "unewset sigsetsize" },
	{ "sigaltstack", "uss uoss" }, { "utime", "filename times" }, { "mknod", "filename mode dev" },
	{ "personality", "personality" }, { "ustat", "dev ubuf" }, { "statfs", "pathname buf" },
	{ "fstatfs", "fd buf" }, { "sysfs", "option arg1 arg2" }, { "getpriority", "which who" },
	{ "setpriority", "which who niceval" }, { "sched_setparam", "pid param" }, { "sched_getparam", "pid param" },
	{ "sched_setscheduler", "pid policy param" }, { "sched_getscheduler", "pid" },
	{ "sched_get_priority_max", "policy" }, { "sched_get_priority_min", "policy" },
	{ "sched_rr_get_interval", "pid interval" }, { "mlock", "start len" }, { "munlock", "start len" },
	{ "mlockall", "flags" }, { "modify_ldt", "func ptr bytecount" }, { "pivot_root", "new_root put_old" },
	{ "prctl", "option arg2 arg3 arg4 arg5" }, { "arch_prctl", "option arg2" }, { "adjtimex", "txc_p" },
	{ "setrlimit", "resource rlim" }, { "chroot", "filename" }, { "acct", "name" }, { "settimeofday", "tv tz" },
	{ "mount", "dev_name dir_name type flags data" }, { "umount2", "name flags" },
	{ "swapon", "specialfile swap_flags" }, { "swapoff", "specialfile" }, { "reboot", "magic1 magic2 cmd arg" },
	{ "sethostname", "name len" }, { "setdomainname", "name len" }, { "iopl", "level" },
	{ "ioperm", "from num turn_on" }, { "init_module", "umod len uargs" }, { "delete_module", "name_user flags" },
	{ "quotactl", "cmd special id addr" }, { "readahead", "fd offset count" },
	{ "setxattr", "pathname name value size flags" }, { "lsetxattr", "pathname name value size flags" },
	{ "fsetxattr", "fd name value size flags" }, { "getxattr", "pathname name value size" },
	{ "lgetxattr", "pathname name value size" }, { "fgetxattr", "fd name value size" },
	{ "listxattr", "pathname list size" }, { "llistxattr", "pathname list size" }, { "flistxattr", "fd list size" },
	{ "removexattr", "pathname name" }, { "lremovexattr", "pathname name" }, { "fremovexattr", "fd name" },
	{ "tkill", "pid sig" }, { "time", "tloc" }, { "futex", "uaddr op val utime uaddr2 val3" },
	{ "sched_setaffinity", "pid len user_mask_ptr" }, { "sched_getaffinity", "pid len user_mask_ptr" },
	{ "io_setup", "nr_events ctxp" }, { "io_destroy", "ctx" }, { "io_submit", "ctx_id nr iocbpp" },
	{ "io_cancel", "ctx_id iocb result" }, { "epoll_create", "size" },
	{ "remap_file_pages", "start size prot pgoff flags" }, { "getdents64", "fd dirent count" },
	{ "set_tid_address", "tidptr" }, { "semtimedop", "semid tsops nsops timeout" },
	{ "fadvise64", "fd offset len advice" }, { "timer_create", "which_clock timer_event_spec created_timer_id" },
	{ "timer_settime", "timer_id flags new_setting old_setting" }, { "timer_gettime", "timer_id setting" },
	{ "timer_getoverrun", "timer_id" }, { "timer_delete", "timer_id" }, { "clock_settime", "which_clock tp" },
	{ "clock_gettime", "which_clock tp" }, { "clock_getres", "which_clock tp" },
	{ "clock_nanosleep", "which_clock flags rqtp rmtp" }, { "exit_group", "error_code" },
	{ "epoll_wait", "epfd events maxevents timeout" }, { "epoll_ctl", "epfd op fd event" },
	{ "tgkill", "tgid pid sig" }, { "utimes", "filename utimes" },
	{ "mbind", "start len mode nmask maxnode flags" }, { "set_mempolicy", "mode nmask maxnode" },
	{ "get_mempolicy", "policy nmask maxnode addr flags" }, { "mq_open", "u_name oflag mode u_attr" },
	{ "mq_unlink", "u_name" }, { "mq_timedsend", "mqdes u_msg_ptr msg_len msg_prio u_abs_timeout" },
	{ "mq_timedreceive", "mqdes u_msg_ptr msg_len u_msg_prio u_abs_timeout" },
	{ "mq_notify", "mqdes u_notification" }, { "mq_getsetattr", "mqdes u_mqstat u_omqstat" },
	{ "kexec_load", "entry nr_segments segments flags" }, { "waitid", "which upid infop options ru" },
	{ "add_key", "_type _description _payload plen ringid" },
	{ "request_key", "_type _description _callout_info destringid" }, { "keyctl", "option arg2 arg3 arg4 arg5" },
	{ "ioprio_set", "which who ioprio" }, { "ioprio_get", "which who" },
	{ "inotify_add_watch", "fd pathname mask" }, { "inotify_rm_watch", "fd wd" },
	{ "migrate_pages", "pid maxnode old_nodes new_nodes" }, { "openat", "dfd filename flags mode" },
	{ "mkdirat", "dfd pathname mode" }, { "mknodat", "dfd filename mode dev" },
	{ "fchownat", "dfd filename user group flag" }, { "futimesat", "dfd filename utimes" },
	{ "newfstatat", "dfd filename statbuf flag" }, { "unlinkat", "dfd pathname flag" },
	{ "renameat", "olddfd oldname newdfd newname" }, { "linkat", "olddfd oldname newdfd newname flags" },
	{ "symlinkat", "oldname newdfd newname" }, { "readlinkat", "dfd pathname buf bufsiz" },
	{ "fchmodat", "dfd filename mode" }, { "faccessat", "dfd filename mode" },
	{ "pselect6", "n inp outp exp tsp sig" }, { "ppoll", "ufds nfds tsp sigmask sigsetsize" },
	{ "unshare", "unshare_flags" }, { "set_robust_list", "head len" },
	{ "get_robust_list", "pid head_ptr len_ptr" }, { "splice", "fd_in off_in fd_out off_out len flags" },
	{ "tee", "fdin fdout len flags" }, { "sync_file_range", "fd offset nbytes flags" },
	{ "vmsplice", "fd uiov nr_segs flags" }, { "move_pages", "pid nr_pages pages nodes status flags" },
	{ "utimensat", "dfd filename utimes flags" },
	{ "epoll_pwait", "epfd events maxevents timeout sigmask sigsetsize" }, { "signalfd", "ufd user_mask sizemask" },
	{ "timerfd_create", "clockid flags" }, { "eventfd", "count" }, { "fallocate", "fd mode offset len" },
	{ "timerfd_settime", "ufd flags utmr otmr" }, { "timerfd_gettime", "ufd otmr" },
	{ "accept4", "fd upeer_sockaddr upeer_addrlen flags" }, { "signalfd4", "ufd user_mask sizemask flags" },
	{ "eventfd2", "count flags" }, { "epoll_create1", "flags" }, { "dup3", "oldfd newfd flags" },
	{ "pipe2", "fildes flags" }, { "inotify_init1", "flags" }, { "preadv", "fd vec vlen pos_l pos_h" },
	{ "pwritev", "fd vec vlen pos_l pos_h" }, { "rt_tgsigqueueinfo", "tgid pid sig uinfo" },
	{ "perf_event_open", "attr_uptr pid cpu group_fd flags" }, { "recvmmsg", "fd mmsg vlen flags timeout" },
	{ "fanotify_init", "flags event_f_flags" }, { "fanotify_mark", "fanotify_fd flags mask dfd pathname" },
	{ "prlimit64", "pid resource new_rlim old_rlim" }, { "name_to_handle_at", "dfd name handle mnt_id flag" },
	{ "open_by_handle_at", "mountdirfd handle flags" }, { "clock_adjtime", "which_clock utx" }, { "syncfs", "fd" },
	{ "sendmmsg", "fd mmsg vlen flags" }, { "setns", "fd flags" }, { "getcpu", "cpup nodep unused" },
	{ "process_vm_readv", "pid lvec liovcnt rvec riovcnt flags" },
	{ "process_vm_writev", "pid lvec liovcnt rvec riovcnt flags" }, { "kcmp", "pid1 pid2 type idx1 idx2" },
	{ "finit_module", "fd uargs flags" }, { "sched_setattr", "pid uattr flags" },
	{ "sched_getattr", "pid uattr usize flags" }, { "renameat2", "olddfd oldname newdfd newname flags" },
	{ "seccomp", "op flags uargs" }, { "getrandom", "ubuf len flags" }, { "memfd_create", "uname flags" },
	{ "kexec_file_load", "kernel_fd initrd_fd cmdline_len cmdline_ptr flags" }, { "bpf", "cmd uattr size" },
	{ "execveat", "fd filename argv envp flags" }, { "userfaultfd", "flags" }, { "membarrier", "cmd flags cpu_id" },
	{ "mlock2", "start len flags" }, { "copy_file_range", "fd_in off_in fd_out off_out len flags" },
	{ "preadv2", "fd vec vlen pos_l pos_h flags" }, { "pwritev2", "fd vec vlen pos_l pos_h flags" },
	{ "pkey_mprotect", "start len prot pkey" }, { "pkey_alloc", "flags init_val" }, { "pkey_free", "pkey" },
	{ "statx", "dfd filename flags mask buffer" }, { "rseq", "rseq rseq_len flags sig" },
	{ "pidfd_send_signal", "pidfd sig info flags" }, { "io_uring_setup", "entries params" },
	{ "io_uring_enter", "fd to_submit min_complete flags argp argsz" },
	{ "io_uring_register", "fd opcode arg nr_args" }, { "open_tree", "dfd filename flags" },
	{ "move_mount", "from_dfd from_pathname to_dfd to_pathname flags" }, { "fsopen", "_fs_name flags" },
	{ "fsconfig", "fd cmd _key _value aux" }, { "fsmount", "fs_fd flags attr_flags" },
	{ "fspick", "dfd path flags" }, { "pidfd_open", "pid flags" }, { "clone3", "uargs size" },
	{ "close_range", "fd max_fd flags" }, { "openat2", "dfd filename how usize" },
	{ "pidfd_getfd", "pidfd fd flags" }, { "faccessat2", "dfd filename mode flags" },
	{ "process_madvise", "pidfd vec vlen behavior flags" },
	{ "epoll_pwait2", "epfd events maxevents timeout sigmask sigsetsize" },
	{ "mount_setattr", "dfd path flags uattr usize" }, { "quotactl_fd", "fd cmd id addr" },
	{ "landlock_create_ruleset", "attr size flags" },
	{ "landlock_add_rule", "ruleset_fd rule_type rule_attr flags" },
	{ "landlock_restrict_self", "ruleset_fd flags" }, { "memfd_secret", "flags" },
	{ "process_mrelease", "pidfd flags" }, { "futex_waitv", "waiters nr_futexes flags timeout clockid" },
	{ "set_mempolicy_home_node", "start len home_node flags" }, { "cachestat", "fd cstat_range cstat flags" },
	{ "fchmodat2", "dfd filename mode flags" }, { "futex_wake", "uaddr mask nr flags" },
	{ "futex_wait", "uaddr val mask flags timeout clockid" },
	{ "futex_requeue", "waiters flags nr_wake nr_requeue" }, { "statmount", "req buf bufsize flags" },
	{ "listmount", "req mnt_ids nr_mnt_ids flags" }, { "lsm_get_self_attr", "attr ctx size flags" },
	{ "lsm_set_self_attr", "attr ctx size flags" }, { "lsm_list_modules", "ids size flags" },
	{ "mseal", "start len flags" },
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
