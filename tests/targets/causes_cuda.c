/* No CUDA: a library of the name of its runtime, whose cudaStreamSynchronize
 * waits as that one does for a device that does not come to its end. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
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

static void* waits(void* unused) {
  (void)unused;
  poll(0, 0, -1);
  return 0;
}

/* A thread of that name, as those of torch and NCCL, that waits. */
int begin_thread(const char* name) {
  pthread_t thread;
  return pthread_create(&thread, 0, waits, 0) ||
         pthread_setname_np(thread, name);
}
