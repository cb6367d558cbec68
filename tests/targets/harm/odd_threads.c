// The calling thread on a stack that nothing may be put below, in a sleep that
// must not be interrupted. Both return what nanosleep did.
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { kLeft = 40 * 1024 };  // bytes of stack; hangdbg wants 48 KiB

static int seconds;
static int result;

static void sleep_here(int signal) {
  (void)signal;
  const struct timespec time = {seconds, 0};
  result = nanosleep(&time, NULL);
}

// In a signal handler, on a few KiB of something bigger.
int sleep_on_alternate_stack(int for_seconds) {
  seconds = for_seconds;
  const stack_t stack = {.ss_sp = (char*)malloc(1 << 20) + (1 << 19),
                         .ss_size = 16384};
  sigaltstack(&stack, NULL);
  const struct sigaction action = {.sa_handler = sleep_here,
                                   .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR2, &action, NULL);
  raise(SIGUSR2);
  return result;
}

// The CPU's clock faults, which the libc reads for each time that it tells.
int read_without_clock(int file) {
  char byte;
  prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
  const int got = (int)read(file, &byte, 1);
  prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
  return got;
}

int sleep_on_deep_stack(int for_seconds) {
  seconds = for_seconds;
  pthread_attr_t attributes;
  void* lowest = NULL;
  size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &lowest, &size);
  volatile char* block = alloca(
      (size_t)((char*)__builtin_frame_address(0) - (char*)lowest) - kLeft);
  block[0] = 1;
  sleep_here(0);
  return result + block[0] - 1;
}
