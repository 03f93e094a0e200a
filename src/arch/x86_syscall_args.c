/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "x86_syscall_args.h"

#include <inttypes.h>
#include <string.h>

/* The calls that processes make; man 2. */
static const char *const args[] = {
	[0] = "fxu", [1] = "fsu", [2] = "pom", [3] = "f", [4] = "px", [5] = "fx", [6] = "px", [7] = "xui", [8] = "flw",
	[9] = "xuPMfu", [10] = "xuP", [11] = "xu", [12] = "x", [13] = "Sxxu", [14] = "ixxu", [15] = "", [16] = "fxx",
	[17] = "fxul", [18] = "fsul", [19] = "fxi", [20] = "fxi", [21] = "pr", [22] = "x", [23] = "ixxxx", [24] = "",
	[25] = "xuuix", [26] = "xui", [27] = "xux", [28] = "xui", [29] = "iui", [30] = "ixi", [31] = "iix", [32] = "f",
	[33] = "ff", [34] = "", [35] = "xx", [36] = "ix", [37] = "u", [38] = "ixx", [39] = "", [40] = "ffxu",
	[41] = "iii", [42] = "fxu", [43] = "fxx", [44] = "fsuixu", [45] = "fxuixx", [46] = "fxi", [47] = "fxi", [48] = "fi",
	[49] = "fxu", [50] = "fi", [51] = "fxx", [52] = "fxx", [53] = "iiix", [54] = "fiixu", [55] = "fiixx", [56] = "cxxxx",
	[57] = "", [58] = "", [59] = "pxx", [60] = "i", [61] = "ixix", [62] = "iS", [63] = "x", [64] = "iii", [72] = "fix",
	[73] = "fi", [74] = "f", [75] = "f", [76] = "pl", [77] = "fl", [78] = "fxu", [79] = "xu", [80] = "p", [81] = "f",
	[82] = "pp", [83] = "pm", [84] = "p", [85] = "pm", [86] = "pp", [87] = "p", [88] = "pp", [89] = "pxu", [90] = "pm",
	[91] = "fm", [92] = "pii", [93] = "fii", [94] = "pii", [95] = "m", [96] = "xx", [97] = "ix", [98] = "ix", [99] = "x",
	[100] = "x", [101] = "iixx", [102] = "", [103] = "isi", [104] = "", [105] = "i", [106] = "i", [107] = "", [108] = "",
	[109] = "ii", [110] = "", [111] = "", [112] = "", [113] = "ii", [114] = "ii", [115] = "ix", [116] = "ix", [117] = "iii",
	[118] = "xxx", [119] = "iii", [120] = "xxx", [121] = "i", [122] = "i", [123] = "i", [124] = "i", [125] = "xx",
	[126] = "xx", [127] = "xu", [128] = "xxxu", [129] = "iSx", [130] = "xu", [131] = "xx", [132] = "px", [133] = "pmu",
	[137] = "px", [138] = "fx", [140] = "ii", [141] = "iii", [142] = "ix", [143] = "ix", [144] = "iix", [145] = "i",
	[149] = "xu", [150] = "xu", [151] = "i", [152] = "", [155] = "pp", [157] = "ixxxx", [158] = "ix", [160] = "ix",
	[161] = "p", [162] = "", [165] = "pppxx", [166] = "pi", [167] = "pi", [168] = "p", [169] = "xxix", [170] = "su",
	[171] = "su", [175] = "xup", [176] = "px", [186] = "", [187] = "flu", [188] = "ppxui", [189] = "ppxui", [190] = "fpxui",
	[191] = "ppxu", [192] = "ppxu", [193] = "fpxu", [194] = "pxu", [195] = "pxu", [196] = "fxu", [197] = "pp", [198] = "pp",
	[199] = "fp", [200] = "iS", [201] = "x", [202] = "xiixxi", [203] = "iux", [204] = "iux", [213] = "i", [217] = "fxu",
	[218] = "x", [219] = "", [221] = "fluli", [228] = "ix", [229] = "ix", [230] = "iixx", [231] = "i", [232] = "fxii",
	[233] = "fifx", [234] = "iiS", [235] = "px", [247] = "iixix", [248] = "xpxui", [250] = "ixxxx", [251] = "iii", [252] = "ii",
	[253] = "", [254] = "fpx", [255] = "fi", [257] = "dpom", [258] = "dpm", [259] = "dpmu", [260] = "dpiia", [261] = "dpx",
	[262] = "dpxa", [263] = "dpa", [264] = "dpdp", [265] = "dpdpa", [266] = "pdp", [267] = "dpxu", [268] = "dpm", [269] = "dpr",
	[270] = "ixxxxx", [271] = "xuxxu", [272] = "c", [273] = "xu", [275] = "fxfxui", [276] = "ffui", [277] = "flui",
	[280] = "dpxa", [281] = "fxiixu", [282] = "fxu", [283] = "ii", [284] = "ui", [285] = "fill", [286] = "fixx", [287] = "fx",
	[288] = "fxxi", [289] = "fxui", [290] = "ui", [291] = "i", [292] = "ffo", [293] = "xo", [294] = "i", [295] = "fxill",
	[296] = "fxill", [299] = "fxuix", [302] = "iixx", [306] = "f", [307] = "fxui", [308] = "fi", [309] = "xxx", [313] = "fpi",
	[314] = "ixi", [315] = "ixui", [316] = "dpdpi", [317] = "iix", [318] = "xui", [319] = "pi", [321] = "ixu", [322] = "dpxxa",
	[324] = "iii", [325] = "xui", [326] = "fxfxui", [332] = "dpaxx", [334] = "xuix", [424] = "fSxi", [428] = "dpi",
	[429] = "dpdpi", [430] = "pi", [431] = "fipxi", [432] = "fii", [434] = "ii", [435] = "xu", [436] = "uui", [437] = "dpxu",
	[438] = "ffi", [439] = "dpra", [441] = "fxiixu", [442] = "dpixu", [448] = "fi", [451] = "fxxi", [452] = "dpma",
};

