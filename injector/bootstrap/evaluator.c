/* The frame evaluator (PEP 523): every frame that begins, or a generator that
 * resumes, comes through here, in all threads of the interpreter.
 *
 * A frame whose code has breakpoints is traced, and what it calls is not: so
 * code without costs a look into a table a call, and a loop nothing. Where
 * nothing changes, the way on is a jump, and no frame of ours is on the stack.
 * Where it does, ours is, and puts it back afterwards; if the breakpoints are
 * others by then, or none, it returns and does nothing. The region stays for
 * that (`frames`).
 *
 * Dynamo's evaluator is there while a thread runs a function that torch.compile
 * has compiled. It takes the one before it for what is below it and what is to
 * be put back: on top of it ours would be lost, or, with a second thread, be
 * called by what it calls. So ours waits until Dynamo's is gone; and where we
 * leave with Dynamo's on top of ours, ours goes by itself, at the first call
 * after Dynamo's has gone. */
#include "injector/bootstrap/tracing.h"

typedef HdPyObject* (*Evaluator)(void*, void*, int);
typedef HdPyObject* (*OldEvaluator)(void*, int); /* up to 3.8 */
typedef void* (*ThreadFunction)(void);
typedef uint64_t (*GetFunction)(void*);
typedef void (*SetFunction)(void*, uint64_t);

enum Change {
  AS_IT_IS,
  TRACE,
  DO_NOT_TRACE,
  RAISE, /* in the frame, what classify has raised */
};

static HdPyObject* evaluate(void* thread, void* frame, int throwing);
static HdPyObject* evaluate_old(void* frame, int throwing);
static int is_fine(const struct HdState* state,
                   const void* thread,
                   const void* frame);
static HdPyObject* look_and_evaluate(struct HdState* state,
                                     void* thread,
                                     void* frame,
                                     int throwing);
static enum Change needed_change(struct HdState* state,
                                 void* thread,
                                 uint64_t code);
static HdPyObject* evaluate_changed(struct HdState* state,
                                    void* thread,
                                    void* frame,
                                    int throwing,
                                    enum Change what);
static uint64_t ours(const struct HdState* state);
static uint64_t current(struct HdState* state);
static void put(struct HdState* state, uint64_t evaluator);
static uint64_t* place(struct HdState* state);
static void* interpreter(struct HdState* state);

/* As in 3.9 and later. */
static HdPyObject* evaluate(void* thread, void* frame, int throwing) {
  struct HdState* state = hd_state();
  return is_fine(state, thread, frame)
             ? ((Evaluator)state->breaks.evaluator)(thread, frame, throwing)
             : look_and_evaluate(state, thread, frame, throwing);
}

static HdPyObject* evaluate_old(void* frame, int throwing) {
  struct HdState* state = hd_state();
  void* thread = HD_CALL(state, PyThreadState_Get, ThreadFunction)();
  return is_fine(state, thread, frame)
             ? ((OldEvaluator)state->breaks.evaluator)(frame, throwing)
             : look_and_evaluate(state, thread, frame, throwing);
}

/* Whether nothing is to be done, nearly always: each call pays for this. In a
 * trace function nothing is traced. */
static inline int is_fine(const struct HdState* state,
                          const void* thread,
                          const void* frame) {
  if (!state->breaks.on_line) {
    return 0;
  }
  if (HD_FIELD(state, thread, thread_tracing, int) > 0) {
    return 1;
  }
  const struct HdAnswer* answer =
      hd_answer(state, HD_FIELD(state, frame, frame_code, uint64_t));
  return answer &&
         (answer->lines || hd_traces_all(state)) == hd_is_traced(state, thread);
}

