/* A session's life: it is offered to a client, serves it, is left, and goes.
 * All of this runs in the control thread, but for the first session, which the
 * first thread opens before there is one. */
#include <fcntl.h>
#include <sys/socket.h>

#include "injector/bootstrap/bootstrap.h"
#include "injector/bootstrap/syscalls_x86_64.h"

#define EXECUTOR_STACK (8UL << 20)
#define CANCELLER_STACK (256UL << 10)

typedef int (*CreateFunction)(uint64_t*, void*, void* (*)(void*), void*);
typedef int (*JoinFunction)(uint64_t, void**);
typedef int (*AttrFunction)(void*);
typedef int (*AttrSizeFunction)(void*, unsigned long);

/* HdSession::spare */
enum {
  SPARE_WAITS = 0,
  SPARE_SERVES = 1,
  SPARE_ENDS = 2,
};

static int make_channel(struct HdState* state,
                        struct HdFile ours[2],
                        struct HdFile theirs[2]);
static void* spare_main(void* argument);
static void handle_record(struct HdSession* session,
                          struct HdControlRecord record);
static void say_hello(struct HdSession* session);
static void tell(struct HdSession* session, uint32_t kind, uint32_t value);
static int has_ended(const struct HdSession* session);
static void start_canceller(struct HdSession* session);
static void close_all(struct HdFile* files, int count);
static void join(struct HdState* state, uint64_t thread);

