/* The agent's Python source, as it goes into the target. The core is one text:
 * its files in this order, then the parts that it compiles when it needs them,
 * each as a string. (tests/agent/harness.py reads this list.) */

	.macro core_file name
	.incbin "\name\().py"
	.endm

	.macro core_part name
	.ascii "parts['\name\()'] = r'''"
	.incbin "\name\().py"
	.ascii "'''\n"
	.endm

	.macro module name
	.globl hangdbg_agent_\name, hangdbg_agent_\name\()_end
hangdbg_agent_\name:
	.incbin "\name\().py"
hangdbg_agent_\name\()_end:
	.endm

	.section .rodata
	.globl hangdbg_agent_core, hangdbg_agent_core_end
hangdbg_agent_core:
	core_file json_codec
	core_file frames
	core_file evaluate
	core_file dispatch
	core_part errors
	core_part output
	core_part statements
	core_part variables
hangdbg_agent_core_end:

	module completions
	module objects

	.section .note.GNU-stack, "", %progbits
