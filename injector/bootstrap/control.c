/* The control thread. It never touches Python and so always answers, whoever
 * holds the GIL. Clients come through the door (a pipe), are offered two
 * channels, and are gone when theirs close; with the last one everything here
 * goes. */
#define _GNU_SOURCE /* O_DIRECT */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include "injector/bootstrap/bootstrap.h"
#include "injector/bootstrap/syscalls_x86_64.h"

#define CONTROL_STACK (256UL << 10)
#define EXECUTOR_STACK (8UL << 20)
#define CANCELLER_STACK (256UL << 10)
/* A client that dies between its join and its hello. */
#define OFFER_NS 1000000000L
/* Code that catches Cancelled, or cleans up after it, has so long for that. */
#define CANCEL_AGAIN_MS 200

typedef int (*CreateFunction)(uint64_t*, void*, void* (*)(void*), void*);
typedef int (*JoinFunction)(uint64_t, void**);
typedef int (*AttrFunction)(void*);
typedef int (*AttrSizeFunction)(void*, unsigned long);
typedef uint64_t (*SelfFunction)(void);
typedef int (*ThreadFunction)(uint64_t);

static struct HdState* set_up(uint64_t base);
static void serve(struct HdState* state);
static int wait_for_news(struct HdState* state, struct pollfd* polled);
static void answer_door(struct HdState* state);
static void leave_target(struct HdState* state, struct HdExit* out);
static void offer(struct HdState* state, uint32_t nonce);
static struct HdSession* open_session(struct HdState* state);
static int make_channel(struct HdState* state,
                        struct HdFile ours[2],
                        struct HdFile theirs[2]);
static void read_records(struct HdSession* session);
static void handle_record(struct HdSession* session,
                          struct HdControlRecord record);
static void say_hello(struct HdSession* session);
static void tell(struct HdSession* session, uint32_t kind, uint32_t value);
static int has_ended(const struct HdSession* session);
static void start_canceller(struct HdSession* session);
static void leave(struct HdSession* session);
static void look_after(struct HdState* state);
static void close_session(struct HdSession* session);
static void close_all(struct HdFile* files, int count);
static int start_thread(struct HdState* state,
                        uint64_t* thread,
                        unsigned long stack,
                        void* (*start)(void*),
                        void* argument);
static void join(struct HdState* state, uint64_t thread);
static int sessions_left(const struct HdState* state);
static uint32_t find_tid_offset(struct HdState* state);

void hd_first_main(uint64_t base, struct HdExit* out) {
  struct HdState* state = set_up(base);
  struct HdSession* session = open_session(state);
  struct HdOffer* place = &state->region->offers[0];
  uint64_t control = 0;
  if (!place->error) {
    session->executor_running = 1; /* we are */
    const int error = start_thread(state, &control, CONTROL_STACK,
                                   hd_control_entry, (void*)base);
    if (!error) {
      HD_STORE(place->nonce, state->region->first_nonce);
      hd_executor_main(session);
      return;
    }
    leave(session);
    close_session(session);
    place->error = -error;
  }
  HD_STORE(place->nonce, state->region->first_nonce);
  hd_poll(-1, 0, OFFER_NS / 1000000); /* the client reads why */
  leave_target(state, out);
}

void hd_control_main(uint64_t base, struct HdExit* out) {
  struct HdState* state = hd_state();
  struct HdRegion* region = state->region;
  (void)base;
  hd_name_thread(HD_CONTROL_THREAD_NAME);
  HD_CALL(state, pthread_detach, ThreadFunction)
  (HD_CALL(state, pthread_self, SelfFunction)());
  region->control_tid = hd_tid();
  HD_STORE(region->stage, HD_STAGE_SERVING);
  do {
    serve(state);
    /* Whoever knocked before this is served; who comes later sees the stage,
     * or finds the door closed. */
    HD_STORE(region->stage, HD_STAGE_CLOSING);
    answer_door(state);
    if (sessions_left(state)) {
      HD_STORE(region->stage, HD_STAGE_SERVING);
    }
  } while (sessions_left(state));
  leave_target(state, out);
}

