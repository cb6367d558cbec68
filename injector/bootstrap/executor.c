/* A session's thread: takes one message after the other off the DAP channel,
 * waits for the GIL, lets the agent answer, writes the answer.
 *
 * PyGILState_Ensure cannot time out and cannot be left, so the executor does
 * not enter it while the GIL is held: it watches the GIL's own word until that
 * is 0, or until the injector - which sees out of process whether the holder
 * makes progress in Python and so will release it on request - says "enter
 * now". A client that leaves in between costs the target nothing. */
#include <poll.h>

#include "injector/bootstrap/bootstrap.h"
#include "injector/bootstrap/syscalls_x86_64.h"

typedef int (*BytesFunction)(HdPyObject*, char**, long*);
typedef void (*ObjectFunction)(HdPyObject*);
typedef int (*FlagFunction)(void);

/* For how long a leaving executor keeps an eye on the GIL before it queues. */
#define FAREWELL_NS 1000000000L
#define SPINS 200

static int serve_one(struct HdSession* session);
static int answer(struct HdSession* session, const char* body, uint64_t size);
static struct HdSession* own_session(struct HdState* state);
static void say(struct HdSession* session, const char* what);
static void say_failure(struct HdSession* session);
static int take_gil(struct HdSession* session, struct HdEntry* entry);
static int begin_change(struct HdSession* session);
static void end_change(struct HdSession* session);
static void say_not_entered(struct HdSession* session);
static void detach_handshake(struct HdSession* session);
static void leave_interpreter(struct HdSession* session);
static int gil_may_be_taken(struct HdSession* session, int64_t queue_at);
static void say_done(struct HdSession* session, uint32_t* flag);

/* The libc needs that at the end of a thread, also of one that an expression
 * ends: until hd_forget_frames the frames below must be as they were. */
#define WRITTEN_OVER 8192

void* hd_executor_main(void* argument) {
  struct HdSession* session = argument;
  char written_over[WRITTEN_OVER];
  __asm__ volatile("" : : "r"(written_over) : "memory"); /* it is used */
  typedef uint64_t (*SelfFunction)(void);
  /* musl writes it for pthread_create's caller only after we run. */
  session->executor = HD_CALL(session->state, pthread_self, SelfFunction)();
  if (session->state->tid_offset) {
    HD_STORE(session->executor_tid,
             (int*)(session->executor + session->state->tid_offset));
  }
  hd_name_thread(HD_EXECUTOR_THREAD_NAME);
  while (serve_one(session)) {
  }
  session = own_session(session->state);
  detach_handshake(session);
  hd_free_buffer(session);
  say_done(session, &session->executor_done);
  return 0;
}

static int serve_one(struct HdSession* session) {
  const char* body = 0;
  uint64_t size = 0;
  uint64_t taken = 0;
  HD_STORE(session->stage, HD_EXECUTOR_IDLE);
  const int read = hd_read_message(session, &body, &size, &taken);
  if (read < 0) {
    say(session, "the target has no memory for the request");
  }
  if (read <= 0) {
    return 0;
  }
  HD_STORE(session->messages, session->messages + 1);
  const uint32_t wanted = HD_LOAD(session->wanted);
  if (wanted != session->interpreter) {
    leave_interpreter(session);
    HD_STORE(session->interpreter, wanted);
  }
  session->taken = taken;
  if (!answer(session, body, size)) {
    return 0;
  }
  for (uint64_t i = taken; i < session->filled; i++) {
    session->buffer[i - taken] = session->buffer[i];
  }
  session->filled -= taken;
  return 1;
}

