/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The beginning of guests that are not Linux, as `qemu -kernel` loads them: a
 * Multiboot 1 header, and what calls kernel_main in 32-bit mode. At the end
 * QEMU exits with 5 << 1 | 1 if it has a debug exit, else by ACPI's power-off.
 */
	.section .note.GNU-stack, "", @progbits

	.bss
	.balign 16
	.skip 16384
stack_end:

	.text
	.balign 4
	.long 0x1badb002, 0, -0x1badb002

	.globl _start
	.type _start, @function
_start:
	mov $stack_end, %esp
	call kernel_main
	call power_off
	ud2

	.type power_off, @function
power_off:
	mov $5, %al
	out %al, $0xf4
	mov $0x2000, %ax
	mov $0x604, %dx
	out %ax, %dx
1:	hlt
	jmp 1b
