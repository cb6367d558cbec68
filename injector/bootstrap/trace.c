/* The trace function of threads that are stepped or have breakpoints on their
 * stack, before sys.monitoring (3.12).
 *
 * It is in C and asks the agent only about the frame that counts, or a line
 * that has a breakpoint: else a line costs some compares. A program's own
 * tracer keeps working: ours goes before it and ends in a jump into it, with
 * the object that it was set with, so that sys.gettrace() answers as ever. What
 * it is follows from which of our functions is set (`tracers`): nothing is kept
 * by thread.
 *
 * A step is set by the thread itself, and by us out of process only taken away,
 * when its client has gone. */
#include "injector/bootstrap/tracing.h"

#define PY_TRACE_CALL 0 /* Include/pystate.h */
#define PY_TRACE_EXCEPTION 1
#define PY_TRACE_LINE 2
#define PY_TRACE_RETURN 3

typedef uint64_t (*SelfFunction)(void);
typedef HdPyObject* (*NumberFunction)(long);
typedef unsigned long (*AsNumberFunction)(HdPyObject*);
typedef HdPyObject* (*TupleFunction)(long);
typedef HdPyObject* (*TupleGetFunction)(HdPyObject*, long);
typedef int (*TupleSetFunction)(HdPyObject*, long, HdPyObject*);
typedef int (*TracerFunction)(HdPyObject*, HdPyObject*, int, HdPyObject*);
typedef void* (*ThreadFunction)(void);
typedef void* (*SaveFunction)(void);
typedef void (*RestoreFunction)(void*);
typedef void (*ObjectFunction)(HdPyObject*);

static int on_event(HdPyObject* object,
                    HdPyObject* frame,
                    int what,
                    HdPyObject* arg,
                    int which);
static int step(struct HdState* state,
                HdPyObject* frame,
                int what,
                HdPyObject* arg);
static int is_asked_about(struct HdTraced* entry, HdPyObject* frame, int what);
static void end_with_stack(struct HdState* state);
static void trace_as_needed(struct HdState* state, void* thread);
static void put(struct HdState* state, void* thread, uint64_t tracer);
static int* tracing_possible(struct HdState* state, void* thread);
static int which_of(const struct HdState* state, const void* thread);
static int own_tracer(struct HdState* state, uint64_t tracer);
static void name_tracers(struct HdState* state);
static struct HdTraced* traced(struct HdState* state, uint64_t thread);
static void forget(struct HdState* state, struct HdTraced* entry);
static uint64_t self_of(struct HdState* state);
static int is_none(struct HdState* state, HdPyObject* object);

/* (function, frame, calls): function(frame, returned) is called for this
 * thread's lines (None), returns (a tuple with the value, or an empty one),
 * calls (a number) and exceptions (type, value, traceback), in that frame or,
 * if it is None, in any; and, unless calls is None, for the returns of what
 * that frame calls. No function: no more.
 */
HdPyObject* hd_builtin_trace(HdPyObject* self, HdPyObject* args) {
  (void)self;
  struct HdState* state = hd_state();
  const TupleGetFunction get =
      HD_CALL(state, PyTuple_GetItem, TupleGetFunction);
  HdPyObject* function = get(args, 0);
  HdPyObject* frame = get(args, 1);
  if (!hd_can_trace(state)) {
    return hd_raise(state, "this Python's threads cannot be traced");
  }
  const uint64_t self_id = self_of(state);
  struct HdTraced* entry = traced(state, self_id);
  void* thread = HD_CALL(state, PyThreadState_Get, ThreadFunction)();
  if (is_none(state, function)) {
    if (entry) {
      forget(state, entry);
      trace_as_needed(state, thread);
    }
    return hd_none(state);
  }
  entry = entry ? entry : traced(state, 0);
  if (!entry) {
    return hd_raise(state, "no more threads can be stepped");
  }
  HD_CALL(state, Py_IncRef, ObjectFunction)(function);
  HdPyObject* before = entry->function;
  state->stepped += !entry->thread;
  entry->thread = self_id;
  entry->function = function;
  entry->only = is_none(state, frame) ? 0 : frame;
  entry->calls = !is_none(state, get(args, 2));
  entry->depth = 0;
  if (before) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(before);
  }
  hd_trace_thread(state, thread, HD_TRACED_FOR_STACK);
  return hd_none(state);
}

