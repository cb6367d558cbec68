/* A thread that is stepped: it comes to stand by itself, at a line of its own.
 *
 * Before sys.monitoring (3.12) that takes a trace function. This one is in C
 * and asks the agent only about the frame that counts: what the thread calls
 * from there costs a compare a line. It is set by the thread itself, and by us
 * from outside only taken away, when its client has gone. */
#include "injector/bootstrap/bootstrap.h"

#define PY_TRACE_LINE 2 /* Include/pystate.h */
#define PY_TRACE_RETURN 3

typedef uint64_t (*SelfFunction)(void);
typedef HdPyObject* (*NumberFunction)(long);
typedef unsigned long (*AsNumberFunction)(HdPyObject*);
typedef HdPyObject* (*TupleGetFunction)(HdPyObject*, long);
typedef void (*TraceFunction)(void*, HdPyObject*);
typedef void* (*SwapFunction)(void*);
typedef void* (*SaveFunction)(void);
typedef void (*RestoreFunction)(void*);
typedef HdPyObject* (*NamedFunction)(const char*);
typedef HdPyObject* (*TupleFunction)(long);
typedef int (*TupleSetFunction)(HdPyObject*, long, HdPyObject*);
typedef HdPyObject* (*CallFunction)(HdPyObject*, HdPyObject*, HdPyObject*);
typedef void (*ObjectFunction)(HdPyObject*);

static int on_event(HdPyObject* agent,
                    HdPyObject* frame,
                    int what,
                    HdPyObject* arg);
static struct HdTraced* traced(struct HdState* state, uint64_t thread);
static uint64_t self_of(struct HdState* state);
static int is_none(struct HdState* state, HdPyObject* object);

/* (function, frame): function(frame, what) is called for this thread's lines
 * and returns, in that frame or, if it is None, in any. No function: no more.
 */
HdPyObject* hd_builtin_trace(HdPyObject* self, HdPyObject* args) {
  (void)self;
  struct HdState* state = hd_state();
  const TupleGetFunction get =
      HD_CALL(state, PyTuple_GetItem, TupleGetFunction);
  HdPyObject* function = get(args, 0);
  HdPyObject* frame = get(args, 1);
  const int set = !is_none(state, function);
  const uint64_t thread = self_of(state);
  struct HdTraced* entry = traced(state, thread);
  if (!entry) {
    entry = traced(state, 0);
  }
  if (!entry) {
    return hd_raise(state, "no more threads can be stepped");
  }
  const int was_set = entry->thread != 0;
  entry->only = is_none(state, frame) ? 0 : frame;
  entry->thread = set ? thread : 0;
  if (set != was_set) {
    HD_CALL(state, PyEval_SetTrace, TraceFunction)
    (set ? (void*)on_event : 0, set ? function : 0);
  }
  return hd_none(state);
}

static int on_event(HdPyObject* agent,
                    HdPyObject* frame,
                    int what,
                    HdPyObject* arg) {
  (void)arg;
  struct HdState* state = hd_state();
  if (what != PY_TRACE_LINE && what != PY_TRACE_RETURN) {
    return 0;
  }
  const struct HdTraced* entry = traced(state, self_of(state));
  if (!entry || (entry->only && entry->only != frame)) {
    return 0;
  }
  HD_CALL(state, Py_IncRef, ObjectFunction)(frame);
  HdPyObject* result =
      hd_call(state, agent, frame,
              HD_CALL(state, PyLong_FromLong, NumberFunction)(what));
  if (!result) {
    return -1; /* the program's: see keep_standing in engine.py */
  }
  HD_CALL(state, Py_DecRef, ObjectFunction)(result);
  return 0;
}

/* (ident, function): that thread's trace function becomes the program's own
 * again, which was `function`. The GIL is kept all through, and no bytecode
 * runs: that the state of another thread is ours meanwhile is seen by nobody.
 */
HdPyObject* hd_builtin_untrace(HdPyObject* self, HdPyObject* args) {
  (void)self;
  struct HdState* state = hd_state();
  const TupleGetFunction get =
      HD_CALL(state, PyTuple_GetItem, TupleGetFunction);
  const uint64_t thread =
      HD_CALL(state, PyLong_AsUnsignedLongMask, AsNumberFunction)(get(args, 0));
  HdPyObject* before = get(args, 1);
  struct HdTraced* entry = traced(state, thread);
  const uint64_t other = hd_thread_state(state, thread);
  if (entry) {
    entry->thread = 0;
  }
  if (!entry || !other) {
    return hd_none(state); /* the thread has ended */
  }
  HdPyObject* settrace =
      HD_CALL(state, PySys_GetObject, NamedFunction)("settrace");
  HdPyObject* arguments = HD_CALL(state, PyTuple_New, TupleFunction)(1);
  if (!settrace || !arguments) {
    return 0;
  }
  HD_CALL(state, Py_IncRef, ObjectFunction)(before);
  HD_CALL(state, PyTuple_SetItem, TupleSetFunction)(arguments, 0, before);
  void* own = HD_CALL(state, PyThreadState_Swap, SwapFunction)((void*)other);
  HdPyObject* result =
      HD_CALL(state, PyObject_Call, CallFunction)(settrace, arguments, 0);
  HD_CALL(state, PyThreadState_Swap, SwapFunction)(own);
  HD_CALL(state, Py_DecRef, ObjectFunction)(arguments);
  return result;
}

HdPyObject* hd_builtin_ident(HdPyObject* self, HdPyObject* none) {
  (void)self;
  (void)none;
  struct HdState* state = hd_state();
  return HD_CALL(state, PyLong_FromLong, NumberFunction)((long)self_of(state));
}

/* A moment without the GIL. */
HdPyObject* hd_builtin_nap(HdPyObject* self, HdPyObject* none) {
  (void)self;
  (void)none;
  struct HdState* state = hd_state();
  void* thread = HD_CALL(state, PyEval_SaveThread, SaveFunction)();
  hd_poll(-1, 0, 1);
  HD_CALL(state, PyEval_RestoreThread, RestoreFunction)(thread);
  return hd_none(state);
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

static uint64_t self_of(struct HdState* state) {
  return HD_CALL(state, pthread_self, SelfFunction)();
}

static int is_none(struct HdState* state, HdPyObject* object) {
  return object == (HdPyObject*)state->region->api.none;
}