static __attribute__((noinline)) HdPyObject* look_and_evaluate(
    struct HdState* state,
    void* thread,
    void* frame,
    int throwing) {
  enum Change what = AS_IT_IS;
  if (state->breaks.on_line) {
    what = needed_change(state, thread,
                         HD_FIELD(state, frame, frame_code, uint64_t));
  } else {
    hd_evaluator_remove(state);
  }
  if (what == TRACE || what == DO_NOT_TRACE) {
    return evaluate_changed(state, thread, frame, throwing, what);
  }
  const int raises = throwing | (what == RAISE);
  const uint64_t next = state->breaks.evaluator;
  return state->region->api.set_evaluator
             ? ((Evaluator)next)(thread, frame, raises)
             : ((OldEvaluator)next)(frame, raises);
}

/* A thread that is stepped stays traced. */
static enum Change needed_change(struct HdState* state,
                                 void* thread,
                                 uint64_t code) {
  if (!hd_answer(state, code) && !hd_ask(state, code)) {
    return RAISE;
  }
  const struct HdAnswer* answer = hd_answer(state, code);
  if (hd_is_always_traced(state, thread)) {
    hd_trace_thread(state, thread, HD_TRACED_FOR_STACK);
    return AS_IT_IS;
  }
  const int breaks = answer && answer->lines;
  if (breaks == hd_is_traced(state, thread)) {
    return AS_IT_IS;
  }
  return breaks ? TRACE
         : hd_is_stepped(state, HD_FIELD(state, thread, thread_ident, uint64_t))
             ? AS_IT_IS
             : DO_NOT_TRACE;
}

static __attribute__((noinline)) HdPyObject* evaluate_changed(
    struct HdState* state,
    void* thread,
    void* frame,
    int throwing,
    enum Change what) {
  struct HdBreaks* breaks = &state->breaks;
  const enum HdTracing before = hd_tracing_of(state, thread);
  const uint32_t generation = breaks->generation;
  const uint64_t next = breaks->evaluator;
  breaks->frames++;
  hd_trace_thread(state, thread,
                  what == TRACE ? HD_TRACED_FOR_CALL : HD_NOT_TRACED);
  HdPyObject* result = state->region->api.set_evaluator
                           ? ((Evaluator)next)(thread, frame, throwing)
                           : ((OldEvaluator)next)(frame, throwing);
  if (generation == breaks->generation &&
      !hd_is_stepped(state, HD_FIELD(state, thread, thread_ident, uint64_t))) {
    hd_trace_thread(state, thread, before);
  }
  breaks->frames--;
  return result;
}

int hd_evaluator_set(struct HdState* state) {
  struct HdBreaks* breaks = &state->breaks;
  const uint64_t now = current(state);
  breaks->waits = 0;
  if (now == ours(state) || (breaks->is_set && now != breaks->evaluator)) {
    return 1; /* or one that was put before ours */
  }
  if (!state->region->api.set_evaluator &&
      now != state->region->api.default_evaluator) {
    return 0;
  }
  if (hd_is_dynamos(state, now)) {
    breaks->waits = 1;
    return 1;
  }
  breaks->evaluator = now;
  breaks->is_set = 1;
  put(state, ours(state));
  return 1;
}

void hd_evaluator_remove(struct HdState* state) {
  struct HdBreaks* breaks = &state->breaks;
  if (breaks->is_set && current(state) == ours(state)) {
    put(state, breaks->evaluator);
    breaks->is_set = 0;
  }
}

static uint64_t ours(const struct HdState* state) {
  return state->region->api.set_evaluator ? (uint64_t)evaluate
                                          : (uint64_t)evaluate_old;
}

static uint64_t current(struct HdState* state) {
  return state->region->api.get_evaluator
             ? HD_CALL(state, get_evaluator, GetFunction)(interpreter(state))
             : *place(state);
}

static void put(struct HdState* state, uint64_t evaluator) {
  if (state->region->api.set_evaluator) {
    HD_CALL(state, set_evaluator, SetFunction)(interpreter(state), evaluator);
  } else {
    *place(state) = evaluator;
  }
}

static uint64_t* place(struct HdState* state) {
  return &HD_FIELD(state, interpreter(state), interpreter_evaluator, uint64_t);
}

static void* interpreter(struct HdState* state) {
  return HD_CALL(state, PyInterpreterState_Main, ThreadFunction)();
}
