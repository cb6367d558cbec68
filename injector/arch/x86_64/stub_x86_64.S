// The stub: what a borrowed thread runs, from one register switch to the next.
//
// It saves the vector state, maps the region, waits while the injector fills
// it, starts a thread in it and then spins until the injector puts the
// thread's registers back. It must not sleep: a sleep would overwrite the
// kernel's restart block, and the call that we interrupted would return EINTR.
//
// Should the injector die, its heart beats no more; when the stub has seen no
// beat for so long by its own clock (that of its time namespace), it undoes the
// rest itself: vector state, signal mask, registers, and the interrupted call
// by its own `syscall` instruction. rt_sigreturn would be shorter but forgets
// the restart block.
//
// Only this file and stub_x86_64.h know the layout of the two structs:
// StubParameters, behind the code, read-only; StubState, on the borrowed
// stack, written by both sides.
        .section .rodata.hangdbg_stub, "a", @progbits
        .globl  hangdbg_stub_begin, hangdbg_stub_parameters, hangdbg_stub_end
        .hidden hangdbg_stub_begin, hangdbg_stub_parameters, hangdbg_stub_end
        .balign 16

// struct StubParameters
#define P_STATE         0
#define P_REGION_SIZE   8
#define P_TEXT_SIZE     16
#define P_ENTRY         24
#define P_STACK_SIZE    32
#define P_ATTR_INIT     40
#define P_ATTR_SETSIZE  48
#define P_CREATE        56
#define P_MASK          64
#define P_RAX           72
#define P_RBX           80
#define P_RCX           88
#define P_RDX           96
#define P_RSI           104
#define P_RDI           112
#define P_RBP           120
#define P_RSP           128
#define P_R8            136
#define P_R9            144
#define P_R10           152
#define P_R11           160
#define P_R12           168
#define P_R13           176
#define P_R14           184
#define P_R15           192
#define P_RIP           200
#define P_RFLAGS        208
#define P_YIELD         216
#define P_SIZE          224

// struct StubState
#define S_PHASE         0
#define S_GO            4
#define S_PATIENCE      8
#define S_REGION        16
#define S_ERROR         24
#define S_THREAD        32
#define S_TIME          40          // struct timespec
#define S_ATTR          56          // pthread_attr_t, 128 bytes
#define S_BEAT          184
#define S_SEEN          192         // the last beat
#define S_SINCE         200         // when that was seen first, ns

#define PHASE_RUNNING   0
#define PHASE_MAPPED    1
#define PHASE_STARTED   2
#define PHASE_FAILED    3
#define PHASE_LEFT      4

#define NR_mmap         9
#define NR_mprotect     10
#define NR_munmap       11
#define NR_sigprocmask  14
#define NR_sched_yield  24
#define NR_clock_gettime 228

// On entry: rsp is 64-byte aligned with room for XSAVE above it.
hangdbg_stub_begin:
        cld
        leaq    hangdbg_stub_parameters(%rip), %rbx
        movq    P_STATE(%rbx), %rbp
        xorl    %eax, %eax              // XSAVE wants its header cleared
        leaq    512(%rsp), %rdi
        movl    $8, %ecx
        rep stosq
        movl    $-1, %eax
        movl    $-1, %edx
        xsave64 (%rsp)
        movq    %rsp, %r12

        movl    $NR_mmap, %eax
        xorl    %edi, %edi
        movq    P_REGION_SIZE(%rbx), %rsi
        movl    $5, %edx                // PROT_READ | PROT_EXEC
        movl    $0x22, %r10d            // MAP_PRIVATE | MAP_ANONYMOUS
        movq    $-1, %r8
        xorl    %r9d, %r9d
        syscall
        cmpq    $-4095, %rax
        jae     failed
        movq    %rax, %r13
        movl    $NR_mprotect, %eax
        movq    %r13, %rdi
        addq    P_TEXT_SIZE(%rbx), %rdi
        movq    P_REGION_SIZE(%rbx), %rsi
        subq    P_TEXT_SIZE(%rbx), %rsi
        movl    $3, %edx                // PROT_READ | PROT_WRITE
        syscall
        testq   %rax, %rax
        jnz     unmap
        movq    %r13, S_REGION(%rbp)
        movl    $PHASE_MAPPED, S_PHASE(%rbp)

