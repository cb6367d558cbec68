/* Descriptors of ours in the target, never 0, 1 or 2: a program that has closed
 * these may still write there, and is to be told EBADF, as it always was.
 *
 * The kernel gives the lowest number that is free. So those of the three are
 * taken while ours are made, by O_PATH files, which answer EBADF to read(2) and
 * write(2): for some microseconds close(2) and fstat(2) of them succeed, and an
 * open(2) of the program's own gets a number above 2. */
#define _GNU_SOURCE /* O_PATH */
#include <fcntl.h>
#include <sys/socket.h>

#include "injector/bootstrap/bootstrap.h"
#include "injector/bootstrap/syscalls_x86_64.h"

#define LOW 3
#define TRIES 3

struct Kept {
  int count;
  struct HdFile files[LOW * TRIES];
};

static int take_low(const struct HdState* state, struct Kept* kept);
static long make(int pipe_flags, int pair[2]);

int hd_make_pair(const struct HdState* state, int pipe_flags, int pair[2]) {
  struct Kept kept = {0, {{0, 0, 0}}};
  long error = 0;
  for (int tries = 0; tries < TRIES; tries++) {
    error = take_low(state, &kept);
    if (!error) {
      error = make(pipe_flags, pair);
    }
    if (error || (pair[0] >= LOW && pair[1] >= LOW)) {
      break;
    }
    /* The program has closed one in between. */
    hd_syscall(SYS_close, pair[0], 0, 0, 0, 0, 0);
    hd_syscall(SYS_close, pair[1], 0, 0, 0, 0, 0);
    error = -9 /* EBADF */;
  }
  while (kept.count > 0) {
    hd_close(&kept.files[--kept.count]);
  }
  return (int)error;
}

static int take_low(const struct HdState* state, struct Kept* kept) {
  for (int number = 0; number < LOW; number++) {
    if (hd_file(number).number == number) {
      continue;
    }
    if (state->region->forbidden & HD_FORBIDS_OPEN) {
      return -9 /* EBADF */;
    }
    const long taken = hd_syscall(SYS_openat, AT_FDCWD, (long)"/",
                                  O_PATH | O_CLOEXEC, 0, 0, 0);
    if (taken < 0) {
      return (int)taken;
    }
    if (taken >= LOW || kept->count == LOW * TRIES) {
      hd_syscall(SYS_close, taken, 0, 0, 0, 0, 0);
    } else {
      kept->files[kept->count++] = hd_file((int)taken);
    }
  }
  return 0;
}

static long make(int pipe_flags, int pair[2]) {
  return pipe_flags ? hd_syscall(SYS_pipe2, (long)pair, O_CLOEXEC | pipe_flags,
                                 0, 0, 0, 0)
                    : hd_syscall(SYS_socketpair, AF_UNIX,
                                 SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                                 (long)pair, 0, 0);
}
