// The image's first bytes, and the one thing that C cannot say: a thread's last
// step is one of the target's functions, which returns to the thread's own
// caller. So the last of all threads unmaps the code that it runs, and one of
// the program says that it has left when it has.
#include "injector/bootstrap/shared.h"

        .section .hd_header, "ax", @progbits
        .globl  hd_image_header
hd_image_header:                        // struct HdImageHeader
        .quad   HD_MAGIC
        .long   HD_ABI
        .long   hd_first_entry - hd_image_header
        .long   hd_image_end - hd_image_header
        .long   0

// void* NAME(void* argument): runs MAIN(argument, &exit), then
// exit.function(exit.first, exit.second), if there is one, from where that
// returns to our caller.
        .macro  thread_entry name, main
        .globl  \name
        .hidden \name, \main
        .type   \name, @function
\name:
        // struct HdExit is right below where we return to: hd_hold_main finds its
        // frame by that.
        subq    $24, %rsp
        movq    $0, 0(%rsp)
        movq    %rsp, %rsi
        call    \main
        movq    0(%rsp), %rax
        movq    8(%rsp), %rdi
        movq    16(%rsp), %rsi
        addq    $24, %rsp
        testq   %rax, %rax
        jz      1f
        jmpq    *%rax
1:      ret
        .endm

        .section .text.entry, "ax", @progbits
        thread_entry hd_first_entry, hd_first_main
        thread_entry hd_control_entry, hd_control_main
        thread_entry hd_hold_entry, hd_hold_main
        thread_entry hd_look_entry, hd_look_main
        .section .note.GNU-stack, "", @progbits
