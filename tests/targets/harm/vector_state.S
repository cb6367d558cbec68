// vector_round_N(const struct state* in, struct state* out): fills all of the
// CPU's registers from `in`, spins for some 0.1 ms without a call, and puts what
// they hold then into `out`. N: 0 SSE, 1 AVX, 2 AVX-512. vector.c has the struct.

#define MASKS     2048
#define GENERAL   2112
#define CARRY     2176
#define DIRECTION 2184
#define MXCSR     2192
#define CONTROL   2196
#define X87       2208
#define SPINS     200000

        .macro push_saved register
        pushq   %\register
        .cfi_adjust_cfa_offset 8
        .endm
        .macro pop_saved register
        popq    %\register
        .cfi_adjust_cfa_offset -8
        .endm

        .macro vectors_0 to
        .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        .ifc \to, registers
        movups  \n*64(%rax), %xmm\n
        .else
        movups  %xmm\n, \n*64(%rdx)
        .endif
        .endr
        .endm

        .macro vectors_1 to
        .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        .ifc \to, registers
        vmovups \n*64(%rax), %ymm\n
        .else
        vmovups %ymm\n, \n*64(%rdx)
        .endif
        .endr
        .endm

        .macro vectors_2 to
        .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        .ifc \to, registers
        vmovups \n*64(%rax), %zmm\n
        .else
        vmovups %zmm\n, \n*64(%rdx)
        .endif
        .endr
        .irp n, 0,1,2,3,4,5,6,7
        .ifc \to, registers
        kmovq   MASKS+\n*8(%rax), %k\n
        .else
        kmovq   %k\n, MASKS+\n*8(%rdx)
        .endif
        .endr
        .endm

        .macro round level
        .globl  vector_round_\level
        .type   vector_round_\level, @function
vector_round_\level:
        .cfi_startproc
        push_saved rbx
        push_saved rbp
        push_saved r12
        push_saved r13
        push_saved r14
        push_saved r15
        movq    %rdi, %rax
        movq    %rsi, %rdx
        ldmxcsr MXCSR(%rax)
        fldcw   CONTROL(%rax)
        fldt    X87(%rax)
        vectors_\level registers
        .irp n, 8,9,10,11,12,13,14,15
        movq    GENERAL+(\n-8)*8(%rax), %r\n
        .endr
        movl    $SPINS, %ecx
        std
        stc
1:      decl    %ecx
        jnz     1b
        setc    CARRY(%rdx)
        movq    %rax, %rdi
        scasb                           // moves rdi by the direction flag
        cld
        subq    %rax, %rdi
        movq    %rdi, DIRECTION(%rdx)
        .irp n, 8,9,10,11,12,13,14,15
        movq    %r\n, GENERAL+(\n-8)*8(%rdx)
        .endr
        vectors_\level memory
        fstpt   X87(%rdx)
        fnstcw  CONTROL(%rdx)
        stmxcsr MXCSR(%rdx)
        movl    $0x1f80, -8(%rsp)       // as every thread begins
        ldmxcsr -8(%rsp)
        fninit
        .if \level
        vzeroupper
        .endif
        pop_saved r15
        pop_saved r14
        pop_saved r13
        pop_saved r12
        pop_saved rbp
        pop_saved rbx
        ret
        .cfi_endproc
        .endm

        .text
        round   0
        round   1
        round   2
        .section .note.GNU-stack, "", @progbits
