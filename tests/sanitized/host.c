/* Runs the sanitized image in a process in which hangdbg runs its own.
 *
 * An expression of a real session calls adopt(): what the injector has put into
 * that session's region is kept. When the session and its threads have gone,
 * the image is loaded, is given a copy, and begins as the stub begins the real
 * one; so who attaches then finds an agent, and joins it. The first session is
 * the host's own and keeps the agent there, until that is told to end it.
 *
 * It is told by lines on a Unix socket, and answers each with one:
 *   start FORBIDDEN    the image runs (FORBIDDEN: enum HdForbidden)
 *   threads            so many threads it has started
 *   release            the first session ends
 *   await              the image has unmapped itself; so many blocks it left
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "injector/bootstrap/shared.h"
#include "tests/sanitized/image.h"

#define PAGE 4096UL
#define FIRST_STACK (8UL << 20)

/* What the CPU raises: blocked, it kills without a report. */
static const int kFaults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};

static struct {
  int connection;
  char image_path[1024];
  const struct HdRegion* copy; /* of the session that adopted us */
  uint64_t copied;             /* its size, with the agent */
  void* image;
  uint64_t base;
  uint64_t size;
  struct HdRegion* region;
  int channels[4]; /* of the first session */
  unsigned threads;
  uint64_t blocks;
} host;

static int copy_region(void);
static void* serve(void* none);
static int read_line(char* line, size_t size);
static const char* start(unsigned forbidden);
static int is_alone(void);
static void* fill(unsigned forbidden);
static void* symbol(const char* name);
static int keep_first(void);
static void release(void);
static int create(pthread_t* thread,
                  const pthread_attr_t* attributes,
                  void* (*begin)(void*),
                  void* argument);
static int unload(uint64_t base, uint64_t size);

/* 0, or what is wrong. */
HD_EXPORTED const char* adopt(const char* image_path, const char* socket_path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  strncpy(address.sun_path, socket_path, sizeof address.sun_path - 1);
  strncpy(host.image_path, image_path, sizeof host.image_path - 1);
  if (connect(connection, (struct sockaddr*)&address, sizeof address) != 0) {
    return "nobody is there to tell what to do";
  }
  if (!copy_region()) {
    return "the region is not found";
  }
  host.connection = connection;
  pthread_t thread;
  sigset_t all;
  sigset_t before;
  sigfillset(&all); /* as the stub does */
  for (unsigned i = 0; i < sizeof kFaults / sizeof *kFaults; i++) {
    sigdelset(&all, kFaults[i]);
  }
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&thread, 0, serve, 0);
  pthread_sigmask(SIG_SETMASK, &before, 0);
  return error ? strerror(error) : 0;
}

/* By the image's first bytes: it belongs to no file. */
static int copy_region(void) {
  FILE* maps = fopen("/proc/self/maps", "re");
  char line[4096];
  while (maps && !host.copy && fgets(line, sizeof line, maps)) {
    unsigned long from = 0;
    unsigned long inode = 0;
    char permissions[8] = "";
    if (sscanf(line, "%lx-%*x %7s %*x %*s %lu", &from, permissions, &inode) !=
            3 ||
        strcmp(permissions, "r-xp") != 0 || inode != 0) {
      continue;
    }
    const struct HdImageHeader* header = (const struct HdImageHeader*)from;
    if (header->magic != HD_MAGIC || header->abi != HD_ABI) {
      continue;
    }
    const uint64_t text = (header->image_size + PAGE - 1) / PAGE * PAGE;
    const struct HdRegion* region = (const struct HdRegion*)(from + text);
    host.copied = region->total_size - text;
    void* copy = malloc(host.copied);
    memcpy(copy, region, host.copied);
    host.copy = copy;
  }
  if (maps) {
    fclose(maps);
  }
  return host.copy != 0;
}

static void* serve(void* none) {
  char line[256];
  char answer[256];
  pthread_setname_np(pthread_self(), "sanitized"); /* it was the agent's */
  while (read_line(line, sizeof line)) {
    unsigned number = 0;
    snprintf(answer, sizeof answer, "what?");
    if (sscanf(line, "start %u", &number) == 1) {
      const char* wrong = start(number);
      snprintf(answer, sizeof answer, "%s", wrong ? wrong : "started");
    } else if (strcmp(line, "threads\n") == 0) {
      number = __atomic_load_n(&host.threads, __ATOMIC_ACQUIRE);
      snprintf(answer, sizeof answer, "%u", number);
    } else if (strcmp(line, "release\n") == 0) {
      release();
      snprintf(answer, sizeof answer, "released");
    } else if (strcmp(line, "await\n") == 0) {
      while (__atomic_load_n(&host.image, __ATOMIC_ACQUIRE)) {
        poll(0, 0, 1);
      }
      snprintf(answer, sizeof answer, "%lu", (unsigned long)host.blocks);
    }
    dprintf(host.connection, "%s\n", answer);
  }
  return none;
}

/* Not by a FILE, which would be locked when the program ends. */
static int read_line(char* line, size_t size) {
  size_t at = 0;
  while (at + 1 < size && read(host.connection, line + at, 1) == 1) {
    if (line[at++] == '\n') {
      line[at] = 0;
      return 1;
    }
  }
  return 0;
}