static void leave_target(struct HdState* state, struct HdExit* out) {
  /* The stage first: a client that has fetched the door looks at it again, lest
   * the number was somebody else's by then. */
  HD_STORE(state->region->stage, HD_STAGE_CLOSED);
  hd_close(&state->door_read);
  hd_close(&state->door_write);
  /* Where the interpreter ended before the farewell, the agent's objects live
   * on and the garbage collector looks at their method tables: then the region
   * stays, and is all that does. */
  int loaded = 0;
  for (int i = 0; i <= HD_MAX_SESSIONS; i++) {
    loaded |= state->agents[i].globals != 0;
  }
  if (loaded || state->must_stay) {
    return;
  }
  out->munmap = state->region->api.munmap;
  out->base = state->base;
  out->size = state->region->total_size;
}

static struct HdState* set_up(uint64_t base) {
  struct HdState* state = hd_state();
  struct HdRegion* region = (struct HdRegion*)state - 1;
  /* The stub had every signal blocked, and its threads inherit that. But by
   * these the libc reaches every thread, and waits until each has answered:
   * setuid(2) and its like would hang the program. */
  hd_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&region->libc_signals, 0,
             sizeof region->libc_signals, 0, 0);
  hd_name_thread(HD_EXECUTOR_THREAD_NAME);
  state->region = region;
  state->base = base;
  state->pid = (int)hd_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
  if (!(region->forbidden & HD_FORBIDS_READ_SELF)) {
    state->tid_offset = find_tid_offset(state);
  }
  int door[2] = {-1, -1};
  /* O_DIRECT: what is written at once is read at once, and junk by itself. */
  hd_syscall(SYS_pipe2, (long)door, O_CLOEXEC | O_NONBLOCK | O_DIRECT, 0, 0, 0,
             0);
  state->door_read = hd_file(door[0]);
  state->door_write = hd_file(door[1]);
  region->door = door[1];
  region->door_inode = state->door_write.inode;
  return state;
}

static void serve(struct HdState* state) {
  struct pollfd polled[HD_MAX_SESSIONS + 1];
  while (sessions_left(state)) {
    if (wait_for_news(state, polled) > 0) {
      if (polled[HD_MAX_SESSIONS].revents) {
        answer_door(state);
      }
      for (int i = 0; i < HD_MAX_SESSIONS; i++) {
        if (polled[i].revents &&
            polled[i].fd == state->sessions[i].control_read.number) {
          read_records(&state->sessions[i]);
        }
      }
    }
    look_after(state);
  }
}

/* Sleeps until a record, the door, or the next thing that is due. */
static int wait_for_news(struct HdState* state, struct pollfd* polled) {
  const int door_is_ours = hd_is_ours(&state->door_read);
  long timeout = HD_LONGEST_POLL_MS;
  for (int i = 0; i < HD_MAX_SESSIONS; i++) {
    struct HdSession* session = &state->sessions[i];
    int listens =
        session->phase == HD_PHASE_OFFERED || session->phase == HD_PHASE_LIVE;
    if (listens && !hd_is_ours(&session->control_read)) {
      leave(session);
      listens = 0;
    }
    polled[i].fd = listens ? session->control_read.number : -1;
    polled[i].events = POLLIN;
    polled[i].revents = 0;
    if (session->phase == HD_PHASE_OFFERED) {
      const long left =
          (session->offered_at + OFFER_NS - hd_now()) / 1000000 + 1;
      timeout = left < 0 ? 0 : (left < timeout ? left : timeout);
    }
    if (hd_wants_cancel(session) && session->executor_running &&
        HD_LOAD(session->stage) != HD_EXECUTOR_IDLE &&
        timeout > CANCEL_AGAIN_MS) {
      timeout = CANCEL_AGAIN_MS;
    }
  }
  polled[HD_MAX_SESSIONS].fd = door_is_ours ? state->door_read.number : -1;
  polled[HD_MAX_SESSIONS].events = POLLIN;
  polled[HD_MAX_SESSIONS].revents = 0;
  return (int)hd_syscall(SYS_poll, (long)polled, HD_MAX_SESSIONS + 1, timeout,
                         0, 0, 0);
}

