// The floor of bench/record: stops one thread RATE times a second, reads
// nothing, lets it go.
//   bare_stop TID RATE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t stopping;

static void stop(int signal) {
  (void)signal;
  stopping = 1;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: bare_stop TID RATE\n");
    return 2;
  }
  const int tid = atoi(argv[1]);
  const long period = 1000000000 / atol(argv[2]);
  signal(SIGINT, stop);
  setpriority(PRIO_PROCESS, 0, -20);
  struct timespec due;
  clock_gettime(CLOCK_MONOTONIC, &due);
  while (!stopping) {
    due.tv_nsec += period;
    if (due.tv_nsec >= 1000000000) {
      due.tv_nsec -= 1000000000;
      ++due.tv_sec;
    }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0 ||
        ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0) {
      perror("ptrace");
      return 1;
    }
    while (waitpid(tid, NULL, __WALL | WNOHANG) == 0) {
    }
    ptrace(PTRACE_DETACH, tid, 0, 0);
  }
  return 0;
}
