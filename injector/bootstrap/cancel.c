/* Cancelled, raised in what still runs for a client: an expression; when the
 * client has gone, also what it debugs.
 *
 * An exception that comes from outside may come after a lock was taken and
 * before the `try` that gives it back: then it stays taken for ever, and the
 * program hangs for what we did. Functions of Python take locks for others so
 * (Handler.acquire in Lib/logging, Condition.__enter__ in Lib/threading.py). So
 * with the GIL we look where the thread stands before it is raised, and look
 * again where that is no place for it (docs/decisions/0128).
 *
 * Where does it come up? Python looks for it (eval_breaker in Python/ceval.c)
 * up to 3.9 after each instruction, from 3.10 on at the beginning of a
 * function, after a call of C and after each round of a loop. A thread that
 * gave up the GIL when it was asked to looks for it, up to 3.12, once it has it
 * again; from 3.13 on that was asked before, and it comes up at the next such
 * place, be it in a caller. One that gave up the GIL for what a C function
 * does: after that call.
 *
 * Without a GIL the thread looks itself: probes.c. */
#include "injector/bootstrap/probes.h"
#include "injector/bootstrap/syscalls_x86_64.h"

typedef int (*AsyncExcFunction)(unsigned long, HdPyObject*);
typedef void* (*SaveFunction)(void);
typedef void (*RestoreFunction)(void*);

/* For a plain place; after that another will do at which nothing is lost; then
 * any where no lock is named; then any. */
#define PATIENCE_NS 150000000L
#define LONG_PATIENCE_NS 10000000000L
#define LONGEST_PATIENCE_NS 60000000000L
#define WORK_NS 5000000L /* of CPU time, since it has been there */
/* So long at one instruction, and nobody had the GIL; or so long, and computing
 * for less than one part in so many: it is in a C function. */
#define STEADY_NS 50000000L
#define LONG_STEADY_NS 400000000L
#define IDLE 20
#define USUAL 20 /* looks */
/* One run of the canceller, the first and each later one. In between the client
 * may give it up. */
#define RUN_NS 400000000L
#define LATER_RUN_NS 40000000L
/* Less than Python's switch interval: nobody was asked to give up the GIL. */
#define AT_ONCE_NS 2000000L

static int cancel(struct HdSession* session,
                  struct HdRunning* running,
                  uint32_t interpreter,
                  int was_free);
static int wait_for_gil(struct HdSession* session);
static int may_look(struct HdSession* session, struct HdRunning* running);
static int may_raise(struct HdSession* session,
                     struct HdRunning* running,
                     int was_free);
static int comes_up_here(const struct HdState* state,
                         const struct HdStack* stack,
                         int is_steady);
static int is_steady(struct HdSession* session,
                     struct HdRunning* running,
                     const struct HdStack* stack,
                     int was_free);
static int is_usual(struct HdRunning* running, const struct HdStack* stack);
static int is_good(struct HdRunning* running,
                   const struct HdStack* stack,
                   int steady,
                   int is_exact);
static int64_t cpu_time(struct HdSession* session, struct HdRunning* running);
static int set_collecting(struct HdState* state, int on);

void* hd_canceller_main(void* argument) {
  struct HdSession* session = argument;
  struct HdState* state = session->state;
  hd_name_thread(HD_CANCEL_THREAD_NAME);
  struct HdEntry entry;
  if (!hd_python_is_ending(state) && hd_enter(session, &entry)) {
    const int64_t end = hd_now() + RUN_NS;
    const int64_t later_end = hd_now() + LATER_RUN_NS;
    int was_free = 0;
    for (;;) {
      const uint32_t looks = HD_LOAD(state->looks);
      int waits =
          cancel(session, session->evaluation, entry.interpreter, was_free);
      for (int i = 0; i < HD_MAX_HELD; i++) {
        struct HdHeld* held = &state->held[i];
        if (held->session == session->index) {
          waits |=
              cancel(session, &held->debugged, entry.interpreter, was_free);
        }
      }
      const int64_t since = session->evaluation->wanted_since;
      const int is_later = since && hd_now() - since > RUN_NS;
      if (!waits || hd_now() > (is_later ? later_end : end) ||
          HD_LOAD(session->canceller_is_to_end)) {
        break;
      }
      if (hd_is_free_threaded(state)) {
        hd_probes_await(state, looks);
      } else {
        was_free = wait_for_gil(session);
      }
      if (hd_python_is_ending(state)) {
        break;
      }
    }
    hd_exit(session, entry);
  }
  HD_STORE(session->canceller_done, 1);
  hd_wake_control(state);
  return 0;
}

