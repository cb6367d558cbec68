/* No CUDA: libraries with the names of NVIDIA's, for a rehearsal without a GPU.
 * The file is compiled three times, as libcuda.so.1, as libcudart.so.13
 * (-DRUNTIME) and as libnccl.so.2
 * (-DNCCL). What it models is one device with one queue: work ends when the
 * word that it waits for has its value, and calls that wait for the device wait
 * for that. The arguments are checked, for a wrong one would be seen on a
 * device only. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void* waits(void* unused) {
  (void)unused;
  poll(0, 0, -1);
  return 0;
}
int begin_thread(const char* name) {
  pthread_t thread;
  return pthread_create(&thread, 0, waits, 0) ||
         pthread_setname_np(thread, name);
}

#if defined(RUNTIME)

int cuCtxSynchronize(void);
int cuStreamSynchronize(void*);
int cuEventSynchronize(void*);
int cuMemFree_v2(uint64_t);
int cuMemAlloc_v2(uint64_t*, size_t);
int cuLaunchKernel(void*,
                   unsigned,
                   unsigned,
                   unsigned,
                   unsigned,
                   unsigned,
                   unsigned,
                   unsigned,
                   void*,
                   void**,
                   void**);
int cuModuleGetFunction(void**, void*, const char*);
int cuMemHostAlloc(void**, size_t, unsigned);

int cudaDeviceSynchronize(void) {
  return cuCtxSynchronize();
}
int cudaStreamSynchronize(void* stream) {
  return cuStreamSynchronize(stream);
}
int cudaEventSynchronize(void* event) {
  return cuEventSynchronize(event);
}
int cudaFree(void* memory) {
  return cuMemFree_v2((uint64_t)memory);
}
int cudaMalloc(void** memory, size_t size) {
  return cuMemAlloc_v2((uint64_t*)memory, size);
}
int cudaHostAlloc(void** memory, size_t size, unsigned flags) {
  return cuMemHostAlloc(memory, size, flags) || cuCtxSynchronize();
}
int cudaMemcpy(void* to, const void* from, size_t size, int kind) {
  (void)to, (void)from, (void)size, (void)kind;
  return cuStreamSynchronize(0);
}
int cudaLaunchKernel(void) {
  void* nothing = 0;
  cuModuleGetFunction(&nothing, (void*)1, "hd_nothing");
  return cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0);
}

#elif defined(NCCL)

struct id {
  char bytes[128];
};
int ncclGetVersion(int* version) {
  *version = 22809;
  return 0;
}
int ncclGetUniqueId(struct id* id) {
  memset(id, 7, sizeof *id);
  return 0;
}
int ncclCommInitRank(void** comm, int ranks, struct id id, int rank) {
  if (id.bytes[127] != 7 || rank < 0 || rank >= ranks) {
    return 4;
  }
  begin_thread("NCCL Service  0");
  while (ranks > 1) { /* for a peer that does not come */
    poll(0, 0, -1);
  }
  *comm = malloc(1);
  return 0;
}

#else

enum {
  kInvalid = 1,
  kNotInitialised = 3,
  kIllegalAddress = 700,
  kSpins = 64,
  kQueue = 1024
};
enum { kSpin = 1, kYield = 2, kBlocking = 4 };

static struct {
  volatile uint32_t* word;
  uint32_t value;
  int64_t end;
} spins[kSpins];
static volatile int spin_count, queued, schedule, current, broken;
static volatile uint32_t host_done;
static int names[3]; /* their addresses are the functions */

static int64_t now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static int busy_until(int count) {
  for (int at = 0; at < count; ++at) {
    if (*spins[at].word < spins[at].value && now() < spins[at].end) {
      return 1;
    }
  }
  return 0;
}

static int busy(void) {
  if (busy_until(spin_count)) {
    return 1;
  }
  spin_count = queued = 0;
  return 0;
}

__attribute__((noinline)) static int wait_idle(void) {
  while (busy()) {
    if (schedule == kSpin) {
      for (int at = 0; at < 1000; ++at) {
        __builtin_ia32_pause();
      }
    } else if (schedule == kYield) {
      sched_yield();
    } else { /* blocking: long enough that it is seen to wait */
      usleep(schedule == kBlocking ? 6000000 : 1000);
    }
  }
  __asm__ volatile(""); /* no tail call: the caller stays on the stack */
  return broken ? kIllegalAddress : 0;
}

static int add(void* word, uint32_t value, uint64_t ns) {
  if (word == 0 || ns > 120000000000ULL || spin_count == kSpins) {
    return kInvalid;
  }
  spins[spin_count].word = word;
  spins[spin_count].value = value;
  spins[spin_count].end = now() + (int64_t)ns;
  ++spin_count;
  return 0;
}

