/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "syscall_args.h"

#include <inttypes.h>
#include <string.h>

struct bit {
	uint64_t value;
	const char *name;
};

/* arch/x86 and asm-generic: uapi/asm-generic/fcntl.h, mman-common.h, linux/{fcntl,sched,mman}.h */
static const struct bit open_bits[] = {
	{ 01, "O_WRONLY" },         { 02, "O_RDWR" },           { 0100, "O_CREAT" },        { 0200, "O_EXCL" },
	{ 0400, "O_NOCTTY" },       { 01000, "O_TRUNC" },       { 02000, "O_APPEND" },      { 04000, "O_NONBLOCK" },
	{ 04010000, "O_SYNC" },     { 010000, "O_DSYNC" },      { 020000, "O_ASYNC" },      { 040000, "O_DIRECT" },
	{ 0100000, "O_LARGEFILE" }, { 020200000, "O_TMPFILE" }, { 0200000, "O_DIRECTORY" }, { 0400000, "O_NOFOLLOW" },
	{ 01000000, "O_NOATIME" },  { 02000000, "O_CLOEXEC" },  { 010000000, "O_PATH" },    { 0 },
};
static const struct bit at_bits[] = {
	{ 0x100, "AT_SYMLINK_NOFOLLOW" }, { 0x200, "AT_REMOVEDIR" },
	{ 0x400, "AT_SYMLINK_FOLLOW" },   { 0x800, "AT_NO_AUTOMOUNT" },
	{ 0x1000, "AT_EMPTY_PATH" },      { 0x2000, "AT_STATX_FORCE_SYNC" },
	{ 0x4000, "AT_STATX_DONT_SYNC" }, { 0 },
};
static const struct bit eaccess_bits[] = {
	{ 0x100, "AT_SYMLINK_NOFOLLOW" }, { 0x200, "AT_EACCESS" }, { 0x1000, "AT_EMPTY_PATH" }, { 0 },
};
static const struct bit access_bits[] = { { 4, "R_OK" }, { 2, "W_OK" }, { 1, "X_OK" }, { 0 } };
static const struct bit protection_bits[] = { { 1, "PROT_READ" }, { 2, "PROT_WRITE" }, { 4, "PROT_EXEC" }, { 0 } };
static const struct bit mapping_bits[] = {
	{ 3, "MAP_SHARED_VALIDATE" },
	{ 1, "MAP_SHARED" },
	{ 2, "MAP_PRIVATE" },
	{ 0x10, "MAP_FIXED" },
	{ 0x20, "MAP_ANONYMOUS" },
	{ 0x40, "MAP_32BIT" },
	{ 0x100, "MAP_GROWSDOWN" },
	{ 0x800, "MAP_DENYWRITE" },
	{ 0x1000, "MAP_EXECUTABLE" },
	{ 0x2000, "MAP_LOCKED" },
	{ 0x4000, "MAP_NORESERVE" },
	{ 0x8000, "MAP_POPULATE" },
	{ 0x10000, "MAP_NONBLOCK" },
	{ 0x20000, "MAP_STACK" },
	{ 0x40000, "MAP_HUGETLB" },
	{ 0x100000, "MAP_FIXED_NOREPLACE" },
	{ 0 },
};
static const struct bit clone_bits[] = {
	{ 0x80, "CLONE_NEWTIME" },
	{ 0x100, "CLONE_VM" },
	{ 0x200, "CLONE_FS" },
	{ 0x400, "CLONE_FILES" },
	{ 0x800, "CLONE_SIGHAND" },
	{ 0x1000, "CLONE_PIDFD" },
	{ 0x2000, "CLONE_PTRACE" },
	{ 0x4000, "CLONE_VFORK" },
	{ 0x8000, "CLONE_PARENT" },
	{ 0x10000, "CLONE_THREAD" },
	{ 0x20000, "CLONE_NEWNS" },
	{ 0x40000, "CLONE_SYSVSEM" },
	{ 0x80000, "CLONE_SETTLS" },
	{ 0x100000, "CLONE_PARENT_SETTID" },
	{ 0x200000, "CLONE_CHILD_CLEARTID" },
	{ 0x1000000, "CLONE_CHILD_SETTID" },
	{ 0x2000000, "CLONE_NEWCGROUP" },
	{ 0x4000000, "CLONE_NEWUTS" },
	{ 0x8000000, "CLONE_NEWIPC" },
	{ 0x10000000, "CLONE_NEWUSER" },
	{ 0x20000000, "CLONE_NEWPID" },
	{ 0x40000000, "CLONE_NEWNET" },
	{ 0x80000000, "CLONE_IO" },
	{ 0 },
};
/* uapi/asm/signal.h */
static const char *const signals[] = {
	"0",         "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",
	"SIGFPE",    "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM",
	"SIGSTKFLT", "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",
	"SIGXCPU",   "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO",   "SIGPWR",  "SIGSYS",
};
static const char *const whences[] = { "SEEK_SET", "SEEK_CUR", "SEEK_END", "SEEK_DATA", "SEEK_HOLE" };

