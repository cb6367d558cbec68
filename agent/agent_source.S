/* The agent as it goes into the target: what scripts/assemble-agent wrote, and
 * the modules that the server sends on demand. */

	.macro file name, path
	.globl hangdbg_agent_\name, hangdbg_agent_\name\()_end
hangdbg_agent_\name:
	.incbin "\path"
hangdbg_agent_\name\()_end:
	.endm

	.section .rodata
	file core, agent_core.py
	file breakpoints, breakpoints.py
	file completions, completions.py
	file data_breakpoints, data_breakpoints.py
	file debugged, debugged.py
	file engine, engine.py
	file exceptions, exceptions.py
	file meanings, meanings.py
	file modules, modules.py
	file monitoring, monitoring.py
	file objects, objects.py
	file coordination, coordination.py
	file owner, owner.py
	file process_groups, process_groups.py
	file pdb_stops, pdb_stops.py
	file raising, raising.py
	file reloading, reloading.py
	file spawning, spawning.py
	file starters, starters.py
	file step_targets, step_targets.py
	file stepping, stepping.py
	file stops, stops.py
	file tracing, tracing.py
	file waits, waits.py
	file package, ../python/hangdbg/__init__.py
	file start, ../python/start.py
	.balign 8
	file compiled, agent_compiled.bin

	.section .note.GNU-stack, "", %progbits
