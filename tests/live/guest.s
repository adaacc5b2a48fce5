# SPDX-License-Identifier: BSD-2-Clause
# guest.s - a boot sector that knows whether its memory was moved right.
#
# It fills 4 MiB above 2 MiB with numbers that begin elsewhere each time, looks at all of them, and says
# on the serial line: '.' right, 'X' wrong.
	.code16
	.globl _start
_start:
	cli
	xorw	%ax, %ax
	movw	%ax, %ds
	movw	$0x3f8, %dx
	inb	$0x92, %al		# address line 20
	orb	$2, %al
	outb	%al, $0x92
	lgdt	table
	movl	%cr0, %eax
	orb	$1, %al
	movl	%eax, %cr0
	ljmp	$8, $flat
	.code32
flat:
	movw	$16, %ax
	movw	%ax, %ds
	movw	%ax, %es
	xorl	%ebx, %ebx		# how often
	cld
again:
	incl	%ebx
	movl	$0x200000, %edi
	movl	$0x100000, %ecx
	movl	%ebx, %eax
fill:
	addl	$0x9e3779b9, %eax
	stosl
	loop	fill
	movl	$0x200000, %esi
	movl	$0x100000, %ecx
	movl	%ebx, %edi
look:
	addl	$0x9e3779b9, %edi
	lodsl
	cmpl	%edi, %eax
	jne	wrong
	loop	look
	movb	$'.', %al
	jmp	say
wrong:
	movb	$'X', %al
say:
	outb	%al, %dx
	jmp	again
	.p2align 3
segments:
	.quad	0, 0x00cf9a000000ffff, 0x00cf92000000ffff
table:
	.word	23
	.long	segments
	.org	510
	.word	0xaa55
