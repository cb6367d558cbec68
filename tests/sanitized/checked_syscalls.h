/* Included before all else by the files of the bootstrap, when they are built
 * under sanitizers: in place of bootstrap/syscalls_x86_64.h. */
#ifndef HANGDBG_BOOTSTRAP_SYSCALLS_H
#define HANGDBG_BOOTSTRAP_SYSCALLS_H

#include <sys/syscall.h>

long hd_syscall(long number, long a, long b, long c, long d, long e, long f)
    __attribute__((visibility("hidden")));

#endif
