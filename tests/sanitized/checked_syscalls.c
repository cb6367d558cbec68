/* The bootstrap's system calls, where the sanitizers see them.
 *
 * What it maps comes from malloc, with a guard on both sides, and is not to be
 * touched once it is unmapped. What it hands to the kernel is touched here
 * before: the kernel would write past a buffer's end without a word. */
#define hd_syscall hd_raw_syscall
#undef HANGDBG_BOOTSTRAP_SYSCALLS_H
#include "injector/bootstrap/syscalls_x86_64.h"
#undef hd_syscall

#include <malloc.h>
#include <poll.h>
#include <sanitizer/asan_interface.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>

#include "tests/sanitized/image.h"

static uint64_t hd_blocks; /* that are mapped */

static long map(uint64_t size);
static long unmap(char* at, uint64_t size);
static void look(long number, long a, long b, long c, long d);
static void read_by_kernel(long at, uint64_t size);
static void written_by_kernel(long at, uint64_t size);
static volatile char* first_bad(long at, uint64_t size);

__attribute__((visibility("hidden"))) long
hd_syscall(long number, long a, long b, long c, long d, long e, long f) {
  if (number == SYS_mmap) {
    return map((uint64_t)b);
  }
  if (number == SYS_munmap) {
    return unmap((char*)a, (uint64_t)b);
  }
  look(number, a, b, c, d);
  return hd_raw_syscall(number, a, b, c, d, e, f);
}

uint64_t hd_sanitized_blocks(void) {
  return __atomic_load_n(&hd_blocks, __ATOMIC_ACQUIRE);
}

static long map(uint64_t size) {
  char* at = calloc(1, size);
  if (at) {
    __atomic_fetch_add(&hd_blocks, 1, __ATOMIC_ACQ_REL);
  }
  return at ? (long)at : -12 /* ENOMEM */;
}

/* All of it: what was unmapped by a smaller size would stay. */
static long unmap(char* at, uint64_t size) {
  if (malloc_usable_size(at) != size) {
    abort();
  }
  __atomic_fetch_sub(&hd_blocks, 1, __ATOMIC_ACQ_REL);
  free(at);
  return 0;
}

static void look(long number, long a, long b, long c, long d) {
  switch (number) {
    case SYS_read:
      written_by_kernel(b, (uint64_t)c);
      break;
    case SYS_write:
    case SYS_sendto:
      read_by_kernel(b, (uint64_t)c);
      break;
    case SYS_poll:
      written_by_kernel(a, (uint64_t)b * sizeof(struct pollfd));
      break;
    case SYS_fstat:
      written_by_kernel(b, sizeof(struct stat));
      break;
    case SYS_clock_gettime:
      written_by_kernel(b, sizeof(struct timespec));
      break;
    case SYS_pipe2:
      written_by_kernel(a, 2 * sizeof(int));
      break;
    case SYS_socketpair:
      written_by_kernel(d, 2 * sizeof(int));
      break;
    case SYS_madvise: /* MADV_DONTNEED: zeros */
      written_by_kernel(a, (uint64_t)b);
      break;
    case SYS_openat:
      read_by_kernel(b, strlen((const char*)b) + 1);
      break;
    case SYS_prctl:
      if (a == PR_SET_NAME) {
        read_by_kernel(b, strlen((const char*)b) + 1);
      }
      break;
    case SYS_rt_sigpending:
      written_by_kernel(a, sizeof(uint64_t));
      break;
    case SYS_rt_sigprocmask:
      read_by_kernel(b, b ? sizeof(uint64_t) : 0);
      written_by_kernel(c, c ? sizeof(uint64_t) : 0);
      break;
    case SYS_rt_sigaction:
      written_by_kernel(c, 4 * sizeof(uint64_t));
      break;
    case SYS_rt_sigtimedwait:
      read_by_kernel(a, sizeof(uint64_t));
      read_by_kernel(c, sizeof(struct timespec));
      break;
    case SYS_futex:
      read_by_kernel(a, sizeof(uint32_t));
      read_by_kernel(d, d ? sizeof(struct timespec) : 0);
      break;
    case SYS_process_vm_readv: {
      /* What is at the other end may be gone: that is why the kernel reads. */
      read_by_kernel(b, sizeof(struct iovec));
      read_by_kernel(d, sizeof(struct iovec));
      const struct iovec* to = (const struct iovec*)b;
      written_by_kernel((long)to->iov_base, to->iov_len);
      break;
    }
    case SYS_close:
    case SYS_exit_group:
    case SYS_getpid:
    case SYS_gettid:
    case SYS_sched_yield:
    case SYS_shutdown:
    case SYS_tgkill:
      break;
    default:
      abort(); /* a new one: say above what it is given */
  }
}

/* By code that the sanitizer sees, so that it is its own report. */
static void read_by_kernel(long at, uint64_t size) {
  volatile char* bad = first_bad(at, size);
  if (bad) {
    (void)*bad;
  }
}

static void written_by_kernel(long at, uint64_t size) {
  volatile char* bad = first_bad(at, size);
  if (bad) {
    *bad = 0;
  }
}

static volatile char* first_bad(long at, uint64_t size) {
  return size ? __asan_region_is_poisoned((void*)at, size) : 0;
}