static void put_bits(struct buf *out, const struct bit *bits, uint64_t value, const char *none)
{
	const char *before = "";

	if (!value)
		buf_printf(out, "%s", none);
	for (; value && bits->name; bits++)
		if ((value & bits->value) == bits->value) {
			buf_printf(out, "%s%s", before, bits->name);
			value &= ~bits->value;
			before = "|";
		}
	if (value)
		buf_printf(out, "%s0x%" PRIx64, before, value);
}

static void put_name(struct buf *out, const char *const *names, size_t n, int value)
{
	if (value >= 0 && (size_t)value < n)
		buf_printf(out, "%s", names[value]);
	else
		buf_printf(out, "%d", value);
}

static void put_open(struct buf *out, uint32_t value)
{
	enum { ACCESS_MODE = 3 };

	if (!(value & ACCESS_MODE))
		buf_printf(out, value ? "O_RDONLY|" : "O_RDONLY");
	if (value)
		put_bits(out, open_bits, value, "");
}

/*
 * The lowest byte of the flags is the signal that the parent gets when the child ends; there are 64, and unshare() has
 * a flag above them.
 */
static void put_clone(struct buf *out, uint32_t value)
{
	uint32_t signal = value & 0x7f, flags = value - signal;

	if (flags || !signal)
		put_bits(out, clone_bits, flags, "0");
	if (signal) {
		buf_printf(out, flags ? "|" : "");
		put_name(out, signals, sizeof signals / sizeof *signals, (int)signal);
	}
}

void syscall_arg(const struct syscall_abi *abi, char kind, uint64_t value, struct buf *out)
{
	enum { AT_FDCWD = -100 };
	int number = (int)value;

	switch (kind) {
	case ARG_FOLDER:
	case ARG_FD:
	case ARG_INT:
		if (kind == ARG_FOLDER && number == AT_FDCWD)
			buf_printf(out, "AT_FDCWD");
		else
			buf_printf(out, "%d", number);
		break;
	case ARG_LONG:
		buf_printf(out, "%" PRId64, abi->bits == 32 ? (int32_t)value : (int64_t)value);
		break;
	case ARG_SIZE:
		buf_printf(out, "%" PRIu64, value);
		break;
	case ARG_MODE:
		buf_printf(out, "%#03o", (unsigned)value);
		break;
	case ARG_OPEN:
		put_open(out, (uint32_t)value);
		break;
	case ARG_AT:
		put_bits(out, at_bits, (uint32_t)value, "0");
		break;
	case ARG_EACCESS:
		put_bits(out, eaccess_bits, (uint32_t)value, "0");
		break;
	case ARG_ACCESS:
		put_bits(out, access_bits, (uint32_t)value, "F_OK");
		break;
	case ARG_PROTECTION:
		put_bits(out, protection_bits, value, "PROT_NONE");
		break;
	case ARG_MAPPING:
		put_bits(out, mapping_bits, value, "MAP_FILE");
		break;
	case ARG_CLONE:
		put_clone(out, (uint32_t)value);
		break;
	case ARG_SIGNAL:
		put_name(out, signals, sizeof signals / sizeof *signals, number);
		break;
	case ARG_WHENCE:
		put_name(out, whences, sizeof whences / sizeof *whences, number);
		break;
	default:
		buf_printf(out, value ? "0x%" PRIx64 : "NULL", value);
		break;
	}
}

const char *syscall_error(int64_t result)
{
	return syscall_is_error(result) ? strerrorname_np((int)-result) : NULL;
}