static void answer_door(struct HdState* state) {
  struct HdDoorRecord record;
  for (;;) {
    const long got = hd_read(&state->door_read, &record, sizeof record);
    if (got <= 0) {
      return;
    }
    if (got == sizeof record && record.kind == HD_DOOR_JOIN) {
      offer(state, record.value);
    }
    /* HD_DOOR_THREAD_DONE only wakes us: look_after joins. */
  }
}

static void offer(struct HdState* state, uint32_t nonce) {
  const struct HdSession* session = open_session(state);
  if (session) {
    HD_STORE(state->region->offers[session->index].nonce, nonce);
  } else {
    HD_STORE(state->region->refused, nonce);
  }
}

/* A session with its place among the offers filled in, or with the error there
 * that keeps it from having channels; 0 when there are too many. */
static struct HdSession* open_session(struct HdState* state) {
  for (uint32_t i = 0; i < HD_MAX_SESSIONS; i++) {
    struct HdSession* session = &state->sessions[i];
    struct HdOffer* place = &state->region->offers[i];
    if (session->phase != HD_PHASE_FREE) {
      continue;
    }
    struct HdFile control[2];
    struct HdFile dap[2];
    int error = make_channel(state, control, &session->theirs[0]);
    if (!error) {
      error = make_channel(state, dap, &session->theirs[2]);
      if (error) {
        close_all(control, 2);
        close_all(&session->theirs[0], 2);
      }
    }
    session->state = state;
    session->index = i;
    session->control_read = control[0];
    session->control_write = control[1];
    session->dap_read = dap[0];
    session->dap_write = dap[1];
    session->offered_at = hd_now();
    session->executor_running = 0;
    session->executor_done = 0;
    session->executor_tid = 0;
    session->canceller_running = 0;
    session->canceller_done = 0;
    session->used_agent = 0;
    session->wanted = 0;
    session->interpreter = 0;
    session->cancel = 0;
    session->cancellable = 0;
    session->cancel_again_at = 0;
    session->enter_now_until = 0;
    session->messages = 0;
    session->stage = HD_EXECUTOR_IDLE;
    HD_STORE(session->phase, error ? HD_PHASE_FREE : HD_PHASE_OFFERED);
    place->error = error;
    place->control_read = session->theirs[0].number;
    place->control_write = session->theirs[1].number;
    place->dap_read = session->theirs[2].number;
    place->dap_write = session->theirs[3].number;
    return session;
  }
  return 0;
}

/* ours[0] reads what theirs[1] writes, and the other way round; with sockets
 * both of a side are one descriptor. */
static int make_channel(struct HdState* state,
                        struct HdFile ours[2],
                        struct HdFile theirs[2]) {
  if (!hd_uses_pipes(state)) {
    int pair[2];
    const long error = hd_syscall(SYS_socketpair, AF_UNIX,
                                  SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                                  (long)pair, 0, 0);
    if (error < 0) {
      return (int)error;
    }
    ours[0] = ours[1] = hd_file(pair[0]);
    theirs[0] = theirs[1] = hd_file(pair[1]);
    return 0;
  }
  int in[2];
  int out[2];
  long error =
      hd_syscall(SYS_pipe2, (long)in, O_CLOEXEC | O_NONBLOCK, 0, 0, 0, 0);
  if (error < 0) {
    return (int)error;
  }
  error = hd_syscall(SYS_pipe2, (long)out, O_CLOEXEC | O_NONBLOCK, 0, 0, 0, 0);
  ours[0] = hd_file(in[0]);
  theirs[1] = hd_file(in[1]);
  if (error < 0) {
    hd_close(&ours[0]);
    hd_close(&theirs[1]);
    return (int)error;
  }
  theirs[0] = hd_file(out[0]);
  ours[1] = hd_file(out[1]);
  return 0;
}

