// What a busy program does all the time, each thing on a thread of its own.
//
// Each worker's row is in a file that the tests map: how often it has gone
// round, and how often a call did not give what it always gives.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct row {
  _Atomic uint64_t rounds;
  _Atomic uint64_t wrong;
  char name[16];
  char unused[32];
};
_Static_assert(sizeof(struct row) == 64, "as stress.py and churn.py have it");

enum { kRows = 16 };

static struct row* rows;
static atomic_int stop;
static int nap_us;
static pthread_t workers[kRows];
static int worker_count;

static int check_allocate(unsigned* seed) {
  size_t size = 1u << (rand_r(seed) % 19);  // up to 256 KiB: also by mmap
  char* block = malloc(size);
  if (block == NULL) {
    return 0;
  }
  memset(block, 1, size < 4096 ? size : 4096);
  block = realloc(block, size * 2);
  int right = block != NULL && block[0] == 1;
  free(block);
  return right;
}

static int check_fork(unsigned* seed) {
  (void)seed;
  pid_t child = fork();
  if (child == 0) {
    _exit(3);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child &&
         WIFEXITED(status) && WEXITSTATUS(status) == 3;
}

static int check_load(unsigned* seed) {
  const char* name = rand_r(seed) % 2 ? "libutil.so.1" : "libanl.so.1";
  void* library = dlopen(name, RTLD_NOW);
  return library != NULL && dlclose(library) == 0;
}

static int check_print(unsigned* seed) {
  FILE* file = fopen("/dev/null", "w");
  if (file == NULL) {
    return 0;
  }
  int printed = fprintf(file, "%08u\n", rand_r(seed) % 100000000);
  return fclose(file) == 0 && printed == 9;
}

static void* same(void* argument) {
  return argument;
}

static int check_thread(unsigned* seed) {
  pthread_t thread;
  void* result = NULL;
  return pthread_create(&thread, NULL, same, seed) == 0 &&
         pthread_join(thread, &result) == 0 && result == seed;
}

// The three waits never end early, nor with an error of their own.

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int check_sleep(unsigned* seed) {
  (void)seed;
  const int64_t start = now_ns();
  const struct timespec time = {0, 2000000};
  return nanosleep(&time, NULL) == 0 && now_ns() - start >= time.tv_nsec;
}

static int check_semaphore(unsigned* seed) {
  (void)seed;
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += 2000000;
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    until.tv_sec += 1;
  }
  return sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT;
}

static int check_poll(unsigned* seed) {
  (void)seed;
  return poll(NULL, 0, 2) == 0;
}

// How often in a row, so that none takes the CPU from the others; those that
// mostly sleep once.
static const struct {
  const char* name;
  int (*check)(unsigned* seed);
  int burst;
} kWork[] = {
    {"allocate", check_allocate, 20}, {"allocate too", check_allocate, 20},
    {"fork", check_fork, 2},          {"load", check_load, 3},
    {"print", check_print, 20},       {"thread", check_thread, 3},
    {"sleep", check_sleep, 1},        {"semaphore", check_semaphore, 1},
    {"poll", check_poll, 1},
};

static void* work(void* argument) {
  const size_t index = (size_t)argument;
  unsigned seed = (unsigned)index;
  while (!stop) {
    for (int i = 0; i < kWork[index].burst; ++i) {
      if (!kWork[index].check(&seed)) {
        ++rows[index].wrong;
      }
      ++rows[index].rounds;
    }
    if (nap_us != 0 && kWork[index].burst > 1) {
      usleep((unsigned)nap_us);
    }
  }
  return NULL;
}

// Starts the workers with rows in the file `path`. Between bursts they nap for
// so long; 0: never, and those that mostly sleep are not started. Returns how
// many rows they have, or -1.
int churn_start(const char* path, int nap) {
  const int file = open(path, O_RDWR);
  rows = mmap(NULL, kRows * sizeof *rows, PROT_READ | PROT_WRITE, MAP_SHARED,
              file, 0);
  close(file);
  if (rows == MAP_FAILED) {
    return -1;
  }
  nap_us = nap;
  const size_t count = sizeof kWork / sizeof *kWork;
  for (size_t i = 0; i < count; ++i) {
    if (nap == 0 && kWork[i].burst == 1) {
      continue;
    }
    strcpy(rows[i].name, kWork[i].name);
    if (pthread_create(&workers[worker_count++], NULL, work, (void*)i) != 0) {
      return -1;
    }
  }
  return (int)count;
}

void churn_stop(void) {
  stop = 1;
  for (int i = 0; i < worker_count; ++i) {
    pthread_join(workers[i], NULL);
  }
  munmap(rows, kRows * sizeof *rows);
}
