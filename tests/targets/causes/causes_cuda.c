/* No CUDA: a library of the name of its runtime, whose cudaStreamSynchronize
 * waits as that one does for a device that does not come to its end; and
 * functions of NCCL. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

static volatile int done;

static int runs(void) {
  while (!done) {
    sched_yield();
  }
  return 0;
}

static int runs_for(long milliseconds) {
  struct timespec begun, now;
  clock_gettime(CLOCK_MONOTONIC, &begun);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begun.tv_sec) * 1000 +
               (now.tv_nsec - begun.tv_nsec) / 1000000 <
           milliseconds);
  return 0;
}

int ncclCommInitRank(void* communicator) {
  (void)communicator;
  return runs();
}

/* The kernel is at work all the while, as where it pins much memory. */
int cudaHostRegister(void* memory) {
  (void)memory;
  const size_t size = 64 << 20;
  while (!done) {
    munmap(mmap(0, size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0),
           size);
  }
  return 0;
}

/* It takes two seconds. */
int cudaFree(void* memory) {
  (void)memory;
  return runs_for(2000);
}

int cudaStreamSynchronize(void* stream) {
  (void)stream;
  return runs();
}

int cudaDeviceSynchronize(void) {
  return poll(0, 0, -1);
}

/* A launch that finds the queue full. */
int cudaLaunchKernel(void* function) {
  (void)function;
  return runs();
}

/* These two come back, a fifth of a second later. */
int cudaMemcpy(void* to) {
  (void)to;
  return poll(0, 0, 200);
}

int cudaEventSynchronize(void* event) {
  (void)event;
  return runs_for(200);
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
