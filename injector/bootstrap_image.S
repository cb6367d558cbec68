// The bootstrap's flat image, carried inside the program.
        .section .rodata.hangdbg_bootstrap, "a", @progbits
        .globl  hangdbg_bootstrap_begin, hangdbg_bootstrap_end
        .hidden hangdbg_bootstrap_begin, hangdbg_bootstrap_end
        .balign 16
hangdbg_bootstrap_begin:
        .incbin HANGDBG_BOOTSTRAP_BIN
hangdbg_bootstrap_end:
        .section .note.GNU-stack, "", @progbits
