/* Bounded reads and writes on a session's channels, by raw system calls: errno
 * and the libc's buffers stay the target's own. */
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "injector/bootstrap/bootstrap.h"
#include "injector/bootstrap/syscalls_x86_64.h"

#define MAX_HEADER 256
#define MAX_MESSAGE (64UL << 20)
#define FIRST_CAPACITY (64UL << 10)
/* How often a wait looks whether the session is being closed. Sockets are shut
 * down and need no look; a pipe's other end may have been inherited. */
#define LOOK_MS 250

static int make_room(struct HdSession* session, uint64_t wanted);
static int find_message(const struct HdSession* session,
                        uint64_t* header,
                        uint64_t* size);
static int starts_with(const char* text, const char* prefix);
static long send_quietly(const struct HdFile* file,
                         const void* from,
                         uint64_t size);
static int write_all(struct HdSession* session,
                     const char* bytes,
                     uint64_t size,
                     long (*put_some)(const struct HdFile*,
                                      const void*,
                                      uint64_t));

int64_t hd_now(void) {
  struct timespec now = {0, 0};
  hd_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}

void hd_name_thread(const char* name) {
  hd_syscall(SYS_prctl, PR_SET_NAME, (long)name, 0, 0, 0, 0);
}

int hd_tid(void) {
  return (int)hd_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

int hd_is_forked(const struct HdState* state) {
  return (int)hd_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0) != state->pid;
}

struct HdFile hd_file(int number) {
  struct stat seen;
  struct HdFile file = {-1, 0, 0};
  if (number >= 0 &&
      hd_syscall(SYS_fstat, number, (long)&seen, 0, 0, 0, 0) == 0) {
    file.number = number;
    file.device = seen.st_dev;
    file.inode = seen.st_ino;
  }
  return file;
}

int hd_is_ours(const struct HdFile* file) {
  const struct HdFile now = hd_file(file->number);
  return now.number >= 0 && now.device == file->device &&
         now.inode == file->inode;
}

long hd_read(const struct HdFile* file, void* to, uint64_t size) {
  return hd_is_ours(file)
             ? hd_syscall(SYS_read, file->number, (long)to, (long)size, 0, 0, 0)
             : -9 /* EBADF */;
}

long hd_write(const struct HdFile* file, const void* from, uint64_t size) {
  return hd_is_ours(file) ? hd_syscall(SYS_write, file->number, (long)from,
                                       (long)size, 0, 0, 0)
                          : -9 /* EBADF */;
}

void hd_close(struct HdFile* file) {
  if (hd_is_ours(file)) {
    hd_syscall(SYS_close, file->number, 0, 0, 0, 0, 0);
  }
  file->number = -1;
}

int hd_poll(int fd, int events, int timeout_ms) {
  struct pollfd one = {fd, (short)events, 0};
  const long result = hd_syscall(SYS_poll, (long)&one, 1, timeout_ms, 0, 0, 0);
  return result > 0 ? one.revents : (int)result;
}

char* hd_map(uint64_t size) {
  const long at = hd_syscall(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at < 0 && at > -4096 ? 0 : (char*)at;
}

void hd_unmap(char* at, uint64_t size) {
  hd_syscall(SYS_munmap, (long)at, (long)size, 0, 0, 0, 0);
}

void hd_drop(const struct HdState* state, char* from, const char* to) {
  const uint64_t first = ((uint64_t)from + 4095) & ~4095UL;
  const uint64_t end = (uint64_t)to & ~4095UL;
  if (first < end && !(state->region->forbidden & HD_FORBIDS_DROP)) {
    hd_syscall(SYS_madvise, (long)first, (long)(end - first), MADV_DONTNEED, 0,
               0, 0);
  }
}

int hd_is_leaving(const struct HdSession* session) {
  return HD_LOAD(session->phase) == HD_PHASE_LEAVING;
}

int hd_read_message(struct HdSession* session,
                    const char** body,
                    uint64_t* size,
                    uint64_t* taken) {
  for (;;) {
    uint64_t header = 0;
    const int found = find_message(session, &header, size);
    if (found < 0) {
      return 0;
    }
    if (found > 0 && session->filled >= header + *size) {
      *body = session->buffer + header;
      *taken = header + *size;
      return 1;
    }
    if (!make_room(session, found > 0 ? header + *size : MAX_HEADER)) {
      return -1;
    }
    const long got =
        hd_read(&session->dap_read, session->buffer + session->filled,
                session->capacity - session->filled);
    if (got > 0) {
      session->filled += (uint64_t)got;
      continue;
    }
    if (got == 0 || (got != -11 /* EAGAIN */ && got != -4 /* EINTR */)) {
      return 0;
    }
    const int look =
        hd_uses_pipes(session->state) ? LOOK_MS : HD_LONGEST_POLL_MS;
    hd_poll(session->dap_read.number, POLLIN, look);
    if (hd_is_leaving(session)) {
      return 0;
    }
  }
}

void hd_begin_message(struct HdSession* session) {
  uint32_t seen = 0;
  while (!HD_EXCHANGE(session->writing, seen, 1)) {
    seen = 0;
    hd_poll(-1, 0, 1);
  }
}

void hd_end_message(struct HdSession* session) {
  HD_STORE(session->writing, 0);
}

/* SIGPIPE is blocked in our threads and dies with them. */
int hd_write_all(struct HdSession* session, const char* bytes, uint64_t size) {
  return write_all(session, bytes, size, hd_write);
}

/* A socket can be told not to send it. For a pipe it is blocked, and taken back
 * if it came by us. */
int hd_write_quietly(struct HdSession* session,
                     const char* bytes,
                     uint64_t size) {
  if (!hd_uses_pipes(session->state)) {
    return write_all(session, bytes, size, send_quietly);
  }
  const uint64_t pipe = 1UL << (SIGPIPE - 1);
  const struct timespec now = {0, 0};
  uint64_t mask = 0;
  uint64_t before = 0;
  hd_syscall(SYS_rt_sigpending, (long)&before, sizeof before, 0, 0, 0, 0);
  hd_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&pipe, (long)&mask,
             sizeof mask, 0, 0);
  const int done = write_all(session, bytes, size, hd_write);
  if (!done && !(before & pipe)) {
    hd_syscall(SYS_rt_sigtimedwait, (long)&pipe, 0, (long)&now, sizeof pipe, 0,
               0);
  }
  hd_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof mask, 0,
             0);
  return done;
}

