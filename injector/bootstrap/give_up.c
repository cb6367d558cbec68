/* An evaluation that was cancelled and does not react, since it is inside a C
 * call: its thread moves to a session of its own, whose client has gone, and is
 * cancelled there when that call returns. The client goes on with another
 * executor. What the thread began ends as it does for any client that has gone.
 */
#include "injector/bootstrap/bootstrap.h"

static struct HdSession* free_place(struct HdState* state);
static void move_executor(struct HdSession* from, struct HdSession* to);
static void forget_message(struct HdSession* session);

int hd_give_up(struct HdSession* session, uint32_t message) {
  struct HdSession* const place = free_place(session->state);
  struct HdRunning* const running = session->evaluation;
  uint32_t seen = HD_LOAD(running->cancellable);
  /* Another interpreter's agent belongs to the session; the canceller looks at
   * it. */
  if (!place || !session->executor_running || session->canceller_running ||
      HD_LOAD(session->interpreter) || HD_LOAD(session->messages) != message ||
      seen == HD_NOT_CANCELLABLE ||
      !HD_EXCHANGE(running->cancellable, seen, HD_CANCELLING)) {
    return 0;
  }
  /* Now the thread does not get out of its evaluation. */
  move_executor(session, place);
  forget_message(session);
  const int started = hd_start_executor(session) == 0;
  HD_STORE(running->cancellable, seen);
  return started;
}

static struct HdSession* free_place(struct HdState* state) {
  for (uint32_t i = 0; i < HD_MAX_SESSIONS; i++) {
    if (state->sessions[i].phase == HD_PHASE_FREE) {
      return &state->sessions[i];
    }
  }
  return 0;
}

/* It looks itself up by its pthread_t, and finds the one or the other. */
static void move_executor(struct HdSession* from, struct HdSession* to) {
  hd_session_clear(from->state, (uint32_t)(to - from->state->sessions));
  struct HdRunning* const unused = to->evaluation;
  to->evaluation = from->evaluation;
  to->executor_tid = from->executor_tid;
  to->used_agent = from->used_agent;
  to->lowest_stack = from->lowest_stack;
  to->stage = from->stage;
  HD_STORE(to->executor, from->executor);
  HD_STORE(to->phase, HD_PHASE_LEAVING);
  HD_STORE(to->executor_running, 1);
  HD_STORE(from->executor_running, 0);
  from->executor_tid = 0;
  from->evaluation = unused;
}

static void forget_message(struct HdSession* session) {
  for (uint64_t i = session->taken; i < session->filled; i++) {
    session->buffer[i - session->taken] = session->buffer[i];
  }
  session->filled -= session->taken;
  session->taken = 0;
  session->cancel_for = 0;
  session->stage = HD_EXECUTOR_IDLE;
}