struct bit {
	uint64_t value;
	const char *name;
};

/* arch/x86 and asm-generic: uapi/asm-generic/fcntl.h, mman-common.h, linux/{fcntl,sched,mman}.h */
static const struct bit open_bits[] = {
	{ 01, "O_WRONLY" }, { 02, "O_RDWR" }, { 0100, "O_CREAT" }, { 0200, "O_EXCL" }, { 0400, "O_NOCTTY" }, { 01000, "O_TRUNC" },
	{ 02000, "O_APPEND" }, { 04000, "O_NONBLOCK" }, { 04010000, "O_SYNC" }, { 010000, "O_DSYNC" }, { 020000, "O_ASYNC" },
	{ 040000, "O_DIRECT" }, { 0100000, "O_LARGEFILE" }, { 020200000, "O_TMPFILE" }, { 0200000, "O_DIRECTORY" },
	{ 0400000, "O_NOFOLLOW" }, { 01000000, "O_NOATIME" }, { 02000000, "O_CLOEXEC" }, { 010000000, "O_PATH" }, { 0 },
};
static const struct bit at_bits[] = {
	{ 0x100, "AT_SYMLINK_NOFOLLOW" }, { 0x200, "AT_REMOVEDIR" }, { 0x400, "AT_SYMLINK_FOLLOW" }, { 0x800, "AT_NO_AUTOMOUNT" },
	{ 0x1000, "AT_EMPTY_PATH" }, { 0x2000, "AT_STATX_FORCE_SYNC" }, { 0x4000, "AT_STATX_DONT_SYNC" }, { 0 },
};
static const struct bit access_bits[] = { { 4, "R_OK" }, { 2, "W_OK" }, { 1, "X_OK" }, { 0 } };
static const struct bit protection_bits[] = { { 1, "PROT_READ" }, { 2, "PROT_WRITE" }, { 4, "PROT_EXEC" }, { 0 } };
static const struct bit mapping_bits[] = {
	{ 3, "MAP_SHARED_VALIDATE" }, { 1, "MAP_SHARED" }, { 2, "MAP_PRIVATE" }, { 0x10, "MAP_FIXED" }, { 0x20, "MAP_ANONYMOUS" },
	{ 0x40, "MAP_32BIT" }, { 0x100, "MAP_GROWSDOWN" }, { 0x800, "MAP_DENYWRITE" }, { 0x1000, "MAP_EXECUTABLE" },
	{ 0x2000, "MAP_LOCKED" }, { 0x4000, "MAP_NORESERVE" }, { 0x8000, "MAP_POPULATE" }, { 0x10000, "MAP_NONBLOCK" },
	{ 0x20000, "MAP_STACK" }, { 0x40000, "MAP_HUGETLB" }, { 0x100000, "MAP_FIXED_NOREPLACE" }, { 0 },
};
static const struct bit clone_bits[] = {
	{ 0x100, "CLONE_VM" }, { 0x200, "CLONE_FS" }, { 0x400, "CLONE_FILES" }, { 0x800, "CLONE_SIGHAND" }, { 0x1000, "CLONE_PIDFD" },
	{ 0x2000, "CLONE_PTRACE" }, { 0x4000, "CLONE_VFORK" }, { 0x8000, "CLONE_PARENT" }, { 0x10000, "CLONE_THREAD" },
	{ 0x20000, "CLONE_NEWNS" }, { 0x40000, "CLONE_SYSVSEM" }, { 0x80000, "CLONE_SETTLS" }, { 0x100000, "CLONE_PARENT_SETTID" },
	{ 0x200000, "CLONE_CHILD_CLEARTID" }, { 0x1000000, "CLONE_CHILD_SETTID" }, { 0x2000000, "CLONE_NEWCGROUP" },
	{ 0x4000000, "CLONE_NEWUTS" }, { 0x8000000, "CLONE_NEWIPC" }, { 0x10000000, "CLONE_NEWUSER" },
	{ 0x20000000, "CLONE_NEWPID" }, { 0x40000000, "CLONE_NEWNET" }, { 0x80000000, "CLONE_IO" }, { 0 },
};
/* uapi/asm/signal.h */
static const char *const signals[] = {
	"0", "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGUSR1", "SIGSEGV",
	"SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT", "SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU",
	"SIGURG", "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO", "SIGPWR", "SIGSYS",
};
static const char *const whences[] = { "SEEK_SET", "SEEK_CUR", "SEEK_END", "SEEK_DATA", "SEEK_HOLE" };

const char *x86_syscall_args(uint64_t nr)
{
	return nr < sizeof args / sizeof *args ? args[nr] : NULL;
}

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

/* The signal that tells the parent of the end is in the lowest byte. */
static void put_clone(struct buf *out, uint32_t value)
{
	uint32_t signal = value & 0xff;

	if (value & ~0xffu || !signal)
		put_bits(out, clone_bits, value & ~0xffu, "0");
	if (signal) {
		buf_printf(out, value & ~0xffu ? "|" : "");
		put_name(out, signals, sizeof signals / sizeof *signals, (int)signal);
	}
}

void x86_syscall_arg(char kind, uint64_t value, struct buf *out)
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
		buf_printf(out, "%" PRId64, (int64_t)value);
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

const char *x86_syscall_error(int64_t result)
{
	return result < 0 && result >= -4095 ? strerrorname_np((int)-result) : NULL;
}