static long send_quietly(const struct HdFile* file,
                         const void* from,
                         uint64_t size) {
  return hd_is_ours(file) ? hd_syscall(SYS_sendto, file->number, (long)from,
                                       (long)size, MSG_NOSIGNAL, 0, 0)
                          : -9 /* EBADF */;
}

static int write_all(struct HdSession* session,
                     const char* bytes,
                     uint64_t size,
                     long (*put_some)(const struct HdFile*,
                                      const void*,
                                      uint64_t)) {
  while (size > 0) {
    if (hd_is_leaving(session)) {
      return 0;
    }
    const long put = put_some(&session->dap_write, bytes, size);
    if (put > 0) {
      bytes += put;
      size -= (uint64_t)put;
    } else if (put == -11 || put == -4) {
      hd_poll(session->dap_write.number, POLLOUT, LOOK_MS);
    } else {
      return 0;
    }
  }
  return 1;
}

void hd_free_buffer(struct HdSession* session) {
  if (session->buffer) {
    hd_unmap(session->buffer, session->capacity);
  }
  session->buffer = 0;
  session->capacity = 0;
  session->filled = 0;
}

static int make_room(struct HdSession* session, uint64_t wanted) {
  if (wanted + 1 <= session->capacity) {
    return 1;
  }
  uint64_t capacity = FIRST_CAPACITY;
  while (capacity < wanted + 1) {
    capacity *= 2;
  }
  char* fresh = hd_map(capacity);
  if (!fresh) {
    return 0;
  }
  for (uint64_t i = 0; i < session->filled; i++) {
    fresh[i] = session->buffer[i];
  }
  const uint64_t filled = session->filled;
  hd_free_buffer(session);
  session->buffer = fresh;
  session->capacity = capacity;
  session->filled = filled;
  return 1;
}

/* 1: a header is there; 0: not yet; -1: this is no such channel. The client is
 * always hangdbg, so the only header is Content-Length. */
static int find_message(const struct HdSession* session,
                        uint64_t* header,
                        uint64_t* size) {
  static const char kName[] = "Content-Length: ";
  const char* text = session->buffer;
  if (session->filled < sizeof kName + 4) {
    return 0;
  }
  if (!starts_with(text, kName)) {
    return -1;
  }
  uint64_t at = sizeof kName - 1;
  uint64_t value = 0;
  while (at < session->filled && text[at] >= '0' && text[at] <= '9') {
    value = value * 10 + (uint64_t)(text[at] - '0');
    if (value > MAX_MESSAGE) {
      return -1;
    }
    at++;
  }
  if (at + 4 > session->filled) {
    return at > MAX_HEADER ? -1 : 0;
  }
  if (!starts_with(text + at, "\r\n\r\n")) {
    return -1;
  }
  *header = at + 4;
  *size = value;
  return 1;
}

static int starts_with(const char* text, const char* prefix) {
  while (*prefix) {
    if (*text++ != *prefix++) {
      return 0;
    }
  }
  return 1;
}