static void read_records(struct HdSession* session) {
  for (;;) {
    struct HdControlRecord record;
    const long got = hd_read(&session->control_read, &record, sizeof record);
    if (got == -11 /* EAGAIN */ || got == -4 /* EINTR */) {
      return;
    }
    if (got != sizeof record) { /* gone, or not one of us */
      leave(session);
      return;
    }
    handle_record(session, record);
    if (session->phase != HD_PHASE_LIVE) {
      return;
    }
  }
}

static void handle_record(struct HdSession* session,
                          struct HdControlRecord record) {
  if ((session->phase == HD_PHASE_OFFERED) !=
      (record.kind == HD_CONTROL_HELLO)) {
    leave(session);
    return;
  }
  switch (record.kind) {
    case HD_CONTROL_HELLO:
      say_hello(session);
      break;
    case HD_CONTROL_STATUS:
      tell(session, HD_CONTROL_STAGE, HD_LOAD(session->stage));
      break;
    case HD_CONTROL_ENTER_NOW:
      HD_STORE(session->enter_now_for, record.value);
      HD_STORE(session->enter_now_until, hd_now() + HD_ENTER_NOW_NS);
      break;
    case HD_CONTROL_INTERPRETER:
      HD_STORE(session->wanted, record.value);
      break;
    case HD_CONTROL_CANCEL:
      HD_STORE(session->cancel, 1);
      session->cancel_again_at = 0;
      break; /* look_after starts the canceller */
    default:
      leave(session);
  }
}

/* The client has its ends: ours of theirs go, so that its death is an EOF. */
static void say_hello(struct HdSession* session) {
  struct HdState* state = session->state;
  close_all(session->theirs, 4);
  HD_STORE(state->region->offers[session->index].nonce, 0);
  HD_STORE(session->phase, HD_PHASE_LIVE);
  if (session->executor_running) {
    tell(session, HD_CONTROL_STAGE, HD_EXECUTOR_IDLE);
    return;
  }
  /* Set before it runs: the executor looks itself up by these. */
  HD_STORE(session->executor_running, 1);
  const int error = start_thread(state, &session->executor, EXECUTOR_STACK,
                                 hd_executor_main, session);
  if (error) {
    HD_STORE(session->executor_running, 0);
    tell(session, HD_CONTROL_ERROR, (uint32_t)error);
    leave(session);
    return;
  }
  tell(session, HD_CONTROL_STAGE, HD_EXECUTOR_IDLE);
}

static void tell(struct HdSession* session, uint32_t kind, uint32_t value) {
  const struct HdControlRecord record = {kind, value};
  /* A client that asks and does not read loses the answer. */
  hd_write(&session->control_write, &record, sizeof record);
}

static void leave(struct HdSession* session) {
  if (session->phase == HD_PHASE_OFFERED) {
    HD_STORE(session->state->region->offers[session->index].nonce, 0);
    close_all(session->theirs, 4);
  }
  HD_STORE(session->phase, HD_PHASE_LEAVING);
  HD_STORE(session->cancel, 1);
  if (!hd_uses_pipes(session->state) && hd_is_ours(&session->dap_read)) {
    hd_syscall(SYS_shutdown, session->dap_read.number, SHUT_RDWR, 0, 0, 0, 0);
  }
}

/* What is due, whoever woke us: offers that nobody took, evaluations to
 * cancel, threads that are done. */
