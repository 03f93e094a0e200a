/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "x86_syscalls.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const char *const names[] = {
#include "x86_syscalls.inc"
};

/* Kinds of the arguments (syscall_args.h) of the calls that programs make most; from man 2. */
static const char *const args[] = {
	[0] = "fxu",     [1] = "fsu",      [2] = "pom",      [3] = "f",        [4] = "px",      [5] = "fx",
	[6] = "px",      [7] = "xui",      [8] = "flw",      [9] = "xuPMfu",   [10] = "xuP",    [11] = "xu",
	[12] = "x",      [13] = "Sxxu",    [14] = "ixxu",    [15] = "",        [16] = "fxx",    [17] = "fxul",
	[18] = "fsul",   [19] = "fxi",     [20] = "fvi",     [21] = "pr",      [22] = "x",      [23] = "ixxxx",
	[24] = "",       [25] = "xuuix",   [26] = "xui",     [27] = "xux",     [28] = "xui",    [29] = "iui",
	[30] = "ixi",    [31] = "iix",     [32] = "f",       [33] = "ff",      [34] = "",       [35] = "xx",
	[36] = "ix",     [37] = "u",       [38] = "ixx",     [39] = "",        [40] = "ffxu",   [41] = "iii",
	[42] = "fxu",    [43] = "fxx",     [44] = "fDuixu",  [45] = "fxuixx",  [46] = "fhi",    [47] = "fxi",
	[48] = "fi",     [49] = "fxu",     [50] = "fi",      [51] = "fxx",     [52] = "fxx",    [53] = "iiix",
	[54] = "fiixu",  [55] = "fiixx",   [56] = "cxxxx",   [57] = "",        [58] = "",       [59] = "pAx",
	[60] = "i",      [61] = "ixix",    [62] = "iS",      [63] = "x",       [64] = "iii",    [72] = "fix",
	[73] = "fi",     [74] = "f",       [75] = "f",       [76] = "pl",      [77] = "fl",     [78] = "fxu",
	[79] = "xu",     [80] = "p",       [81] = "f",       [82] = "pp",      [83] = "pm",     [84] = "p",
	[85] = "pm",     [86] = "pp",      [87] = "p",       [88] = "pp",      [89] = "pxu",    [90] = "pm",
	[91] = "fm",     [92] = "pii",     [93] = "fii",     [94] = "pii",     [95] = "m",      [96] = "xx",
	[97] = "ix",     [98] = "ix",      [99] = "x",       [100] = "x",      [101] = "iixx",  [102] = "",
	[103] = "ixi",   [104] = "",       [105] = "i",      [106] = "i",      [107] = "",      [108] = "",
	[109] = "ii",    [110] = "",       [111] = "",       [112] = "",       [113] = "ii",    [114] = "ii",
	[115] = "ix",    [116] = "ix",     [117] = "iii",    [118] = "xxx",    [119] = "iii",   [120] = "xxx",
	[121] = "i",     [122] = "i",      [123] = "i",      [124] = "i",      [125] = "xx",    [126] = "xx",
	[127] = "xu",    [128] = "xxxu",   [129] = "iSx",    [130] = "xu",     [131] = "xx",    [132] = "px",
	[133] = "pmu",   [137] = "px",     [138] = "fx",     [140] = "ii",     [141] = "iii",   [142] = "ix",
	[143] = "ix",    [144] = "iix",    [145] = "i",      [149] = "xu",     [150] = "xu",    [151] = "i",
	[152] = "",      [155] = "pp",     [157] = "ixxxx",  [158] = "ix",     [160] = "ix",    [161] = "p",
	[162] = "",      [165] = "pppxx",  [166] = "pi",     [167] = "pi",     [168] = "p",     [169] = "xxix",
	[170] = "su",    [171] = "su",     [175] = "xup",    [176] = "px",     [186] = "",      [187] = "flu",
	[188] = "ppxui", [189] = "ppxui",  [190] = "fpxui",  [191] = "ppxu",   [192] = "ppxu",  [193] = "fpxu",
	[194] = "pxu",   [195] = "pxu",    [196] = "fxu",    [197] = "pp",     [198] = "pp",    [199] = "fp",
	[200] = "iS",    [201] = "x",      [202] = "xiixxi", [203] = "iux",    [204] = "iux",   [213] = "i",
	[217] = "fxu",   [218] = "x",      [219] = "",       [221] = "flui",   [228] = "ix",    [229] = "ix",
	[230] = "iixx",  [231] = "i",      [232] = "fxii",   [233] = "fifx",   [234] = "iiS",   [235] = "px",
	[247] = "iixix", [248] = "xpxui",  [250] = "ixxxx",  [251] = "iii",    [252] = "ii",    [253] = "",
	[254] = "fpx",   [255] = "fi",     [257] = "dpom",   [258] = "dpm",    [259] = "dpmu",  [260] = "dpiia",
	[261] = "dpx",   [262] = "dpxa",   [263] = "dpa",    [264] = "dpdp",   [265] = "dpdpa", [266] = "pdp",
	[267] = "dpxu",  [268] = "dpm",    [269] = "dpr",    [270] = "ixxxxx", [271] = "xuxxu", [272] = "c",
	[273] = "xu",    [275] = "fxfxui", [276] = "ffui",   [277] = "flui",   [280] = "dpxa",  [281] = "fxiixu",
	[282] = "fxu",   [283] = "ii",     [284] = "u",      [285] = "fill",   [286] = "fixx",  [287] = "fx",
	[288] = "fxxi",  [289] = "fxui",   [290] = "ui",     [291] = "i",      [292] = "ffo",   [293] = "xo",
	[294] = "i",     [295] = "fxill",  [296] = "fxill",  [299] = "fxuix",  [302] = "iixx",  [306] = "f",
	[307] = "fxui",  [308] = "fi",     [309] = "xxx",    [313] = "fpi",    [314] = "ixi",   [315] = "ixui",
	[316] = "dpdpi", [317] = "iix",    [318] = "xui",    [319] = "pi",     [321] = "ixu",   [322] = "dpAxa",
	[324] = "iii",   [325] = "xui",    [326] = "fxfxui", [332] = "dpaxx",  [334] = "xuix",  [424] = "fSxi",
	[428] = "dpi",   [429] = "dpdpi",  [430] = "pi",     [431] = "fipxi",  [432] = "fii",   [434] = "ii",
	[435] = "xu",    [436] = "uui",    [437] = "dpxu",   [438] = "ffi",    [439] = "dpre",  [441] = "fxixxu",
	[442] = "dpixu", [448] = "fi",     [451] = "fxxi",   [452] = "dpma",
};