/* 0, or what is wrong. */
static const char* start(unsigned forbidden) {
  while (!is_alone()) {
    poll(0, 0, 1);
  }
  host.image = dlopen(host.image_path, RTLD_NOW | RTLD_LOCAL);
  if (!host.image) {
    return dlerror();
  }
  void* begin = fill(forbidden);
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, FIRST_STACK);
  const int error =
      create(&thread, &attributes, (void* (*)(void*))begin, (void*)host.base);
  if (error) {
    return strerror(error);
  }
  return keep_first() ? 0 : "the first session does not begin";
}

/* No thread of a real agent, whose rendezvous pipe would be found in our place.
 */
static int is_alone(void) {
  DIR* tasks = opendir("/proc/self/task");
  struct dirent* task;
  int alone = 1;
  while (tasks && (task = readdir(tasks))) {
    char path[300];
    char name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
    FILE* file = fopen(path, "re");
    if (file) {
      alone &= !fgets(name, sizeof name, file) ||
               strncmp(name, "hangdbg", strlen("hangdbg")) != 0;
      fclose(file);
    }
  }
  if (tasks) {
    closedir(tasks);
  }
  return alone;
}

/* As the injector does; where the first thread begins. Threads are made by
 * whoever has put himself before the libc: the sanitizer knows of them then. */
static void* fill(unsigned forbidden) {
  uint64_t (*base)(void) = (uint64_t(*)(void))symbol("hd_sanitized_base");
  uint64_t (*region)(uint64_t*) =
      (uint64_t(*)(uint64_t*))symbol("hd_sanitized_region");
  void (*fence)(uint64_t) = (void (*)(uint64_t))symbol("hd_sanitized_fence");
  uint64_t room = 0;
  host.base = base();
  host.region = (struct HdRegion*)region(&room);
  if (room < host.copied) {
    abort();
  }
  memcpy(host.region, host.copy, HD_AGENT_OFFSET);
  memset(host.region + 1, 0, HD_AGENT_OFFSET - sizeof *host.region);
  memcpy((char*)host.region + HD_AGENT_OFFSET,
         (const char*)host.copy + HD_AGENT_OFFSET,
         host.copied - HD_AGENT_OFFSET);
  struct HdRegion* filled = host.region;
  filled->total_size = host.size = (uint64_t)host.region + room - host.base;
  filled->forbidden = forbidden;
  filled->stage = HD_STAGE_STARTING;
  filled->refused = 0;
  filled->control_tid = 0;
  filled->rendezvous = -1;
  memset(filled->left, 0, sizeof filled->left);
  memset(filled->lost, 0, sizeof filled->lost);
  filled->stays = HD_GOES;
  memset(filled->offers, 0, sizeof filled->offers);
  filled->api.pthread_create = (uint64_t)create;
  filled->api.pthread_join = (uint64_t)pthread_join;
  filled->api.pthread_detach = (uint64_t)pthread_detach;
  filled->api.munmap = (uint64_t)unload;
  fence(host.copied);
  return (char*)host.base + ((const struct HdImageHeader*)host.base)->entry;
}

static void* symbol(const char* name) {
  void* found = dlsym(host.image, name);
  if (!found) {
    abort();
  }
  return found;
}

/* What a client does (injector/channels.cpp), within one process. */
static int keep_first(void) {
  volatile struct HdOffer* offer = &host.region->offers[0];
  while (__atomic_load_n(&offer->nonce, __ATOMIC_ACQUIRE) !=
         host.region->first_nonce) {
    poll(0, 0, 1);
  }
  if (offer->error) {
    return 0;
  }
  const int theirs[] = {offer->control_read, offer->control_write,
                        offer->dap_read, offer->dap_write};
  for (int i = 0; i < 4; i++) {
    host.channels[i] = fcntl(theirs[i], F_DUPFD_CLOEXEC, 3);
  }
  struct HdControlRecord record = {HD_CONTROL_HELLO, HD_ABI};
  struct pollfd answer = {host.channels[0], POLLIN, 0};
  return write(host.channels[1], &record, sizeof record) == sizeof record &&
         poll(&answer, 1, -1) == 1 &&
         read(host.channels[0], &record, sizeof record) == sizeof record &&
         record.kind == HD_CONTROL_STAGE;
}

static void release(void) {
  for (int i = 0; i < 4; i++) {
    close(host.channels[i]);
  }
}

static int create(pthread_t* thread,
                  const pthread_attr_t* attributes,
                  void* (*begin)(void*),
                  void* argument) {
  __atomic_fetch_add(&host.threads, 1, __ATOMIC_ACQ_REL);
  return pthread_create(thread, attributes, begin, argument);
}

/* In place of munmap(2): the image's last thread has jumped here, and returns
 * to where no code of the image is. */
static int unload(uint64_t base, uint64_t size) {
  uint64_t (*blocks)(void) = (uint64_t(*)(void))symbol("hd_sanitized_blocks");
  void (*fence)(uint64_t) = (void (*)(uint64_t))symbol("hd_sanitized_fence");
  if (base != host.base || size != host.size) {
    abort();
  }
  host.blocks = blocks();
  fence(0);
  dlclose(host.image);
  __atomic_store_n(&host.image, 0, __ATOMIC_RELEASE);
  return 0;
}