/* That thread is stepped no more. The GIL is kept all through, and no bytecode
 * runs. */
HdPyObject* hd_builtin_untrace(HdPyObject* self, HdPyObject* of) {
  (void)self;
  struct HdState* state = hd_state();
  const uint64_t ident =
      HD_CALL(state, PyLong_AsUnsignedLongMask, AsNumberFunction)(of);
  struct HdTraced* entry = traced(state, ident);
  const uint64_t thread = hd_thread_state(state, ident);
  if (entry) {
    forget(state, entry);
  }
  if (entry && thread) {
    trace_as_needed(state, (void*)thread);
  }
  return hd_none(state);
}

/* Which own tracer it goes before, and how long it stays: tracers[which]. */
#define TRACER(which)                                                          \
  static int on_event_##which(HdPyObject* object, HdPyObject* frame, int what, \
                              HdPyObject* arg) {                               \
    return on_event(object, frame, what, arg, which);                          \
  }
TRACER(0)
TRACER(1)
TRACER(2)
TRACER(3)
TRACER(4)
TRACER(5)
TRACER(6)
TRACER(7)

/* One by one, as in hd_builtins. */
static void name_tracers(struct HdState* state) {
  uint64_t* next = state->tracers;
  *next++ = (uint64_t)on_event_0;
  *next++ = (uint64_t)on_event_1;
  *next++ = (uint64_t)on_event_2;
  *next++ = (uint64_t)on_event_3;
  *next++ = (uint64_t)on_event_4;
  *next++ = (uint64_t)on_event_5;
  *next++ = (uint64_t)on_event_6;
  *next++ = (uint64_t)on_event_7;
}

/* The answer about a breakpoint covers the step as well. Nothing of ours is on
 * the stack while the program's own tracer runs. */
static int on_event(HdPyObject* object,
                    HdPyObject* frame,
                    int what,
                    HdPyObject* arg,
                    int which) {
  struct HdState* state = hd_state();
  enum HdReached reached = HD_NOT_ASKED;
  if (state->breaks.waits && !hd_look_again(state)) {
    return -1;
  }
  if (what == PY_TRACE_LINE && state->breaks.on_line) {
    reached = hd_reach_line(state, frame);
  }
  if (what == PY_TRACE_EXCEPTION && state->breaks.on_error &&
      !hd_reach_error(state, frame, arg)) {
    reached = HD_RAISED;
  }
  if (reached == HD_RAISED || (reached == HD_NOT_ASKED && state->stepped &&
                               !step(state, frame, what, arg))) {
    return -1; /* the program's: see keep_standing in engine.py */
  }
  if (what == PY_TRACE_RETURN && which >= HD_OWN_TRACERS) {
    end_with_stack(state);
  }
  const uint64_t own = state->own_tracers[which % HD_OWN_TRACERS];
  return own ? ((TracerFunction)own)(object, frame, what, arg) : 0;
}

static int step(struct HdState* state,
                HdPyObject* frame,
                int what,
                HdPyObject* arg) {
  struct HdTraced* entry = traced(state, self_of(state));
  if (what < PY_TRACE_CALL || what > PY_TRACE_RETURN || !entry ||
      !is_asked_about(entry, frame, what)) {
    return 1;
  }
  HdPyObject* returned = 0;
  if (what == PY_TRACE_LINE) {
    returned = hd_none(state);
  } else if (what == PY_TRACE_CALL) {
    returned = HD_CALL(state, PyLong_FromLong, NumberFunction)(what);
  } else if (what == PY_TRACE_EXCEPTION) {
    HD_CALL(state, Py_IncRef, ObjectFunction)(arg);
    returned = arg;
  } else {
    returned = HD_CALL(state, PyTuple_New, TupleFunction)(arg != 0);
  }
  if (!returned) {
    return 0;
  }
  if (what == PY_TRACE_RETURN && arg) {
    HD_CALL(state, Py_IncRef, ObjectFunction)(arg);
    HD_CALL(state, PyTuple_SetItem, TupleSetFunction)(returned, 0, arg);
  }
  HdPyObject* function = entry->function;
  HD_CALL(state, Py_IncRef, ObjectFunction)(function);
  HD_CALL(state, Py_IncRef, ObjectFunction)(frame);
  HdPyObject* result = hd_call_aside(state, function, frame, returned);
  HD_CALL(state, Py_DecRef, ObjectFunction)(function);
  if (result) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(result);
  }
  return result != 0;
}

