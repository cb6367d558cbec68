/* System calls without a libc: the number, the arguments, a negative errno.
 * Another architecture is another file like this one. */
#ifndef HANGDBG_BOOTSTRAP_SYSCALLS_H
#define HANGDBG_BOOTSTRAP_SYSCALLS_H

#include <stdint.h>
#include <sys/syscall.h>

static inline long
hd_syscall(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
                     "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

#endif