struct HdSession* hd_session_open(struct HdState* state) {
  for (uint32_t i = 0; i < HD_MAX_SESSIONS; i++) {
    struct HdSession* session = &state->sessions[i];
    struct HdOffer* place = &state->region->offers[i];
    if (session->phase != HD_PHASE_FREE) {
      continue;
    }
    hd_session_clear(state, i);
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
    session->control_read = control[0];
    session->control_write = control[1];
    session->dap_read = dap[0];
    session->dap_write = dap[1];
    session->offered_at = hd_now();
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

void hd_session_clear(struct HdState* state, uint32_t index) {
  struct HdSession* session = &state->sessions[index];
  struct HdRunning* const evaluation =
      session->evaluation ? session->evaluation : &state->evaluations[index];
  *evaluation = (struct HdRunning){0};
  const struct HdFile none = {.number = -1};
  *session = (struct HdSession){.state = state,
                                .index = index,
                                .evaluation = evaluation,
                                .control_read = none,
                                .control_write = none,
                                .dap_read = none,
                                .dap_write = none};
}

/* ours[0] reads what theirs[1] writes, and the other way round; with sockets
 * both of a side are one descriptor. */
static int make_channel(struct HdState* state,
                        struct HdFile ours[2],
                        struct HdFile theirs[2]) {
  if (!hd_uses_pipes(state)) {
    int pair[2];
    const int error = hd_make_pair(state, 0, pair);
    if (error) {
      return error;
    }
    ours[0] = ours[1] = hd_file(pair[0]);
    theirs[0] = theirs[1] = hd_file(pair[1]);
    return 0;
  }
  int in[2];
  int out[2];
  int error = hd_make_pair(state, O_NONBLOCK, in);
  if (error) {
    return error;
  }
  error = hd_make_pair(state, O_NONBLOCK, out);
  ours[0] = hd_file(in[0]);
  theirs[1] = hd_file(in[1]);
  if (error) {
    hd_close(&ours[0]);
    hd_close(&theirs[1]);
    return error;
  }
  theirs[0] = hd_file(out[0]);
  ours[1] = hd_file(out[1]);
  return 0;
}

void hd_session_read(struct HdSession* session) {
  for (;;) {
    struct HdControlRecord record;
    const long got = hd_read(&session->control_read, &record, sizeof record);
    if (got == -11 /* EAGAIN */ || got == -4 /* EINTR */) {
      return;
    }
    if (got != sizeof record) { /* gone, or not one of us */
      hd_session_leave(session);
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
    hd_session_leave(session);
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
      HD_STORE(session->cancel_for, record.value);
      session->cancel_again_at = 0;
      break; /* look_after starts the canceller */
    case HD_CONTROL_GIVE_UP:
      tell(session, HD_CONTROL_GIVEN_UP,
           (uint32_t)hd_give_up(session, record.value));
      break;
    default:
      hd_session_leave(session);
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
  /* Set before it runs: it looks itself up by these. */
  HD_STORE(session->executor_running, 1);
  const int error = hd_start_thread(state, &session->executor, EXECUTOR_STACK,
                                    hd_executor_main, session);
  if (error) {
    HD_STORE(session->executor_running, 0);
    tell(session, HD_CONTROL_ERROR, (uint32_t)error);
    hd_session_leave(session);
    return;
  }
  tell(session, HD_CONTROL_STAGE, HD_EXECUTOR_IDLE);
}

int hd_start_spare(struct HdSession* session, uint64_t* thread) {
  HD_STORE(session->spare, SPARE_WAITS);
  return hd_start_thread(session->state, thread, EXECUTOR_STACK, spare_main,
                         session);
}

void hd_tell_spare(struct HdSession* session,
                   uint64_t thread,
                   int is_executor) {
  HD_STORE(session->spare, is_executor ? SPARE_SERVES : SPARE_ENDS);
  if (!is_executor) {
    join(session->state, thread);
  }
}

static void* spare_main(void* argument) {
  struct HdSession* session = argument;
  while (HD_LOAD(session->spare) == SPARE_WAITS) {
    hd_poll(-1, 0, 1);
  }
  return HD_LOAD(session->spare) == SPARE_SERVES ? hd_executor_main(session)
                                                 : 0;
}

static void tell(struct HdSession* session, uint32_t kind, uint32_t value) {
  const struct HdControlRecord record = {kind, value};
  /* A client that asks and does not read loses the answer. */
  hd_write(&session->control_write, &record, sizeof record);
}

void hd_session_leave(struct HdSession* session) {
  if (session->phase == HD_PHASE_OFFERED) {
    HD_STORE(session->state->region->offers[session->index].nonce, 0);
    close_all(session->theirs, 4);
  }
  HD_STORE(session->phase, HD_PHASE_LEAVING);
  hd_held_wake(session);
  if (!hd_uses_pipes(session->state) && hd_is_ours(&session->dap_read)) {
    hd_syscall(SYS_shutdown, session->dap_read.number, SHUT_RDWR, 0, 0, 0, 0);
  }
}

/* Its offer, if not taken; what runs for it, if that is to be cancelled; its
 * threads, when they are done. */
void hd_session_look_after(struct HdSession* session) {
  struct HdState* state = session->state;
  if (session->phase == HD_PHASE_OFFERED &&
      hd_now() > session->offered_at + HD_OFFER_NS) {
    hd_session_leave(session);
  }
  if (session->canceller_running && HD_LOAD(session->canceller_done)) {
    join(state, session->canceller);
    session->canceller_running = 0;
  }
  if (session->executor_running && HD_LOAD(session->executor_done)) {
    join(state, session->executor);
    HD_STORE(session->executor_running, 0);
    if (session->phase == HD_PHASE_LIVE) {
      hd_session_leave(session);
    }
  }
  if (session->executor_running && has_ended(session)) {
    HD_STORE(state->must_stay, 1);
    HD_STORE(state->lost_executor, 1);
    hd_forget_frames(session);
    HD_STORE(session->executor_running, 0);
    hd_session_leave(session);
  }
  if (hd_has_to_cancel(session) && session->executor_running &&
      !session->canceller_running && hd_now() >= session->cancel_again_at) {
    start_canceller(session);
  }
  /* Those that it gave up may still hold a pointer to it. */
  if (session->phase == HD_PHASE_LEAVING && !session->executor_running &&
      !session->canceller_running && !hd_has_given_up(session)) {
    hd_session_close(session);
  }
}

int hd_has_to_cancel(const struct HdSession* session) {
  return (hd_wants_cancel(session) &&
          HD_LOAD(session->evaluation->cancellable)) ||
         (hd_is_leaving(session) && hd_held_debugged(session));
}

/* By a pthread_exit in an expression, and not as it should. Its PyThreadState
 * is still there: so it is not joined, and its stack stays.
 */
static int has_ended(const struct HdSession* session) {
  const int* tid = HD_LOAD(session->executor_tid);
  return tid && HD_LOAD(*tid) == 0 && !HD_LOAD(session->executor_done);
}

static void start_canceller(struct HdSession* session) {
  session->cancel_again_at = hd_now() + HD_CANCEL_AGAIN_MS * 1000000L;
  session->canceller_done = 0;
  session->canceller_is_to_end = 0;
  session->canceller_running =
      hd_start_thread(session->state, &session->canceller, CANCELLER_STACK,
                      hd_canceller_main, session) == 0;
}

void hd_session_close(struct HdSession* session) {
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

int hd_start_thread(struct HdState* state,
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