/* Whether to look again. While it is HD_CANCELLING the thread does not get out
 * of such code; before, the executor may have moved on to another message, or
 * another interpreter than ours. */
static int cancel(struct HdSession* session,
                  struct HdRunning* running,
                  uint32_t interpreter,
                  int was_free) {
  struct HdState* state = session->state;
  uint32_t seen = HD_LOAD(running->cancellable);
  if (seen == HD_NOT_CANCELLABLE ||
      !HD_EXCHANGE(running->cancellable, seen, HD_CANCELLING)) {
    return 0;
  }
  HdPyObject* cancelled = HD_LOAD(session->interpreter) == interpreter
                              ? hd_agent(session)->cancelled_class
                              : 0;
  const int is_to_end = running == session->evaluation
                            ? hd_wants_cancel(session)
                            : hd_is_leaving(session);
  const int raised = __atomic_exchange_n(&running->raised, 0, __ATOMIC_ACQ_REL);
  const int wanted = cancelled && is_to_end && !raised;
  HdPyObject* const probe =
      wanted && hd_is_free_threaded(state)
          ? hd_probe_take(running, may_look(session, running))
          : 0;
  const int raises = wanted && may_raise(session, running, was_free);
  if (probe) {
    running->cancelled = cancelled;
  }
  if (raises) {
    HD_CALL(state, PyThreadState_SetAsyncExc, AsyncExcFunction)
    (running->thread, cancelled);
    seen = HD_CANCELLED;
  }
  if (raises || raised) {
    running->wanted_since = 0; /* what cleans up after it has its time */
  }
  HD_STORE(running->cancellable, seen);
  if (probe) {
    hd_probe_drop(state, running, probe);
  }
  if (raises) {
    hd_take_flag(state, cancelled);
  }
  return wanted && !raises;
}

/* A moment without it. Whether it was free and came at once. */
static int wait_for_gil(struct HdSession* session) {
  struct HdState* state = session->state;
  void* thread = HD_CALL(state, PyEval_SaveThread, SaveFunction)();
  hd_poll(-1, 0, 1);
  const int64_t begun = hd_now();
  const int was_free = hd_gil_is_free(session);
  HD_CALL(state, PyEval_RestoreThread, RestoreFunction)(thread);
  return was_free && hd_now() - begun < AT_ONCE_NS;
}

/* Without a GIL. One that is blocked may be for long, and the program collects
 * its probe. */
static int may_look(struct HdSession* session, struct HdRunning* running) {
  const int64_t cpu = cpu_time(session, running);
  const int moves = cpu < 0 || cpu != running->seen_cpu;
  running->seen_cpu = cpu;
  return moves;
}

int hd_may_raise_here(struct HdRunning* running, const struct HdStack* stack) {
  const int64_t waited = hd_now() - running->wanted_since;
  return stack->place == HD_PLAIN ||
         (waited > PATIENCE_NS && is_good(running, stack, 0, 1)) ||
         (waited > LONG_PATIENCE_NS && stack->place <= HD_CATCHES) ||
         waited > LONGEST_PATIENCE_NS;
}

