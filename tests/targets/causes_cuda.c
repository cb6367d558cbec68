/* No CUDA: a library of the name of its runtime, whose cudaStreamSynchronize
 * waits as that one does for a device that does not come to its end. */
#include <poll.h>
#include <sched.h>

static volatile int done;

int cudaStreamSynchronize(void* stream) {
  (void)stream;
  while (!done) {
    sched_yield();
  }
  return 0;
}

int cudaDeviceSynchronize(void) {
  return poll(0, 0, -1);
}