static const struct {
	const char *name, *args;
} i386[] = {
#include "i386_syscalls.inc"
};

enum { X32_FIRST_OWN = 512 };

static const char *const x32[] = {
#include "x32_syscalls.inc"
};

/* Numbers below X32_FIRST_OWN that syscall_64.tbl gives to the ABI "64" only. */
static bool is_64_only(uint32_t nr)
{
	static const uint16_t numbers[] = {
		13,  15,  16,  19,  20,  45,  46,  47,  54,  55,  59,  101, 127, 128, 129, 131,
		134, 156, 174, 177, 178, 180, 205, 206, 209, 211, 214, 215, 222, 236, 244, 246,
		247, 273, 274, 278, 279, 295, 296, 297, 299, 307, 310, 311, 322, 327, 328,
	};

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (numbers[i] == nr)
			return true;
	return false;
}

const char *x86_syscall_name(uint64_t number)
{
	uint32_t nr = (uint32_t)number;

	return nr < sizeof names / sizeof *names ? names[nr] : NULL;
}

const char *x86_syscall_args(uint64_t number)
{
	uint32_t nr = (uint32_t)number;

	return nr < sizeof args / sizeof *args ? args[nr] : NULL;
}

const char *i386_syscall_name(uint64_t number)
{
	uint32_t nr = (uint32_t)number;

	return nr < sizeof i386 / sizeof *i386 ? i386[nr].name : NULL;
}

const char *i386_syscall_args(uint64_t number)
{
	uint32_t nr = (uint32_t)number;

	return nr < sizeof i386 / sizeof *i386 ? i386[nr].args : NULL;
}

const char *x32_syscall_name(uint64_t number)
{
	uint32_t nr = (uint32_t)number & ~(uint32_t)X32_SYSCALL_BIT;

	if (nr >= X32_FIRST_OWN)
		return nr < sizeof x32 / sizeof *x32 ? x32[nr] : NULL;
	return is_64_only(nr) ? NULL : x86_syscall_name(nr);
}

const char *x32_syscall_args(uint64_t number)
{
	const char *name = x32_syscall_name(number);

	/* the same calls as x86-64's, some of them at other numbers */
	for (size_t i = 0; name && i < sizeof args / sizeof *args; i++)
		if (names[i] && !strcmp(names[i], name))
			return args[i];
	return NULL;
}