/* Without a GIL only where it cannot look itself. */
static int may_raise(struct HdSession* session,
                     struct HdRunning* running,
                     int was_free) {
  struct HdState* state = session->state;
  const struct HdApi* api = &state->region->api;
  const int64_t now = hd_now();
  if (!running->wanted_since) {
    running->wanted_since = now;
  }
  if (hd_is_free_threaded(state)) {
    return !api->PyCapsule_New ||
           (!hd_has_probes(running) &&
            now - running->wanted_since > LONGEST_PATIENCE_NS);
  }
  void* thread =
      running->thread == session->executor ? HD_LOAD(session->thread_state) : 0;
  if (!thread && !session->interpreter) {
    thread = (void*)hd_thread_state(state, running->thread);
  }
  if (!thread) {
    return 1;
  }
  const int collects = set_collecting(state, 0);
  const struct HdStack stack = hd_read_stack(state, thread);
  set_collecting(state, collects);
  const int steady = is_steady(session, running, &stack, was_free);
  const int here = comes_up_here(state, &stack, steady);
  const int64_t waited = now - running->wanted_since;
  if (stack.place == HD_PLAIN && (here || stack.callers == HD_PLAIN)) {
    return 1;
  }
  if (waited > PATIENCE_NS && here &&
      is_good(running, &stack, steady, !api->cancels_later)) {
    return 1;
  }
  /* One that names a lock may be about to get it. But it is not to go from wait
   * to wait for ever. */
  const int moves = cpu_time(session, running) > running->seen_cpu + WORK_NS;
  return (waited > LONG_PATIENCE_NS && stack.place <= HD_CATCHES &&
          stack.callers <= HD_CATCHES) ||
         (waited > LONGEST_PATIENCE_NS && (moves || !steady));
}

/* Where the function is not plain. */
static int is_good(struct HdRunning* running,
                   const struct HdStack* stack,
                   int steady,
                   int is_exact) {
  if (stack->is_wait) {
    return stack->is_call && (steady || is_usual(running, stack));
  }
  return stack->place == HD_CATCHES
             ? stack->is_call || stack->is_after_round || stack->is_first
             : is_exact && stack->is_after_round;
}

static int comes_up_here(const struct HdState* state,
                         const struct HdStack* stack,
                         int is_steady) {
  if (state->region->api.cancels_later) {
    return is_steady && stack->is_call;
  }
  return hd_looks_anywhere(state) || stack->is_call || stack->is_after_round ||
         stack->is_first;
}

/* For a while, at each look, it has been at that instruction, and nobody had
 * the GIL; or for longer, and it has hardly computed. One that waits for the
 * GIL gets it in between. */
static int is_steady(struct HdSession* session,
                     struct HdRunning* running,
                     const struct HdStack* stack,
                     int was_free) {
  const int64_t now = hd_now();
  const int64_t cpu = cpu_time(session, running);
  if (stack->code != running->seen_code || stack->at != running->seen_at) {
    running->seen_code = stack->code;
    running->seen_at = stack->at;
    running->seen_since = running->free_since = now;
    running->seen_cpu = cpu;
  }
  if (!was_free) {
    running->free_since = now;
  }
  const int64_t seen = now - running->seen_since;
  return now - running->free_since > STEADY_NS ||
         (seen > LONG_STEADY_NS && cpu >= 0 && running->seen_cpu >= 0 &&
          (cpu - running->seen_cpu) * IDLE < seen);
}

/* Seen there oftener than elsewhere, and again and again: of several calls it
 * is the one that blocks. */
static int is_usual(struct HdRunning* running, const struct HdStack* stack) {
  if (stack->code == running->usual_code && stack->at == running->usual_at) {
    return ++running->usual >= USUAL;
  }
  if (--running->usual < 0) {
    running->usual_code = stack->code;
    running->usual_at = stack->at;
    running->usual = 1;
  }
  return 0;
}

/* In ns; -1 where it cannot be had. */
static int64_t cpu_time(struct HdSession* session, struct HdRunning* running) {
  const int* const at = HD_LOAD(session->executor_tid);
  const int tid = at && running->thread == session->executor ? HD_LOAD(*at) : 0;
  int64_t time[2] = {0, 0};
  /* CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED (kernel/time/posix-cpu-timers.c).
   */
  if (tid <= 0 ||
      hd_syscall(SYS_clock_gettime, (long)(int)(~(unsigned)tid << 3 | 6),
                 (long)time, 0, 0, 0, 0) != 0) {
    return -1;
  }
  return time[0] * 1000000000L + time[1];
}

/* 3.11 makes objects for the frames that we ask for, and each may begin a
 * collection, in which code of the program runs that gives up the GIL. */
static int set_collecting(struct HdState* state, int on) {
  typedef int (*CollectFunction)(void);
  const struct HdApi* api = &state->region->api;
  if (!api->PyGC_Disable || !api->PyGC_Enable) {
    return 0;
  }
  return on ? HD_CALL(state, PyGC_Enable, CollectFunction)()
            : HD_CALL(state, PyGC_Disable, CollectFunction)();
}