/* A generator that yields has returned, and is called again when it resumes. */
static int is_asked_about(struct HdTraced* entry, HdPyObject* frame, int what) {
  if (!entry->only) {
    return 1;
  }
  if (entry->only == frame) {
    entry->depth = 0;
    return 1;
  }
  if (what == PY_TRACE_CALL) {
    entry->depth++;
  }
  return what == PY_TRACE_RETURN && entry->depth > 0 && --entry->depth == 0 &&
         entry->calls;
}

/* A frame returns: perhaps the last one that was the reason. */
static void end_with_stack(struct HdState* state) {
  void* thread = HD_CALL(state, PyThreadState_Get, ThreadFunction)();
  const uint64_t frame = hd_innermost(state, thread);
  if (frame && !hd_is_stepped(state, self_of(state)) &&
      !hd_has_breaks(state, thread,
                     HD_FIELD(state, frame, frame_previous, uint64_t))) {
    hd_trace_thread(state, thread, HD_NOT_TRACED);
  }
}

static void trace_as_needed(struct HdState* state, void* thread) {
  hd_trace_thread(state, thread,
                  hd_has_breaks(state, thread, hd_innermost(state, thread))
                      ? HD_TRACED_FOR_STACK
                      : HD_NOT_TRACED);
}

void hd_trace_thread(struct HdState* state, void* thread, enum HdTracing how) {
  const int which = which_of(state, thread);
  const uint64_t tracer = HD_FIELD(state, thread, thread_tracer, uint64_t);
  const int own =
      which < 0 ? own_tracer(state, tracer) : which % HD_OWN_TRACERS;
  if (own < 0) {
    return; /* of too many kinds: that thread has no breakpoints */
  }
  const uint64_t wanted =
      how == HD_NOT_TRACED
          ? state->own_tracers[own]
          : state->tracers[own + HD_OWN_TRACERS * (how == HD_TRACED_FOR_STACK)];
  if (wanted != tracer) {
    put(state, thread, wanted);
  }
}

/* What _PyEval_SetTrace does (Python/ceval.c), but that the object stays. Not
 * by it: a hook of sys.audit is asked there, as the program's thread or while
 * any other's sys.settrace() raises; and one that forbids it would have its
 * exception come up in the program, or keep our tracer where it is. */
static void put(struct HdState* state, void* thread, uint64_t tracer) {
  uint64_t* const word = &HD_FIELD(state, thread, thread_tracer, uint64_t);
  int* const possible = tracing_possible(state, thread);
  if (possible) {
    *possible += (tracer != 0) - (*word != 0);
  }
  *word = tracer;
  hd_use_tracing(state, thread);
}

void hd_use_tracing(struct HdState* state, void* thread) {
  const struct HdApi* api = &state->region->api;
  const uint64_t* const word =
      &HD_FIELD(state, thread, thread_tracer, uint64_t);
  const uint64_t profiler = word[-1]; /* c_profilefunc */
  /* Within a tracer 3.11 has it off (PyThreadState_EnterTracing). Before, what
   * leaves one may leave it as it is. */
  const int is_hidden = api->use_tracing_on == 255 &&
                        HD_FIELD(state, thread, thread_tracing, int) != 0;
  const int is_on = (*word || profiler) && !is_hidden;
  uint64_t at = (uint64_t)thread + api->thread_use_tracing;
  if (api->use_tracing_is_behind) {
    at = *(uint64_t*)at;
  }
  *(uint8_t*)at = is_on ? (uint8_t)api->use_tracing_on : 0; /* its first byte */
}

