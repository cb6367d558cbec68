/* Without a GIL nobody can look at a thread that runs: so the one that
 * evaluates looks itself, at the very place where Python would raise in it what
 * is set from outside.
 *
 * It owns a few objects, the probes. One that another thread drops is freed by
 * its owner, and hd_look_main called, where that is about to look for an
 * exception
 * (_Py_brc_queue_object in Python/brc.c; _Py_HandlePending in
 * Python/ceval_gil.c). But Python has decided before that whether it will. So
 * the first look sets the exception, and waits until the canceller has dropped
 * another probe: the next look finds both, at one place, and takes the
 * exception away again if that is no place for it.
 *
 * A collection frees a probe too, maybe in another thread: hence a few. */
#include "injector/bootstrap/probes.h"

typedef HdPyObject* (*CapsuleFunction)(void*,
                                       const char*,
                                       void (*)(HdPyObject*));
typedef void* (*PointerFunction)(HdPyObject*, const char*);
typedef unsigned long (*SelfFunction)(void);
typedef void* (*ThreadFunction)(void);
typedef void (*ObjectFunction)(HdPyObject*);
typedef void (*VoidFunction)(void);
typedef void (*FetchFunction)(HdPyObject**, HdPyObject**, HdPyObject**);
typedef void (*RestoreErrorFunction)(HdPyObject*, HdPyObject*, HdPyObject*);
typedef int (*AsyncExcFunction)(unsigned long, HdPyObject*);
typedef void* (*SaveFunction)(void);
typedef void (*RestoreFunction)(void*);

/* Of the canceller and the thread, for each other. */
#define MOMENT_NS 1000000L
/* So long after the canceller was there it may drop another one. */
#define WATCHED_NS 3000000L
#define SECOND_NS 1000000000L
/* What `out` is while the destructor runs. */
#define LOOKING ((HdPyObject*)1)

static void fill(struct HdState* state, struct HdRunning* running);
static HdPyObject* taken(HdPyObject** place);
static void look_in(struct HdState* state,
                    struct HdRunning* running,
                    int was_armed);
static int is_dropped(struct HdRunning* running,
                      uint32_t number,
                      int64_t until);
static int is_clear(struct HdRunning* running);
static void visit(struct HdState* state, struct HdExit* out);
static int is_taken(struct HdVisitor* visitor);
static void lose(struct HdState* state, struct HdRunning* running);
static void find(struct HdState* state, HdPyObject* probe, struct HdExit* out);
static void come_back(struct HdState* state, struct HdRunning* running);
static int disarm(struct HdState* state, struct HdRunning* running);
static int judge(struct HdState* state, struct HdRunning* running);
static int is_claimed(struct HdRunning* running);
static void set_exception(struct HdState* state,
                          struct HdRunning* running,
                          HdPyObject* exception);

void hd_probes_begin(struct HdState* state, struct HdRunning* running) {
  running->cancelled = 0;
  running->raised = 0;
  running->is_armed = 0;
  running->next_drop_at = 0;
  running->lost = 0;
  if (hd_is_free_threaded(state)) {
    fill(state, running);
  }
}

/* What an evaluation has raised is kept. One that a collection has taken out of
 * the queue is not waited for: what is destroyed before it may want a lock. */
void hd_probes_end(struct HdState* state, struct HdRunning* running) {
  if (!hd_is_free_threaded(state)) {
    return;
  }
  HdPyObject* error[3] = {0, 0, 0};
  HD_CALL(state, PyErr_Fetch, FetchFunction)(&error[0], &error[1], &error[2]);
  for (int i = 0; i < HD_PROBES; i++) {
    HdPyObject* probe = taken(&running->probes[i]);
    if (probe) {
      HD_CALL(state, Py_DecRef, ObjectFunction)(probe);
    }
  }
  disarm(state, running);
  const int64_t until = hd_now() + SECOND_NS;
  while (HD_LOAD(running->out) && !hd_python_is_ending(state)) {
    hd_run_loop(state);
    HD_CALL(state, PyErr_Clear, VoidFunction)();
    if (hd_now() > until) {
      lose(state, running);
    }
    if (HD_LOAD(running->out)) {
      hd_nap(state);
    }
  }
  HD_CALL(state, PyErr_Restore, RestoreErrorFunction)
  (error[0], error[1], error[2]);
}

int hd_probes_left(const struct HdState* state) {
  int left = 0;
  for (int i = 0; i < HD_LOST_PROBES; i++) {
    left |= HD_LOAD(state->lost_probes[i]) != 0;
  }
  /* After those: who frees one of them is a visitor before it is none. */
  for (int i = 0; i < HD_MAX_VISITORS; i++) {
    const struct HdVisitor* visitor = &state->visitors[i];
    const uint32_t phase = HD_LOAD(visitor->phase);
    left |= phase == HD_VISITOR_COMES ||
            (phase == HD_VISITOR_LEAVES && !hd_has_left(&visitor->way_out));
  }
  return left;
}

