/* The shells' halves of completion, as `hangdbg completion SHELL` prints them. */

	.macro script shell
	.globl hangdbg_completion_\shell, hangdbg_completion_\shell\()_end
hangdbg_completion_\shell:
	.incbin "hangdbg.\shell"
hangdbg_completion_\shell\()_end:
	.endm

	.section .rodata
	script bash
	script zsh
	script fish

	.section .note.GNU-stack, "", %progbits
