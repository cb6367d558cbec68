/* An evaluation that was cancelled and does not react, since it is inside a C
 * call: its thread moves to a session of its own, whose client has gone, and is
 * cancelled there when that call returns. The client continues with another
 * executor, which is there before anything is changed. What the thread began
 * ends as it does for any client that has gone. */
#include "injector/bootstrap/bootstrap.h"

static struct HdSession* free_place(struct HdState* state);
static int move_executor(struct HdSession* from,
                         struct HdSession* to,
                         uint64_t spare);
static void forget_message(struct HdSession* session);

int hd_give_up(struct HdSession* session, uint32_t message) {
  struct HdSession* const place = free_place(session->state);
  uint64_t spare = 0;
  if (session->canceller_running) {
    HD_STORE(session->canceller_is_to_end, 1); /* we are asked again */
  }
  /* Another interpreter's agent belongs to the session; the canceller looks at
   * it. */
  if (!place || session->canceller_running || HD_LOAD(session->interpreter) ||
      HD_LOAD(session->messages) != message ||
      !HD_LOAD(session->evaluation->cancellable) ||
      hd_start_spare(session, &spare) != 0) {
    return 0;
  }
  const int moved = move_executor(session, place, spare);
  hd_tell_spare(session, spare, moved);
  return moved;
}

static struct HdSession* free_place(struct HdState* state) {
  for (uint32_t i = 0; i < HD_MAX_SESSIONS; i++) {
    if (state->sessions[i].phase == HD_PHASE_FREE) {
      return &state->sessions[i];
    }
  }
  return 0;
}

/* It looks itself up by its pthread_t, and finds the one or the other. While
 * its evaluation is HD_CANCELLING it does not get out of that, and spins with
 * the GIL: nothing here waits. 0: it has just ended. */
static int move_executor(struct HdSession* from,
                         struct HdSession* to,
                         uint64_t spare) {
  struct HdRunning* const running = from->evaluation;
  uint32_t seen = HD_LOAD(running->cancellable);
  hd_session_clear(from->state, (uint32_t)(to - from->state->sessions));
  while (seen != HD_NOT_CANCELLABLE &&
         !HD_EXCHANGE(running->cancellable, seen, HD_CANCELLING)) {
  }
  if (seen == HD_NOT_CANCELLABLE) {
    return 0;
  }
  from->evaluation = to->evaluation;
  to->evaluation = running;
  to->executor_tid = from->executor_tid;
  to->used_agent = from->used_agent;
  HD_STORE(to->thread_state, from->thread_state);
  to->lowest_stack = from->lowest_stack;
  to->stage = from->stage;
  to->given_up_by = from->index + 1;
  HD_STORE(to->executor, from->executor);
  HD_STORE(to->phase, HD_PHASE_LEAVING);
  HD_STORE(to->executor_running, 1);
  HD_STORE(from->executor, spare);
  from->executor_tid = 0;
  HD_STORE(from->thread_state, 0);
  forget_message(from);
  HD_STORE(running->cancellable, seen);
  return 1;
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

int hd_has_given_up(const struct HdSession* session) {
  int count = 0;
  for (int i = 0; i < HD_MAX_SESSIONS; i++) {
    const struct HdSession* other = &session->state->sessions[i];
    count += HD_LOAD(other->phase) == HD_PHASE_LEAVING &&
             other->given_up_by == session->index + 1 &&
             HD_LOAD(other->executor_running) && !HD_LOAD(other->executor_done);
  }
  return count;
}