int cuInit(unsigned flags) {
  return flags ? kInvalid : 0;
}
int cuGetErrorName(int error, const char** name) {
  *name = error == kInvalid ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR_OTHER";
  return 0;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuDeviceGet(int* device, int number) {
  *device = number;
  return number ? kInvalid : 0;
}
int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
  schedule = (int)flags;
  return device || flags > kBlocking ? kInvalid : 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = (void*)16;
  return device ? kInvalid : 0;
}
int cuCtxSetCurrent(void* context) {
  current = context == (void*)16;
  return current ? 0 : kInvalid;
}
int cuMemHostAlloc(void** memory, size_t size, unsigned flags) {
  *memory = calloc(1, size);
  return !current ? kNotInitialised : flags > 7 || size == 0 ? kInvalid : 0;
}
int cuMemHostGetDevicePointer_v2(uint64_t* address,
                                 void* memory,
                                 unsigned flags) {
  *address = (uint64_t)memory;
  return flags || memory == 0 ? kInvalid : 0;
}
int cuMemAllocManaged(uint64_t* address, size_t size, unsigned flags) {
  *address = (uint64_t)calloc(1, size);
  return flags != 1 || size > 1 << 20 ? kInvalid : 0;
}
int cuMemAlloc_v2(uint64_t* address, size_t size) {
  *address = 4096; /* it does not wait, as in recent drivers */
  return size == 0 ? kInvalid : 0;
}
int cuMemFree_v2(uint64_t address) {
  (void)address;
  return wait_idle();
}
int cuModuleLoadData(void** module, const char* image) {
  *module = (void*)1;
  return strstr(image, ".entry hd_spin(") && strstr(image, ".target sm_")
             ? 0
             : kInvalid;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  const char* const known[] = {"hd_spin", "hd_wild", "hd_nothing"};
  for (int at = 0; module == (void*)1 && at < 3; ++at) {
    if (strcmp(name, known[at]) == 0) {
      *function = &names[at];
      return 0;
    }
  }
  return 500;
}
int cuLaunchKernel(void* function,
                   unsigned x,
                   unsigned y,
                   unsigned z,
                   unsigned bx,
                   unsigned by,
                   unsigned bz,
                   unsigned shared,
                   void* stream,
                   void** parameters,
                   void** extra) {
  (void)stream;
  if (!current || x * y * z != 1 || bx * by * bz != 1 || shared || extra) {
    return kInvalid;
  }
  if (function == &names[0]) {
    const int wrong = add(*(void**)parameters[0], 1, *(uint64_t*)parameters[1]);
    const char* const blocking = getenv("CUDA_LAUNCH_BLOCKING");
    return wrong                                    ? wrong
           : blocking && strcmp(blocking, "1") == 0 ? wait_idle()
                                                    : 0;
  }
  if (function == &names[1]) {
    broken = **(uint64_t**)parameters == 16; /* seen by who waits next */
    return broken ? 0 : kInvalid;
  }
  if (function != &names[2]) {
    return kInvalid;
  }
  if (busy() && ++queued > kQueue) {
    return wait_idle();
  }
  return 0;
}
int cuCtxSynchronize(void) {
  return wait_idle();
}
int cuStreamSynchronize(void* stream) {
  (void)stream;
  usleep(500); /* some work: a loop of these is not to cost a CPU */
  return wait_idle();
}
int cuEventSynchronize(void* event) {
  (void)event;
  return wait_idle();
}
int cuStreamWaitValue32_v2(void* stream,
                           uint64_t address,
                           uint32_t value,
                           unsigned flags) {
  (void)stream;
  return flags ? kInvalid : add((void*)address, value, 60000000000ULL);
}

/* A function of the host, on the stream behind what is there: the device is
 * busy until it has come back. */
static struct {
  void (*function)(void*);
  void* data;
  int behind;
} host;
static void* call_host(void* unused) {
  while (busy_until(host.behind)) {
    usleep(1000);
  }
  host.function(host.data);
  host_done = 1;
  return unused;
}
int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  pthread_t thread;
  (void)stream;
  host.function = function;
  host.data = data;
  host.behind = spin_count;
  host_done = 0;
  if (add((void*)&host_done, 1, 60000000000ULL) ||
      pthread_create(&thread, 0, call_host, 0)) {
    return kInvalid;
  }
  pthread_setname_np(thread, "cuda-EvtHandlr");
  return 0;
}

#endif