static int answer(struct HdSession* session, const char* body, uint64_t size) {
  struct HdState* state = session->state;
  struct HdEntry entry;
  if (!take_gil(session, &entry)) {
    return 0;
  }
  HD_STORE(session->thread_state, entry.thread);
  HdPyObject* reply = 0;
  char* text = 0;
  long length = 0;
  const int loaded = hd_agent_load(session);
  session->used_agent |= loaded && !session->interpreter;
  end_change(session);
  hd_make_room(session);
  if (loaded) {
    reply = hd_agent_handle(session, body, size);
  }
  session = own_session(state);
  /* Written without the GIL and from a copy: to take the GIL a second time,
   * only to drop the object, might be to wait for ever. */
  char* copy = 0;
  if (reply && HD_CALL(state, PyBytes_AsStringAndSize, BytesFunction)(
                   reply, &text, &length) == 0) {
    copy = hd_map((uint64_t)length + 1);
    for (long i = 0; copy && i < length; i++) {
      copy[i] = text[i];
    }
  }
  if (reply) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(reply);
  }
  HD_STORE(session->thread_state, 0);
  hd_exit(session, entry);
  HD_STORE(session->stage, HD_EXECUTOR_REPLIES);
  if (!copy) {
    if (reply) {
      say(session, "the target has no memory for the answer");
    } else {
      say_failure(session);
    }
    return 0;
  }
  hd_begin_message(session);
  const int sent = hd_write_all(session, copy, (uint64_t)length);
  hd_end_message(session);
  hd_unmap(copy, (uint64_t)length + 1);
  return sent;
}

/* Another than before if it was given up meanwhile (give_up.c): that one's
 * client has gone. */
static struct HdSession* own_session(struct HdState* state) {
  typedef uint64_t (*SelfFunction)(void);
  return hd_executors_session(state,
                              HD_CALL(state, pthread_self, SelfFunction)());
}

static void say(struct HdSession* session, const char* what) {
  char* failure = session->state->failure;
  do {
    *failure++ = *what;
  } while (*what++);
  say_failure(session);
}

/* An event in place of the answer that there will not be. */
static void say_failure(struct HdSession* session) {
  static const char kBefore[] =
      "{\"type\":\"event\",\"seq\":1,\"event\":\"hangdbg/failure\","
      "\"body\":{\"reason\":\"";
  static const char kAfter[] = "\"}}";
  char* text = session->state->failure;
  uint64_t size = 0;
  for (; text[size]; size++) {
    const unsigned char c = (unsigned char)text[size];
    if (c < ' ' || c == '"' || c == '\\') {
      text[size] = '\'';
    }
  }
  uint64_t total = sizeof kBefore - 1 + size + sizeof kAfter - 1;
  char header[] = "Content-Length: 0000\r\n\r\n";
  for (int i = 19; i >= 16; i--, total /= 10) {
    header[i] = (char)('0' + total % 10);
  }
  hd_begin_message(session);
  hd_write_all(session, header, sizeof header - 1);
  hd_write_all(session, kBefore, sizeof kBefore - 1);
  hd_write_all(session, text, size);
  hd_write_all(session, kAfter, sizeof kAfter - 1);
  hd_end_message(session);
}

/* With the GIL, and with the agent for us to change: another executor may be in
 * the middle of loading it. 0 when the client has gone, or the interpreter
 * has. */
static int take_gil(struct HdSession* session, struct HdEntry* entry) {
  for (;;) {
    if (!hd_may_enter(session)) {
      return 0;
    }
    HD_STORE(session->stage, HD_EXECUTOR_TAKES_GIL);
    if (!hd_enter(session, entry)) {
      say_not_entered(session);
      return 0;
    }
    if (hd_is_leaving(session)) { /* while we queued */
      hd_exit(session, *entry);
      return 0;
    }
    if (begin_change(session)) {
      HD_STORE(session->stage, HD_EXECUTOR_IN_PYTHON);
      return 1;
    }
    hd_exit(session, *entry);
    hd_poll(-1, 0, 1);
  }
}

int hd_may_enter(struct HdSession* session) {
  HD_STORE(session->stage, HD_EXECUTOR_WATCHES_GIL);
  return gil_may_be_taken(session, 0);
}

/* Running its source may release the GIL, where there is one. A caller that
 * fails must leave Python before the next try. */
static int begin_change(struct HdSession* session) {
  uint32_t seen = 0;
  return HD_EXCHANGE(hd_agent(session)->changing, seen, 1);
}

static void end_change(struct HdSession* session) {
  HD_STORE(hd_agent(session)->changing, 0);
}