/* 0: this version does not count them. */
static int* tracing_possible(struct HdState* state, void* thread) {
  const struct HdApi* api = &state->region->api;
  if (api->tracing_possible) {
    return (int*)api->tracing_possible;
  }
  if (api->interpreter_tracing_possible == HD_NO_OFFSET) {
    return 0;
  }
  return (int*)(HD_FIELD(state, thread, thread_interpreter, uint64_t) +
                api->interpreter_tracing_possible);
}

enum HdTracing hd_tracing_of(const struct HdState* state, const void* thread) {
  const int which = which_of(state, thread);
  return which < 0 ? HD_NOT_TRACED
                   : (which < HD_OWN_TRACERS ? HD_TRACED_FOR_CALL
                                             : HD_TRACED_FOR_STACK);
}

/* -1: the thread is not traced by us. */
static int which_of(const struct HdState* state, const void* thread) {
  const uint64_t tracer = HD_FIELD(state, thread, thread_tracer, uint64_t);
  for (int i = 0; hd_is_traced(state, thread) && i < 2 * HD_OWN_TRACERS; i++) {
    if (state->tracers[i] == tracer) {
      return i;
    }
  }
  return -1;
}

/* Its number; no tracer is the first. -1: there are too many. */
static int own_tracer(struct HdState* state, uint64_t tracer) {
  if (!state->tracers[0]) {
    name_tracers(state);
  }
  for (int i = 0; i < HD_OWN_TRACERS; i++) {
    if (i && !state->own_tracers[i]) {
      state->own_tracers[i] = tracer;
    }
    if (state->own_tracers[i] == tracer) {
      return i;
    }
  }
  return -1;
}

/* 3.11 keeps beside the count whether it is worth a look. */
void hd_untraced(struct HdState* state, int change) {
  const struct HdApi* api = &state->region->api;
  void* thread = HD_CALL(state, PyThreadState_Get, ThreadFunction)();
  if (api->PyThreadState_EnterTracing && api->PyThreadState_LeaveTracing) {
    ((void (*)(void*))(change > 0 ? api->PyThreadState_EnterTracing
                                  : api->PyThreadState_LeaveTracing))(thread);
  } else if (api->thread_tracing != HD_NO_OFFSET) {
    HD_FIELD(state, thread, thread_tracing, int) += change;
  }
}

int hd_is_stepped(struct HdState* state, uint64_t ident) {
  return state->stepped && traced(state, ident);
}

HdPyObject* hd_builtin_ident(HdPyObject* self, HdPyObject* none) {
  (void)self;
  (void)none;
  struct HdState* state = hd_state();
  return HD_CALL(state, PyLong_FromLong, NumberFunction)((long)self_of(state));
}

HdPyObject* hd_builtin_nap(HdPyObject* self, HdPyObject* none) {
  (void)self;
  (void)none;
  hd_nap(hd_state());
  return hd_none(hd_state());
}

void hd_nap(struct HdState* state) {
  void* thread = HD_CALL(state, PyEval_SaveThread, SaveFunction)();
  hd_poll(-1, 0, 1);
  HD_CALL(state, PyEval_RestoreThread, RestoreFunction)(thread);
}

/* Of thread 0: one that is free. */
static struct HdTraced* traced(struct HdState* state, uint64_t thread) {
  for (int i = 0; i < HD_MAX_HELD; i++) {
    if (state->traced[i].thread == thread) {
      return &state->traced[i];
    }
  }
  return 0;
}

static void forget(struct HdState* state, struct HdTraced* entry) {
  HdPyObject* function = entry->function;
  *entry = (struct HdTraced){0};
  state->stepped--;
  HD_CALL(state, Py_DecRef, ObjectFunction)(function);
}

static uint64_t self_of(struct HdState* state) {
  return HD_CALL(state, pthread_self, SelfFunction)();
}

static int is_none(struct HdState* state, HdPyObject* object) {
  return object == (HdPyObject*)state->region->api.none;
}
