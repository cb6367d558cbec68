// The image's first bytes, and the one thing that C cannot say: the last
// thread unmaps the code that it runs and returns to its caller all the same.
#include "injector/bootstrap/shared.h"

        .section .hd_header, "ax", @progbits
        .globl  hd_image_header
hd_image_header:                        // struct HdImageHeader
        .quad   HD_MAGIC
        .long   HD_ABI
        .long   hd_first_entry - hd_image_header
        .long   hd_image_end - hd_image_header
        .long   0

// void* NAME(void* region_base), a pthread's start routine: runs
// MAIN(region_base, &exit), then exit.munmap(exit.base, exit.size) if there is
// one, from where that returns to libc.
        .macro  thread_entry name, main
        .globl  \name
        .hidden \name, \main
        .type   \name, @function
\name:
        subq    $40, %rsp               // struct HdExit, and 16-byte alignment
        movq    $0, 0(%rsp)
        movq    %rsp, %rsi
        call    \main
        movq    0(%rsp), %rax
        movq    8(%rsp), %rdi
        movq    16(%rsp), %rsi
        addq    $40, %rsp
        testq   %rax, %rax
        jz      1f
        jmpq    *%rax
1:      ret
        .endm

        .section .text.entry, "ax", @progbits
        thread_entry hd_first_entry, hd_first_main
        thread_entry hd_control_entry, hd_control_main
        .section .note.GNU-stack, "", @progbits