static void look_after(struct HdState* state) {
  for (int i = 0; i < HD_MAX_SESSIONS; i++) {
    struct HdSession* session = &state->sessions[i];
    if (session->phase == HD_PHASE_FREE) {
      continue;
    }
    if (session->phase == HD_PHASE_OFFERED &&
        hd_now() > session->offered_at + OFFER_NS) {
      leave(session);
    }
    if (session->canceller_running && HD_LOAD(session->canceller_done)) {
      join(state, session->canceller);
      session->canceller_running = 0;
    }
    if (session->executor_running && HD_LOAD(session->executor_done)) {
      join(state, session->executor);
      HD_STORE(session->executor_running, 0);
      if (session->phase == HD_PHASE_LIVE) {
        leave(session);
      }
    }
    if (session->executor_running && has_ended(session)) {
      HD_STORE(state->must_stay, 1);
      HD_STORE(session->executor_running, 0);
      leave(session);
    }
    if (hd_wants_cancel(session) && session->executor_running &&
        !session->canceller_running && HD_LOAD(session->cancellable) &&
        hd_now() >= session->cancel_again_at) {
      start_canceller(session);
    }
    if (session->phase == HD_PHASE_LEAVING && !session->executor_running &&
        !session->canceller_running) {
      close_session(session);
    }
  }
}

/* By a pthread_exit in an expression, and not as it should. Its PyThreadState
 * is still there, and refers to its stack: so nobody joins it, and that stays.
 */
static int has_ended(const struct HdSession* session) {
  const int* tid = HD_LOAD(session->executor_tid);
  return tid && HD_LOAD(*tid) == 0 && !HD_LOAD(session->executor_done);
}

static void start_canceller(struct HdSession* session) {
  session->cancel_again_at = hd_now() + CANCEL_AGAIN_MS * 1000000L;
  session->canceller_done = 0;
  session->canceller_running =
      start_thread(session->state, &session->canceller, CANCELLER_STACK,
                   hd_canceller_main, session) == 0;
}

static void close_session(struct HdSession* session) {
  hd_close(&session->control_read);
  hd_close(&session->control_write);
  hd_close(&session->dap_read);
  hd_close(&session->dap_write);
  HD_STORE(session->phase, HD_PHASE_FREE);
}

static void close_all(struct HdFile* files, int count) {
  for (int i = 0; i < count; i++) {
    hd_close(&files[i]);
  }
}

static int start_thread(struct HdState* state,
                        uint64_t* thread,
                        unsigned long stack,
                        void* (*start)(void*),
                        void* argument) {
  uint64_t attributes[16]; /* pthread_attr_t: 56 bytes in glibc and musl */
  int error = 0;
  /* glibc takes the program's thread-local memory from the stack, and says
   * EINVAL where too little is left. */
  do {
    HD_CALL(state, pthread_attr_init, AttrFunction)(attributes);
    HD_CALL(state, pthread_attr_setstacksize, AttrSizeFunction)
    (attributes, stack);
    error = HD_CALL(state, pthread_create, CreateFunction)(thread, attributes,
                                                           start, argument);
    stack *= 4;
  } while (error == 22 /* EINVAL */ && stack <= EXECUTOR_STACK);
  return error;
}

static void join(struct HdState* state, uint64_t thread) {
  HD_CALL(state, pthread_join, JoinFunction)(thread, 0);
}

static int sessions_left(const struct HdState* state) {
  for (int i = 0; i < HD_MAX_SESSIONS; i++) {
    if (state->sessions[i].phase != HD_PHASE_FREE) {
      return 1;
    }
  }
  return 0;
}

/* Where a struct pthread keeps its thread's tid: the libc's secret, but our
 * own thread's is before us (glibc x86-64: 0x2d0, musl: 0x30 or 0x38). The
 * upper half of a pointer, 0x7f.., may look like one: it is never at such a
 * place. */
static uint32_t find_tid_offset(struct HdState* state) {
  const uint64_t self = HD_CALL(state, pthread_self, SelfFunction)();
  const int tid = hd_tid();
  for (uint32_t offset = 16; offset < 1024; offset += 8) {
    if (*(const int*)(self + offset) == tid) {
      return offset;
    }
  }
  return 0;
}