wait_until_filled:
        cmpl    $1, S_GO(%rbp)
        je      start_thread
        call    yield_or_give_up
        jnc     wait_until_filled
        movq    $-110, %rax             // -ETIMEDOUT
        jmp     unmap

start_thread:
        leaq    S_ATTR(%rbp), %rdi
        call    *P_ATTR_INIT(%rbx)
        leaq    S_ATTR(%rbp), %rdi
        movq    P_STACK_SIZE(%rbx), %rsi
        call    *P_ATTR_SETSIZE(%rbx)
        leaq    S_THREAD(%rbp), %rdi
        leaq    S_ATTR(%rbp), %rsi
        movq    %r13, %rdx
        addq    P_ENTRY(%rbx), %rdx
        movq    %r13, %rcx
        call    *P_CREATE(%rbx)
        movslq  %eax, %rax
        negq    %rax
        testq   %rax, %rax
        jnz     unmap
        movl    $PHASE_STARTED, S_PHASE(%rbp)
        jmp     wait_until_restored

unmap:                                  // rax: why
        movq    %rax, %r14
        // Not Mapped any more, before it isn't: the injector writes there.
        movl    $PHASE_RUNNING, S_PHASE(%rbp)
        movl    $NR_munmap, %eax
        movq    %r13, %rdi
        movq    P_REGION_SIZE(%rbx), %rsi
        syscall
        movq    %r14, %rax
failed:
        movq    %rax, S_ERROR(%rbp)
        movl    $PHASE_FAILED, S_PHASE(%rbp)

wait_until_restored:
        call    yield_or_give_up
        jnc     wait_until_restored

        movl    $PHASE_LEFT, S_PHASE(%rbp)
        movl    $-1, %eax
        movl    $-1, %edx
        xrstor64 (%r12)
        movl    $NR_sigprocmask, %eax
        movl    $2, %edi                // SIG_SETMASK
        leaq    P_MASK(%rbx), %rsi
        xorl    %edx, %edx
        movl    $8, %r10d
        syscall
        pushq   P_RFLAGS(%rbx)
        popfq
        movq    P_RCX(%rbx), %rcx
        movq    P_RDX(%rbx), %rdx
        movq    P_RSI(%rbx), %rsi
        movq    P_RDI(%rbx), %rdi
        movq    P_R8(%rbx), %r8
        movq    P_R9(%rbx), %r9
        movq    P_R10(%rbx), %r10
        movq    P_R11(%rbx), %r11
        movq    P_R12(%rbx), %r12
        movq    P_R13(%rbx), %r13
        movq    P_R14(%rbx), %r14
        movq    P_R15(%rbx), %r15
        movq    P_RAX(%rbx), %rax
        movq    P_RBP(%rbx), %rbp
        movq    P_RSP(%rbx), %rsp
        movq    P_RBX(%rbx), %rbx
        jmpq    *hangdbg_stub_parameters+P_RIP(%rip)

// Carry set: the injector has died, or wants us to leave.
yield_or_give_up:
        cmpq    $0, P_YIELD(%rbx)
        je      1f
        movl    $NR_sched_yield, %eax
        syscall
1:      movl    $NR_clock_gettime, %eax
        movl    $1, %edi                // CLOCK_MONOTONIC
        leaq    S_TIME(%rbp), %rsi
        syscall
        imulq   $1000000000, S_TIME(%rbp), %rax
        addq    S_TIME+8(%rbp), %rax
        movq    S_BEAT(%rbp), %rcx
        cmpq    S_SEEN(%rbp), %rcx
        je      2f
        movq    %rcx, S_SEEN(%rbp)
        movq    %rax, S_SINCE(%rbp)
2:      movq    S_SINCE(%rbp), %rcx
        addq    S_PATIENCE(%rbp), %rcx
        cmpq    %rax, %rcx              // carry: since + patience < now
        ret

        .balign 8
hangdbg_stub_parameters:
        .skip   P_SIZE
hangdbg_stub_end:
        .section .note.GNU-stack, "", @progbits
