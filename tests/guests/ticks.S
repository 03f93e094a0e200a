/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A boot sector in real mode, where the timer's interrupt is vector 8, as a double fault is elsewhere. It comes a thousand
 * times a second into a loop of one block. From the call to its return 5 + 5 * LOOPS instructions run, and 5 for each
 * interrupt.
 */
	.code16
	.globl _start
_start:
	cli
	xor %ax, %ax
	mov %ax, %ds
	mov %ax, %ss
	mov $0x7c00, %sp
	movw $tick, 8 * 4
	mov %ax, 8 * 4 + 2
	mov $0xfe, %al		/* nothing but the timer */
	out %al, $0x21
	mov $0x34, %al
	out %al, $0x43
	mov $(1193 & 0xff), %al
	out %al, $0x40
	mov $(1193 >> 8), %al
	out %al, $0x40
	call count
	mov $0x10, %al
	out %al, $0xf4
	hlt

count:
	mov $LOOPS, %ecx
	sti
	nop
1:	add $3, %eax
	xor %eax, %ebx
	add %ebx, %edx
	dec %ecx
	jnz 1b
	cli
	ret

tick:
	push %ax
	mov $0x20, %al
	out %al, $0x20
	pop %ax
	iret

	.org 510
	.word 0xaa55
