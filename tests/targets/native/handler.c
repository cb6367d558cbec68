// A handler of SIGUSR2 that waits for another signal, for a library that is
// loaded with LD_PRELOAD.
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

void wait_in_handler(int number) {
  (void)number;
  pause();
}

__attribute__((constructor)) static void set_handler(void) {
  struct sigaction action = {.sa_handler = wait_in_handler};
  sigaction(SIGUSR2, &action, NULL);
}
