/* Stops all other threads of an interpreter, where there is no GIL.
 *
 * A frame of a running thread may be taken down while it is read. So all that
 * needs one stopped happens here, in C, and all at once: CPython's own pause,
 * as the garbage collector makes it (stop_the_world in Python/pystate.c). It
 * has no deadline: it waits until each thread has reached its next bytecode.
 * The client has seen out of process that they all do (HD_CONTROL_ENTER_NOW).
 *
 * Within a pause no Python may run and nothing may be destroyed: the collector,
 * or a finaliser, would wait for the threads that wait for us. */
#include "injector/bootstrap/bootstrap.h"

typedef void* (*InterpreterFunction)(void);
typedef void (*WorldFunction)(void*);
typedef HdPyObject* (*FrameFunction)(HdPyObject*);
typedef int (*PositionFunction)(HdPyObject*);
typedef HdPyObject* (*NumberFunction)(long);
typedef HdPyObject* (*SizedFunction)(long);
typedef int (*TupleSetFunction)(HdPyObject*, long, HdPyObject*);
typedef int (*AppendFunction)(HdPyObject*, HdPyObject*);
typedef void (*ObjectFunction)(HdPyObject*);
typedef void* (*ThreadOfFunction)(void*);
typedef void* (*SaveFunction)(void);
typedef void (*RestoreFunction)(void*);
typedef void (*ErrorFunction)(HdPyObject*, const char*);

static void* interpreter(struct HdState* state);
static int add_frame(struct HdState* state,
                     HdPyObject* stack,
                     HdPyObject* frame);

/* The permission with which the executor came in is for the next moment only.
 * In the detach handshake it goes without: to see that no thread is in our
 * code. */
int hd_pause(struct HdSession* session) {
  struct HdState* state = session->state;
  if (!hd_is_free_threaded(state)) {
    return 1;
  }
  if (!session->in_detach_handshake && !hd_is_let_in(session)) {
    void* thread = HD_CALL(state, PyEval_SaveThread, SaveFunction)();
    const int may = hd_may_enter(session);
    HD_CALL(state, PyEval_RestoreThread, RestoreFunction)(thread);
    HD_STORE(session->stage, HD_EXECUTOR_IN_PYTHON);
    if (!may) {
      HD_CALL(state, PyErr_SetString, ErrorFunction)
      (*(HdPyObject**)state->region->api.runtime_error,
       "the hangdbg client has gone");
      return 0;
    }
  }
  HD_CALL(state, stop_the_world, WorldFunction)(interpreter(state));
  return 1;
}

void hd_resume(struct HdSession* session) {
  struct HdState* state = session->state;
  if (hd_is_free_threaded(state)) {
    HD_CALL(state, start_the_world, WorldFunction)(interpreter(state));
  }
}

/* CPython pauses the program to grow its list of thread states
 * (_Py_qsbr_reserve in Python/qsbr.c), which never shrinks. The canceller's is
 * to be there before an expression hangs in C. */
void hd_make_room(struct HdSession* session) {
  struct HdState* state = session->state;
  if (hd_is_free_threaded(state)) {
    void* thread =
        HD_CALL(state, PyThreadState_New, ThreadOfFunction)(interpreter(state));
    if (thread) {
      HD_CALL(state, PyThreadState_Clear, WorldFunction)(thread);
      HD_CALL(state, PyThreadState_Delete, WorldFunction)(thread);
    }
  }
}

static void* interpreter(struct HdState* state) {
  return HD_CALL(state, PyInterpreterState_Get, InterpreterFunction)();
}

HdPyObject* hd_stack(struct HdState* state, HdPyObject* frame) {
  HdPyObject* stack = HD_CALL(state, PyList_New, SizedFunction)(0);
  int whole = stack != 0;
  while (frame) {
    HdPyObject* caller = HD_CALL(state, PyFrame_GetBack, FrameFunction)(frame);
    whole = whole && add_frame(state, stack, frame);
    HD_CALL(state, Py_DecRef, ObjectFunction)(frame); /* its thread has it */
    frame = caller;
  }
  if (stack && !whole) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(stack);
    stack = 0;
  }
  return stack;
}

static int add_frame(struct HdState* state,
                     HdPyObject* stack,
                     HdPyObject* frame) {
  HdPyObject* place = HD_CALL(state, PyTuple_New, SizedFunction)(4);
  if (!place) {
    return 0;
  }
  HD_CALL(state, Py_IncRef, ObjectFunction)(frame);
  HdPyObject* const fields[] = {
      frame,
      HD_CALL(state, PyFrame_GetCode, FrameFunction)(frame),
      HD_CALL(state, PyLong_FromLong, NumberFunction)(
          HD_CALL(state, PyFrame_GetLasti, PositionFunction)(frame)),
      HD_CALL(state, PyFrame_GetGlobals, FrameFunction)(frame),
  };
  int whole = 1;
  for (int i = 0; i < 4; i++) {
    whole &= fields[i] != 0;
    HD_CALL(state, PyTuple_SetItem, TupleSetFunction)(place, i, fields[i]);
  }
  whole =
      whole && HD_CALL(state, PyList_Append, AppendFunction)(stack, place) == 0;
  HD_CALL(state, Py_DecRef, ObjectFunction)(place);
  return whole;
}
