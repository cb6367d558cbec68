/* A C program with a Python in it, for tests/integration/systems/test_homes.py:
 *
 *   embed ARGUMENTS...   like python3 ARGUMENTS...
 *
 * Built with -DLIBPYTHON="path" it opens that library for itself alone
 * (RTLD_LOCAL), as a plugin host does; with -DIN_THREAD Python's main thread is
 * not the process's; with -DNEVER Python is there and not started; with -DSTAYS
 * the program lives on after Python has ended, until SIGTERM. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int Py_BytesMain(int argc, char** argv);

static int argument_count;
static char** arguments;

static int run_python(void) {
#ifdef LIBPYTHON
  void* library = dlopen(LIBPYTHON, RTLD_NOW | RTLD_LOCAL);
  int (*run)(int, char**) =
      library ? (int (*)(int, char**))dlsym(library, "Py_BytesMain") : 0;
  if (!run) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  return run(argument_count, arguments);
#else
  return Py_BytesMain(argument_count, arguments);
#endif
}

#ifdef IN_THREAD
static void* run_in_thread(void* signals) {
  pthread_sigmask(SIG_SETMASK, signals, 0);
  return (void*)(long)run_python();
}
#endif

int main(int argc, char** argv) {
  argument_count = argc;
  arguments = argv;
#if defined IN_THREAD
  /* Signals are for Python's thread. */
  sigset_t all, before;
  pthread_t thread;
  void* result;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_create(&thread, 0, run_in_thread, &before);
  pthread_join(thread, &result);
  return (int)(long)result;
#elif defined NEVER
  char byte;
  printf("{\"pid\": %d, \"tid\": %d, \"function\": \"\"}\n", getpid(),
         getpid());
  fflush(stdout);
  return argc > 1 ? run_python() : read(0, &byte, 1) == 1 ? 7 : 1;
#elif defined STAYS
  run_python();
  return pause();
#else
  return run_python();
#endif
}
