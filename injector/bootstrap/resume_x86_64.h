/* The frame by which a held thread goes back to its call (signal_frame_x86_64.h
 * of the injector made it): what of it is looked at and changed at the end.
 * Another architecture is another file like this one. */
#ifndef HANGDBG_BOOTSTRAP_RESUME_H
#define HANGDBG_BOOTSTRAP_RESUME_H

#include <stdint.h>

/* struct rt_sigframe of the kernel, up to the mask. */
struct HdSignalFrame {
  uint64_t sigreturn;
  uint64_t flags;
  int64_t restart; /* uc_link: 0, or the kernel's code for a call made again */
  uint64_t stack[3];
  uint64_t r8_to_r15[8];
  uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
  uint64_t rest_of_context[15];
  uint64_t mask;
};
_Static_assert(__builtin_offsetof(struct HdSignalFrame, rip) == 8 + 168, "");
_Static_assert(__builtin_offsetof(struct HdSignalFrame, mask) == 8 + 296, "");

/* The call returns EINTR after all. */
static inline void hd_do_not_restart(struct HdSignalFrame* frame) {
  frame->rip += 2; /* behind its `syscall` */
  frame->rax = (uint64_t)-4L;
}

#endif
