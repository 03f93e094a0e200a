/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What defined.c needs another file for: a function of the same name, one without debug information, static probes. */
extern volatile long sink;
long other(long n);

static __attribute__((noinline)) void helper(long n)
{
	sink = n - 1;
}

/* what an assembler wrote has no type, and no line; and a text of a note that ends early */
asm(".globl member_of_nothing\n.type member_of_nothing, @function\nmember_of_nothing: nop\nnop\nret\n"
    ".size member_of_nothing, .-member_of_nothing\n"
    ".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"
    ".macro probe name, text:vararg\n.4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"
    "993: .8byte member_of_nothing+1, 0, 0\n.asciz \"defined\"\n.asciz \"\\name\"\n.ascii \\text\n994: .balign 4\n.endm\n"
    "probe whole, \"8@%rdi -4@8(%rsp)\\0\"\n"
    "probe ends, \"8@5\\0 4@%eax\\0\"\n"
    "probe ends_within, \"8@(%rax\\0 4@%eax\\0\"\n"
    ".popsection\n");

long other(long n)
{
	helper(n);
	return sink;
}
