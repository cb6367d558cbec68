// A library for programs whose threads are made by C. Python's main thread is
// in `run` until *stop: it naps, and a thread calls `call` all the time;
// others, each new, call `nothing`, and end.
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

typedef void (*Function)(void);

struct Work {
  Function function;
  volatile uint64_t* stop;
};

static void* call_often(void* argument) {
  const struct Work* work = argument;
  while (!*work->stop) {
    work->function();
    usleep(2000);
  }
  return 0;
}

static void* call_once(void* argument) {
  ((const struct Work*)argument)->function();
  return 0;
}

void run(Function call, Function nothing, volatile uint64_t* stop) {
  struct Work often = {call, stop};
  struct Work once = {nothing, stop};
  pthread_t caller;
  pthread_t passing;
  pthread_create(&caller, 0, call_often, &often);
  while (!*stop) {
    usleep(2000);
    if (pthread_create(&passing, 0, call_once, &once) == 0) {
      pthread_join(passing, 0);
    }
  }
  pthread_join(caller, 0);
}
