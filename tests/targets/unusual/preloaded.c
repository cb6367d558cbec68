/* A library to be loaded ahead of all (LD_PRELOAD), as tools for memory and
 * files are: each allocation is noted, under a lock of its own, and freed
 * memory is overwritten; each thread's start is, and files are opened by a call
 * of ours. With -DAUDIT one for the loader (LD_AUDIT), which brings a second
 * libc into the process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifdef AUDIT
unsigned la_version(unsigned version) {
  free(malloc(100));
  return version;
}
#else
extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void __libc_free(void*);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void* notes[4096];
static unsigned long noted;

static void* note(void* block) {
  pthread_mutex_lock(&lock);
  notes[noted++ % 4096] = block;
  pthread_mutex_unlock(&lock);
  return block;
}

void* malloc(size_t size) {
  return note(__libc_malloc(size));
}
void* calloc(size_t count, size_t size) {
  return note(__libc_calloc(count, size));
}
void* realloc(void* old, size_t size) {
  return note(__libc_realloc(old, size));
}
void free(void* block) {
  if (block)
    memset(block, 0xdd, malloc_usable_size(block));
  __libc_free(note(block));
}

int pthread_create(pthread_t* thread,
                   const pthread_attr_t* attributes,
                   void* (*function)(void*),
                   void* argument) {
  int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) =
      dlsym(RTLD_NEXT, "pthread_create");
  note(0);
  return create(thread, attributes, function, argument);
}
#endif