static void say_not_entered(struct HdSession* session) {
  say(session, HD_LOAD(session->interpreter)
                   ? "the thread's interpreter has ended"
                   : "the target has no memory for a thread of ours");
}

/* Clears the agent up if this was its last user. However long that takes: the
 * region must outlive the agent's objects, and while we wait here a following
 * client finds an agent to join. Only where the interpreter ends they stay. */
static void detach_handshake(struct HdSession* session) {
  struct HdState* state = session->state;
  struct HdEntry entry;
  hd_held_end(session);
  /* What follows pauses the program, for as long as one of ours is in a C call
   * that does not let it. */
  while (hd_is_free_threaded(state) && hd_has_given_up(session)) {
    hd_poll(-1, 0, HD_CANCEL_AGAIN_MS);
  }
  leave_interpreter(session);
  if (!session->used_agent ||
      !gil_may_be_taken(session, hd_now() + FAREWELL_NS) ||
      !hd_enter(session, &entry)) {
    return;
  }
  hd_agent_forget(session);
  while (!begin_change(session)) {
    hd_exit(session, entry);
    hd_poll(-1, 0, 1);
    if (!hd_enter(session, &entry)) {
      return;
    }
  }
  /* An executor without a detach handshake has not forgotten what calls the
   * agent. */
  int last = !HD_LOAD(state->lost_executor);
  for (int i = 0; i < HD_MAX_SESSIONS; i++) {
    const struct HdSession* other = &state->sessions[i];
    if (other != session && HD_LOAD(other->executor_running) &&
        other->used_agent && !HD_LOAD(other->executor_done)) {
      last = 0;
    }
  }
  if (last) {
    hd_agent_unload(session);
  }
  session->used_agent = 0;
  end_change(session);
  hd_exit(session, entry);
}

/* Back to the main interpreter. If the other one has ended, what we had there
 * ended with it, but for what others may have kept. */
static void leave_interpreter(struct HdSession* session) {
  if (!session->interpreter) {
    return;
  }
  struct HdEntry entry;
  if (hd_agent(session)->globals) {
    if (gil_may_be_taken(session, hd_now() + FAREWELL_NS) &&
        hd_enter(session, &entry)) {
      hd_agent_unload(session);
      hd_exit(session, entry);
    } else {
      *hd_agent(session) = (struct HdAgent){0};
      HD_STORE(session->state->must_stay, 1);
    }
  }
  HD_STORE(session->interpreter, 0);
}

/* Waits until the GIL is free, or we were told to enter, or `queue_at` (unless
 * 0) has passed: then the caller waits in a blocking acquire. 0: the
 * interpreter is ending, or the client has gone, which with `queue_at` is
 * known. Without a GIL nothing then checks whether a pause is possible. */
static int gil_may_be_taken(struct HdSession* session, int64_t queue_at) {
  struct HdState* state = session->state;
  for (int i = 0;; i++) {
    if (hd_python_is_ending(state)) {
      return 0;
    }
    if (hd_gil_is_free(session) || hd_is_let_in(session) ||
        (queue_at && (hd_now() > queue_at || hd_is_free_threaded(state)))) {
      return 1;
    }
    if (!queue_at && hd_is_leaving(session)) {
      return 0;
    }
    if (i < SPINS && !(state->region->forbidden & HD_FORBIDS_YIELD)) {
      hd_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
    } else if (hd_poll(queue_at ? -1 : session->dap_read.number, 0, 1) > 0) {
      return 0; /* hung up */
    }
  }
}

int hd_python_is_ending(struct HdState* state) {
  const uint64_t word = state->region->api.gil_locked;
  if (word && __atomic_load_n((int*)word, __ATOMIC_ACQUIRE) < 0) {
    return 1; /* there is no GIL any more: Py_Finalize has been called */
  }
  return state->region->api.is_finalizing &&
         HD_CALL(state, is_finalizing, FlagFunction)();
}

/* The thread's last touch of the region but for its way out, which the join
 * in sessions.c waits for. */
static void say_done(struct HdSession* session, uint32_t* flag) {
  HD_STORE(*flag, 1);
  hd_wake_control(session->state);
}
