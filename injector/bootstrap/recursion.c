/* Recursion in an expression ends before it ends the process: each call looks
 * whether there may be one more. The looks are those of a profile function on
 * our own thread. In two cases:
 *
 * - The program may have raised the limit of the recursion (it is for all
 *   threads) above what our stack holds.
 * - Up to 3.9 a thread past the limit may call on, to clean up, until it has
 *   come back; 50 calls further the process is ended (_Py_CheckRecursiveCall,
 *   Python/ceval.c). An expression gets there without meaning to: a __del__ or
 *   a weak reference's callback of the program's, called at the limit, has its
 *   RecursionError swallowed. */
#include "injector/bootstrap/tracing.h"

#define PY_TRACE_CALL 0 /* PyTrace_CALL, Include/pystate.h */
#define PY_TRACE_C_CALL 4

/* Of the executor's 8 MiB; and a limit that stays below that. */
#define MOST_STACK (6UL << 20)
#define HARMLESS_RECURSION 3000

typedef void (*TraceFunction)(void*, HdPyObject*);
typedef void* (*ThreadFunction)(void);
typedef HdPyObject* (*NamedFunction)(const char*);
typedef HdPyObject* (*TupleFunction)(long);
typedef HdPyObject* (*CallFunction)(HdPyObject*, HdPyObject*, HdPyObject*);
typedef void (*ObjectFunction)(HdPyObject*);
typedef void (*VoidFunction)(void);
typedef void (*ErrorFunction)(HdPyObject*, const char*);
typedef void (*FetchFunction)(HdPyObject**, HdPyObject**, HdPyObject**);

static void set_profiler(struct HdState* state, uint64_t to, int replaces);
static int is_set(struct HdState* state, const char* getter);
static int look_at_stack(HdPyObject* self,
                         HdPyObject* frame,
                         int what,
                         HdPyObject* arg);

int hd_guard_stack(struct HdSession* session) {
  typedef int (*LimitFunction)(void);
  struct HdState* state = session->state;
  const struct HdApi* api = &state->region->api;
  session->lowest_stack = (uint64_t)__builtin_frame_address(0) - MOST_STACK;
  const int is_deadly = api->thread_overflowed != HD_NO_OFFSET;
  const int is_high = api->Py_GetRecursionLimit &&
                      HD_CALL(state, Py_GetRecursionLimit, LimitFunction)() >
                          HARMLESS_RECURSION;
  if (is_deadly || is_high) {
    set_profiler(state, (uint64_t)look_at_stack, 0);
  }
  return is_deadly || is_high;
}

/* sys.settrace in an expression is for the rest of it: on our thread it would
 * trace the agent. From 3.12 on to set nothing where nothing is changes the
 * interpreter all the same, and without a GIL pauses it. */
void hd_stop_tracing(struct HdState* state, int guarded) {
  typedef void (*RestoreErrorFunction)(HdPyObject*, HdPyObject*, HdPyObject*);
  HdPyObject* error[3] = {0, 0, 0};
  HD_CALL(state, PyErr_Fetch, FetchFunction)(&error[0], &error[1], &error[2]);
  if (is_set(state, "gettrace")) {
    HD_CALL(state, PyEval_SetTrace, TraceFunction)(0, 0);
  }
  const int own = is_set(state, "getprofile");
  if (guarded || own) {
    set_profiler(state, 0, own);
  }
  HD_CALL(state, PyErr_Restore, RestoreErrorFunction)
  (error[0], error[1], error[2]);
}

/* `replaces`: there is one of the expression's own. Where the words are known,
 * not by Python's function, which asks the hooks of sys.audit. */
static void set_profiler(struct HdState* state, uint64_t to, int replaces) {
  if (replaces || !hd_can_trace(state)) {
    HD_CALL(state, PyEval_SetProfile, TraceFunction)((void*)to, 0);
    return;
  }
  void* thread = HD_CALL(state, PyThreadState_Get, ThreadFunction)();
  (&HD_FIELD(state, thread, thread_tracer, uint64_t))[-1] = to;
  hd_use_tracing(state, thread);
}

/* Whether sys.gettrace(), say, is not None. */
static int is_set(struct HdState* state, const char* getter) {
  HdPyObject* function = HD_CALL(state, PySys_GetObject, NamedFunction)(getter);
  HdPyObject* args = HD_CALL(state, PyTuple_New, TupleFunction)(0);
  HdPyObject* value =
      function && args
          ? HD_CALL(state, PyObject_Call, CallFunction)(function, args, 0)
          : 0;
  const int set = value != (HdPyObject*)state->region->api.none;
  HD_CALL(state, PyErr_Clear, VoidFunction)();
  if (args) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(args);
  }
  if (value) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(value);
  }
  return set;
}

static int look_at_stack(HdPyObject* self,
                         HdPyObject* frame,
                         int what,
                         HdPyObject* arg) {
  (void)self;
  (void)frame;
  (void)arg;
  struct HdState* state = hd_state();
  if (what != PY_TRACE_CALL && what != PY_TRACE_C_CALL) {
    return 0;
  }
  const char* why = 0;
  if (state->region->api.thread_overflowed != HD_NO_OFFSET) {
    void* thread = HD_CALL(state, PyThreadState_Get, ThreadFunction)();
    why = HD_FIELD(state, thread, thread_overflowed, char)
              ? "maximum recursion depth exceeded"
              : 0;
  }
  const struct HdSession* session = hd_this_session(state);
  if (!session ||
      (uint64_t)__builtin_frame_address(0) <= session->lowest_stack) {
    why = "hangdbg's thread has no stack left";
  }
  if (!why) {
    return 0;
  }
  HD_CALL(state, PyErr_SetString, ErrorFunction)
  (*(HdPyObject**)state->region->api.recursion_error, why);
  return -1;
}
