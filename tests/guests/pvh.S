/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The beginning of 64-bit guests that are not Linux, as `qemu -kernel` loads them: an ELF note of Xen's PVH tells of a 32-bit entry, which
 * switches to 64 bits with the first GiB mapped to itself, and calls kernel_main.
 */
	.section .note.GNU-stack, "", @progbits

	.section .note.Xen, "a", @note
	.long 4, 8, 18
	.asciz "Xen"
	.quad _start

	.bss
	.balign 16
	.skip 16384
stack_end:

	.data
	.balign 4096
pml4:	.quad pdpt + 3
	.fill 511, 8, 0
pdpt:	.quad pd + 3
	.fill 511, 8, 0
pd:	.set page, 0x83
	.rept 512
	.quad page
	.set page, page + 0x200000
	.endr
gdt:	.quad 0, 0x00af9b000000ffff, 0x00cf93000000ffff
gdtr:	.word 23
	.quad gdt

	.text
	.code32
	.globl _start
	.type _start, @function
_start:
	mov $pml4, %eax
	mov %eax, %cr3
	mov %cr4, %eax
	or $0x20, %eax
	mov %eax, %cr4
	mov $0xc0000080, %ecx
	rdmsr
	or $0x100, %eax
	wrmsr
	mov %cr0, %eax
	or $0x80000001, %eax
	mov %eax, %cr0
	lgdt gdtr
	ljmp $8, $start64

	.code64
	.type start64, @function
start64:
	mov $16, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	mov $stack_end, %rsp
	call kernel_main
	call power_off
	ud2

	.type power_off, @function
power_off:
	mov $0x2000, %ax
	mov $0x604, %dx
	out %ax, %dx
1:	hlt
	jmp 1b