HdPyObject* hd_probe_take(struct HdRunning* running, int may_look) {
  HdPyObject* probe = 0;
  HD_STORE(running->watched_until, hd_now() + WATCHED_NS);
  if (!may_look || HD_LOAD(running->next_drop_at) > hd_now()) {
    return 0;
  }
  for (int i = 0; i < HD_PROBES && !probe && !HD_LOAD(running->out); i++) {
    probe = taken(&running->probes[i]);
  }
  if (probe) {
    HD_STORE(running->takes, running->takes + 1);
    HD_STORE(running->out, probe);
  }
  return probe;
}

void hd_probe_drop(struct HdState* state,
                   struct HdRunning* running,
                   HdPyObject* probe) {
  HD_CALL(state, Py_DecRef, ObjectFunction)(probe);
  HD_STORE(running->drops, running->takes);
  hd_futex_wake(&running->drops);
}

int hd_has_probes(const struct HdRunning* running) {
  int found = HD_LOAD(running->out) != 0;
  for (int i = 0; i < HD_PROBES; i++) {
    found |= HD_LOAD(running->probes[i]) != 0;
  }
  return found;
}

void hd_probes_await(struct HdState* state, uint32_t looks) {
  void* thread = HD_CALL(state, PyEval_SaveThread, SaveFunction)();
  hd_futex_await(&state->looks, looks, hd_now() + MOMENT_NS);
  HD_CALL(state, PyEval_RestoreThread, RestoreFunction)(thread);
}

static void fill(struct HdState* state, struct HdRunning* running) {
  const struct HdApi* api = &state->region->api;
  for (int i = 0; i < HD_PROBES && api->PyCapsule_New; i++) {
    if (!HD_LOAD(running->probes[i])) {
      HdPyObject* probe = HD_CALL(state, PyCapsule_New, CapsuleFunction)(
          running, 0, hd_look_entry);
      HD_CALL(state, PyErr_Clear, VoidFunction)();
      HD_STORE(running->probes[i], probe);
    }
  }
}

static HdPyObject* taken(HdPyObject** place) {
  return __atomic_exchange_n(place, 0, __ATOMIC_ACQ_REL);
}

/* A probe's destructor, which hd_look_entry calls. Also of those that are left
 * at the end. */
void hd_look_main(HdPyObject* probe, struct HdExit* out) {
  struct HdState* state = hd_state();
  struct HdRunning* running =
      HD_CALL(state, PyCapsule_GetPointer, PointerFunction)(probe, 0);
  HdPyObject* seen = probe;
  if (!running || !HD_EXCHANGE(running->out, seen, LOOKING)) {
    find(state, probe, out);
    return;
  }
  const int was_armed = disarm(state, running);
  if (HD_CALL(state, pthread_self, SelfFunction)() != running->thread) {
    visit(state, out);
    HD_STORE(running->next_drop_at,
             hd_now() + (SECOND_NS << running->lost++ % 16));
    come_back(state, running);
  } else if (HD_LOAD(running->cancellable) == HD_NOT_CANCELLABLE) {
    come_back(state, running);
  } else {
    look_in(state, running, was_armed);
  }
}

static void look_in(struct HdState* state,
                    struct HdRunning* running,
                    int was_armed) {
  HdPyObject* error[3] = {0, 0, 0};
  HD_CALL(state, PyErr_Fetch, FetchFunction)(&error[0], &error[1], &error[2]);
  const int raises = was_armed && judge(state, running) && is_claimed(running);
  fill(state, running);
  HD_CALL(state, PyErr_Restore, RestoreErrorFunction)
  (error[0], error[1], error[2]);
  if (raises) {
    HD_STORE(running->raised, 1);
    set_exception(state, running, running->cancelled);
    come_back(state, running);
    return;
  }
  const uint32_t next = HD_LOAD(running->takes) + 1;
  come_back(state, running);
  const int64_t now = hd_now();
  if (HD_LOAD(running->watched_until) < now) {
    return;
  }
  /* Now, so that Python finds both at its next look. Not each time that it
   * could: else in a loop of four places three would never be judged. */
  const int arms = is_clear(running) && (now >> 7 & 1);
  if (arms) {
    HD_STORE(running->is_armed, 1);
    set_exception(state, running, running->cancelled);
  }
  if (!is_dropped(running, next, now + MOMENT_NS) && arms) {
    disarm(state, running);
  }
}

