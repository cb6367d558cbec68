/* What a C extension does while Python waits for it. c_hangs.py calls these
 * through ctypes, which lets go of the GIL; gil_held_by_library.py keeps it. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile sig_atomic_t stopped;

static void stop(int signal_number) {
  (void)signal_number;
  stopped = 1;
}

/* Python's own handlers do not run while a C function does. */
void stop_on(int signal_number) {
  struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART};
  sigaction(signal_number, &action, 0);
}

long read_ignoring_eintr(int fd) {
  char byte;
  ssize_t count;
  do {
    count = read(fd, &byte, 1);
  } while (count < 0 && errno == EINTR);
  return count;
}

/* Its name is in the file's .symtab, and not among what the loader is told. */
static long __attribute__((noinline)) count_rounds(void) {
  volatile unsigned long rounds = 0;
  while (!stopped) {
    rounds++;
  }
  return rounds > 0;
}

static const char* said;

/* What `spin` writes to standard output when it begins; it must stay. */
void say_first(const char* line) {
  said = line;
}

long spin(int unused) {
  (void)unused;
  if (said && write(1, said, strlen(said)) < 0) {
    return -1;
  }
  return count_rounds();
}

/* A plain FUTEX_WAIT of its own, as libgomp's barrier has it. */
long barrier(int unused) {
  (void)unused;
  long rounds = 0;
  while (!stopped) {
    register long timeout __asm__("r10") = 0;
    long result = SYS_futex;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(&stopped), "S"((long)FUTEX_WAIT_PRIVATE), "d"(0L),
                       "r"(timeout)
                     : "rcx", "r11", "memory");
    rounds++;
  }
  return rounds > 0;
}

/* The same by libc, whose own locks wait so. */
long low_level_wait(int unused) {
  (void)unused;
  while (!stopped) {
    syscall(SYS_futex, &stopped, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
  }
  return 1;
}

/* Most of its time in malloc and free, small blocks and mapped ones. */
long churn(int unused) {
  (void)unused;
  char* blocks[64] = {0};
  for (unsigned i = 0, state = 1; !stopped; i++) {
    state = state * 1103515245 + 12345;
    char** block = &blocks[i % 64];
    free(*block);
    const size_t size = (state >> 16) % 512 ? (state >> 16) % 2000 + 1 : 200000;
    *block = malloc(size);
    memset(*block, 1, 64 < size ? 64 : size);
  }
  for (int i = 0; i < 64; i++) {
    free(blocks[i]);
  }
  return 1;
}
