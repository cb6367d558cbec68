/* What a client sends to the agent, read as the agent reads it: the control
 * records (bootstrap/sessions.c) and the frames of messages (bootstrap/io.c).
 * Whatever comes, a session is what a table says, and a message lies in the
 * buffer.
 *
 * Input: a byte (bit 0: pipes in place of sockets), 2 bytes with the size of
 * the control bytes, those, and what the DAP channel gets. */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "injector/bootstrap/bootstrap.h"

/* More than that does not fit into a channel, and nobody reads yet. */
#define MOST_BYTES 60000

static void read_control(struct HdSession* session);
static void read_messages(struct HdSession* session);
static void check(int holds);

/* ---- of the target and of the other files of the bootstrap */

void* hd_executor_main(void* session) {
  return session;
}

void* hd_canceller_main(void* session) {
  return session;
}

void hd_held_wake(struct HdSession* session) {
  (void)session;
}

void hd_forget_frames(struct HdSession* session) {
  (void)session;
}

int hd_held_debugged(const struct HdSession* session) {
  (void)session;
  return 0;
}

static int create(uint64_t* thread,
                  void* attributes,
                  void* (*start)(void*),
                  void* argument) {
  *thread = (uint64_t)start;
  return attributes && argument ? 0 : 22;
}

static int join(uint64_t thread, void** result) {
  return thread && !result ? 0 : 22;
}

static int init(void* attributes) {
  return attributes ? 0 : 22;
}

static int set_size(void* attributes, unsigned long size) {
  return attributes && size ? 0 : 22;
}

static struct HdRegion region;
static struct HdState state;

int LLVMFuzzerInitialize(int* count, char*** words) {
  (void)count;
  (void)words;
  signal(SIGPIPE, SIG_IGN); /* it is blocked in the agent's threads */
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) {
    return 0;
  }
  const size_t rest = size - 3 > MOST_BYTES ? MOST_BYTES : size - 3;
  const size_t asked = data[1] | (size_t)data[2] << 8;
  const size_t control = asked < rest ? asked : rest;
  region.forbidden = data[0] & 1 ? HD_FORBIDS_SOCKETS : 0;
  region.api.pthread_create = (uint64_t)create;
  region.api.pthread_join = (uint64_t)join;
  region.api.pthread_attr_init = (uint64_t)init;
  region.api.pthread_attr_setstacksize = (uint64_t)set_size;
  state.region = &region;
  state.pid = getpid();
  struct HdSession* session = hd_session_open(&state);
  check(session && session->phase == HD_PHASE_OFFERED);
  /* The client's own ends; with sockets both of a channel are one. */
  const int to_control = dup(session->theirs[1].number);
  const int to_dap = dup(session->theirs[3].number);
  check(to_control >= 0 && to_dap >= 0);
  check(write(to_control, data + 3, control) == (ssize_t)control);
  check(write(to_dap, data + 3 + control, rest - control) ==
        (ssize_t)(rest - control));
  read_control(session);
  /* From here on the client has gone. */
  shutdown(to_control, SHUT_RDWR);
  shutdown(to_dap, SHUT_WR);
  close(to_control);
  close(to_dap);
  if (session->phase == HD_PHASE_LIVE) {
    read_messages(session);
    hd_session_read(session);
    check(session->phase == HD_PHASE_LEAVING);
  }
  hd_free_buffer(session);
  if (session->phase == HD_PHASE_OFFERED) {
    hd_session_leave(session);
  }
  session->executor_running = 0; /* there is none to be joined */
  hd_session_look_after(session);
  check(session->phase == HD_PHASE_FREE);
  return 0;
}

static void read_control(struct HdSession* session) {
  hd_session_read(session);
  hd_session_look_after(session);
  check(session->phase == HD_PHASE_OFFERED || session->phase == HD_PHASE_LIVE ||
        session->phase == HD_PHASE_LEAVING || session->phase == HD_PHASE_FREE);
  check(session->executor_running <= 1);
  check(session->phase != HD_PHASE_LIVE || session->executor_running);
}

/* As the executor does. */
static void read_messages(struct HdSession* session) {
  static volatile unsigned sum;
  const char* body = 0;
  uint64_t size = 0;
  uint64_t taken = 0;
  while (hd_read_message(session, &body, &size, &taken)) {
    check(body >= session->buffer && taken <= session->filled &&
          body + size == session->buffer + taken);
    for (uint64_t i = 0; i < size; i++) {
      sum += (unsigned char)body[i];
    }
    for (uint64_t i = taken; i < session->filled; i++) {
      session->buffer[i - taken] = session->buffer[i];
    }
    session->filled -= taken;
  }
}

static void check(int holds) {
  if (!holds) {
    abort();
  }
}