/* Not only that it is about to be: and the one that this look is of may be said
 * to be dropped only now. */
static int is_dropped(struct HdRunning* running,
                      uint32_t number,
                      int64_t until) {
  uint32_t seen = HD_LOAD(running->drops);
  while (seen != number && hd_now() < until) {
    hd_futex_await(&running->drops, seen, until);
    seen = HD_LOAD(running->drops);
  }
  return seen == number;
}

/* What was set or taken away before has left a mark with which Python looks for
 * an exception, maybe right after this look: one that is set now would come up
 * there. It goes with that; but a look in a collection is none of Python's. */
static int is_clear(struct HdRunning* running) {
  const uint32_t marked = HD_LOAD(running->marked);
  HD_STORE(running->marked, marked ? marked - 1 : 0);
  return marked == 0;
}

/* A thread that may be the program's: it says with its last step that it has
 * left. */
static void visit(struct HdState* state, struct HdExit* out) {
  for (int i = 0; i < HD_MAX_VISITORS; i++) {
    if (is_taken(&state->visitors[i])) {
      hd_leave_by(state, &state->visitors[i].way_out, out);
      return;
    }
  }
  HD_STORE(state->must_stay, 1);
}

/* One that has been left is taken again. */
static int is_taken(struct HdVisitor* visitor) {
  uint32_t seen =
      hd_has_left(&visitor->way_out) ? HD_VISITOR_LEAVES : HD_VISITOR_NONE;
  const uint32_t before = seen;
  if (!HD_EXCHANGE(visitor->phase, seen, HD_VISITOR_COMES)) {
    return 0;
  }
  /* Another may have taken it meanwhile, and not left yet. */
  const int is_free =
      before == HD_VISITOR_NONE || hd_has_left(&visitor->way_out);
  if (is_free) {
    visitor->way_out = (struct HdWayOut){0};
  }
  HD_STORE(visitor->phase, HD_VISITOR_LEAVES);
  return is_free;
}

/* At the end of an evaluation: it is out, and not freed. */
static void lose(struct HdState* state, struct HdRunning* running) {
  HdPyObject* probe = HD_LOAD(running->out);
  if (!probe) {
    return;
  }
  if (probe == LOOKING) { /* who does has no CPU */
    HD_STORE(state->must_stay, 1);
    HD_STORE(running->out, 0);
    return;
  }
  int at = 0;
  HdPyObject* none = 0;
  while (at < HD_LOST_PROBES &&
         !HD_EXCHANGE(state->lost_probes[at], none, probe)) {
    none = 0;
    at++;
  }
  const int is_lost = HD_EXCHANGE(running->out, probe, 0);
  if (at == HD_LOST_PROBES) {
    HD_STORE(state->must_stay, 1);
  } else if (!is_lost) {
    HD_STORE(state->lost_probes[at], 0);
  }
}

/* One that was lost is no more. */
static void find(struct HdState* state, HdPyObject* probe, struct HdExit* out) {
  for (int i = 0; i < HD_LOST_PROBES; i++) {
    if (HD_LOAD(state->lost_probes[i]) == probe) {
      visit(state, out);
      HD_STORE(state->lost_probes[i], 0);
    }
  }
}

static void come_back(struct HdState* state, struct HdRunning* running) {
  HD_STORE(running->out, 0);
  __atomic_fetch_add(&state->looks, 1, __ATOMIC_ACQ_REL);
  hd_futex_wake(&state->looks);
}

/* Whether it was. */
static int disarm(struct HdState* state, struct HdRunning* running) {
  const int was = __atomic_exchange_n(&running->is_armed, 0, __ATOMIC_ACQ_REL);
  if (was) {
    set_exception(state, running, 0);
  }
  return was;
}

static int judge(struct HdState* state, struct HdRunning* running) {
  const struct HdStack stack =
      hd_read_stack(state, HD_CALL(state, PyThreadState_Get, ThreadFunction)());
  return hd_may_raise_here(running, &stack);
}

/* While it is HD_CANCELLING the canceller is between two instructions; but it
 * is not there in a process that an expression forks. */
static int is_claimed(struct HdRunning* running) {
  uint32_t seen = HD_CANCELLABLE;
  while (!HD_EXCHANGE(running->cancellable, seen, HD_CANCELLED)) {
    if (seen == HD_CANCELLING) {
      if (hd_is_forked(hd_state())) {
        return 0;
      }
      seen = HD_CANCELLABLE;
    }
  }
  return 1;
}

static void set_exception(struct HdState* state,
                          struct HdRunning* running,
                          HdPyObject* exception) {
  HD_STORE(running->marked, 2);
  HD_CALL(state, PyThreadState_SetAsyncExc, AsyncExcFunction)
  (running->thread, exception);
}
