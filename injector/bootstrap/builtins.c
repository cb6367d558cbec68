/* The builtins that the agent has in C. They run with the GIL, and go with the
 * region, so nothing that a user can keep may refer to them. */
#include <sys/uio.h>

#include "injector/bootstrap/probes.h"
#include "injector/bootstrap/syscalls_x86_64.h"

#define METH_VARARGS 0x0001
#define METH_NOARGS 0x0004
#define METH_O 0x0008

typedef HdPyObject* (*NewFunction)(void);
typedef HdPyObject* (
    *CompileFunction)(const char*, const char*, int, void*, int);
typedef HdPyObject* (*EvalFunction)(HdPyObject*, HdPyObject*, HdPyObject*);
typedef HdPyObject* (*CallFunction)(HdPyObject*, HdPyObject*, HdPyObject*);
typedef HdPyObject* (*NumberFunction)(long);
typedef unsigned long (*AsNumberFunction)(HdPyObject*);
typedef int (*AsBytesFunction)(HdPyObject*, char**, long*);
typedef HdPyObject* (*TupleFunction)(long);
typedef HdPyObject* (*TupleGetFunction)(HdPyObject*, long);
typedef long (*SizeFunction)(HdPyObject*);
typedef void (*ObjectFunction)(HdPyObject*);
typedef void (*VoidFunction)(void);
typedef int (*AsyncExcFunction)(unsigned long, HdPyObject*);
typedef void (*ErrorFunction)(HdPyObject*, const char*);
typedef void* (*SaveFunction)(void);
typedef void (*RestoreFunction)(void*);
typedef unsigned long (*SelfFunction)(void);
typedef void (*TraceFunction)(void*, HdPyObject*);
typedef void (*FetchFunction)(HdPyObject**, HdPyObject**, HdPyObject**);
typedef HdPyObject* (*NamedFunction)(const char*);

static HdPyObject* builtin_tid_of(HdPyObject* self, HdPyObject* ident);
static HdPyObject* builtin_current_frames(HdPyObject* self, HdPyObject* none);
static HdPyObject* builtin_send(HdPyObject* self, HdPyObject* bytes);
static HdPyObject* builtin_send_to(HdPyObject* self, HdPyObject* args);
static HdPyObject* send_to(struct HdSession* session,
                           HdPyObject* bytes,
                           int quietly);
static HdPyObject* builtin_run_cancellable(HdPyObject* self, HdPyObject* work);
static HdPyObject* builtin_run_debugged(HdPyObject* self, HdPyObject* args);
static HdPyObject* run(struct HdState* state,
                       struct HdRunning* running,
                       HdPyObject* work,
                       int* raised);
static int end_cancellable(struct HdState* state, struct HdRunning* running);
static HdPyObject* take_cancelled(struct HdState* state,
                                  HdPyObject* result,
                                  HdPyObject* cancelled);
static HdPyObject* builtin_set_cancelled(HdPyObject* self, HdPyObject* cls);
static HdPyObject* builtin_set_local(HdPyObject* self, HdPyObject* args);
static HdPyObject* builtin_f_locals(HdPyObject* self, HdPyObject* frame);
static HdPyObject* builtin_locals_of(HdPyObject* self, HdPyObject* frame);

/* One by one: of a table the compiler may make data that wants relocation. */
void hd_builtins(struct HdMethod* methods) {
  struct HdMethod* next = methods;
  *next++ = (struct HdMethod){"_tid_of", builtin_tid_of, METH_O, 0};
  *next++ = (struct HdMethod){"_part", hd_builtin_part, METH_O, 0};
  *next++ = (struct HdMethod){"_current_frames", builtin_current_frames,
                              METH_NOARGS, 0};
  *next++ = (struct HdMethod){"_send", builtin_send, METH_O, 0};
  *next++ = (struct HdMethod){"_send_to", builtin_send_to, METH_VARARGS, 0};
  *next++ =
      (struct HdMethod){"_run_cancellable", builtin_run_cancellable, METH_O, 0};
  *next++ =
      (struct HdMethod){"_run_debugged", builtin_run_debugged, METH_VARARGS, 0};
  *next++ =
      (struct HdMethod){"_set_cancelled", builtin_set_cancelled, METH_O, 0};
  *next++ = (struct HdMethod){"_set_local", builtin_set_local, METH_VARARGS, 0};
  *next++ = (struct HdMethod){"_f_locals", builtin_f_locals, METH_O, 0};
  *next++ = (struct HdMethod){"_locals_of", builtin_locals_of, METH_O, 0};
  *next++ = (struct HdMethod){"_claim", hd_builtin_claim, METH_NOARGS, 0};
  *next++ = (struct HdMethod){"_stand", hd_builtin_stand, METH_O, 0};
  *next++ = (struct HdMethod){"_limit", hd_builtin_limit, METH_O, 0};
  *next++ = (struct HdMethod){"_ask", hd_builtin_ask, METH_O, 0};
  *next++ = (struct HdMethod){"_let_go", hd_builtin_let_go, METH_O, 0};
  *next++ = (struct HdMethod){"_come", hd_builtin_come, METH_O, 0};
  *next++ = (struct HdMethod){"_gone", hd_builtin_gone, METH_O, 0};
  *next++ = (struct HdMethod){"_has_room", hd_builtin_has_room, METH_O, 0};
  *next++ = (struct HdMethod){"_trace", hd_builtin_trace, METH_VARARGS, 0};
  *next++ = (struct HdMethod){"_untrace", hd_builtin_untrace, METH_O, 0};
  *next++ = (struct HdMethod){"_ident", hd_builtin_ident, METH_NOARGS, 0};
  *next++ = (struct HdMethod){"_nap", hd_builtin_nap, METH_NOARGS, 0};
  *next++ = (struct HdMethod){"_break_lines", hd_builtin_break_lines,
                              METH_VARARGS, 0};
}

static unsigned long self_of(struct HdState* state) {
  return HD_CALL(state, pthread_self, SelfFunction)();
}

HdPyObject* hd_none(struct HdState* state) {
  HdPyObject* object = (HdPyObject*)state->region->api.none;
  HD_CALL(state, Py_IncRef, ObjectFunction)(object);
  return object;
}

HdPyObject* hd_raise(struct HdState* state, const char* message) {
  HdPyObject* type = *(HdPyObject**)state->region->api.runtime_error;
  HD_CALL(state, PyErr_SetString, ErrorFunction)(type, message);
  return 0;
}

struct HdSession* hd_this_session(struct HdState* state) {
  const unsigned long self = self_of(state);
  struct HdSession* session = hd_executors_session(state, self);
  session = session ? session : hd_held_session(state, self);
  if (!session) {
    hd_raise(state, "not on a hangdbg thread");
  }
  return session;
}

struct HdSession* hd_executors_session(struct HdState* state, uint64_t thread) {
  for (int i = 0; i < HD_MAX_SESSIONS; i++) {
    struct HdSession* session = &state->sessions[i];
    if (HD_LOAD(session->executor_running) && session->executor == thread) {
      return session;
    }
  }
  return 0;
}

/* The kernel's id of a pthread_t: a word in its struct, whose place control.c
 * found in threads of our own. Of 0, the process's own. */
static HdPyObject* builtin_tid_of(HdPyObject* self, HdPyObject* ident) {
  (void)self;
  struct HdState* state = hd_state();
  const unsigned long thread =
      HD_CALL(state, PyLong_AsUnsignedLongMask, AsNumberFunction)(ident);
  /* Read by the kernel: the thread may have ended since, and its stack, where
   * that struct is, with it. */
  int tid = thread ? 0 : state->pid;
  if (state->tid_offset && thread) {
    const long self = hd_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
    const struct iovec to = {&tid, sizeof tid};
    const struct iovec from = {(void*)(thread + state->tid_offset), sizeof tid};
    hd_syscall(SYS_process_vm_readv, self, (long)&to, 1, (long)&from, 1, 0);
  }
  return HD_CALL(state, PyLong_FromLong, NumberFunction)(tid);
}

static HdPyObject* builtin_current_frames(HdPyObject* self, HdPyObject* none) {
  (void)self;
  (void)none;
  struct HdState* state = hd_state();
  struct HdSession* session = hd_this_session(state);
  return session ? hd_current_frames(session) : 0;
}

static HdPyObject* builtin_send(HdPyObject* self, HdPyObject* bytes) {
  (void)self;
  struct HdState* state = hd_state();
  struct HdSession* session = hd_this_session(state);
  return session ? send_to(session, bytes,
                           hd_held_session(state, self_of(state)) != 0)
                 : 0;
}

/* (index, bytes): to another session's client, from any thread; lost where
 * there is no room. Nothing of Python's runs in between, which might raise: the
 * session cannot end before this thread has left. */
static HdPyObject* builtin_send_to(HdPyObject* self, HdPyObject* args) {
  (void)self;
  struct HdState* state = hd_state();
  const TupleGetFunction get =
      HD_CALL(state, PyTuple_GetItem, TupleGetFunction);
  const unsigned long index =
      HD_CALL(state, PyLong_AsUnsignedLongMask, AsNumberFunction)(get(args, 0));
  struct HdHeld* held = hd_has_room(state, index) ? hd_come(state, index) : 0;
  if (!held) {
    return hd_none(state);
  }
  HdPyObject* done = send_to(&state->sessions[index], get(args, 1), 1);
  HD_STORE(held->phase, HD_HELD_FREE);
  return done;
}

/* Quietly: in a thread of the program's an exception might be raised in its own
 * code. */
static HdPyObject* send_to(struct HdSession* session,
                           HdPyObject* bytes,
                           int quietly) {
  struct HdState* state = session->state;
  char* text = 0;
  long size = 0;
  if (hd_is_forked(state)) {
    return hd_none(state); /* what a child prints is lost */
  }
  if (HD_CALL(state, PyBytes_AsStringAndSize, AsBytesFunction)(bytes, &text,
                                                               &size) != 0) {
    return 0;
  }
  void* thread = HD_CALL(state, PyEval_SaveThread, SaveFunction)();
  hd_begin_message(session);
  const int sent = quietly ? hd_write_quietly(session, text, (uint64_t)size)
                           : hd_write_all(session, text, (uint64_t)size);
  hd_end_message(session);
  HD_CALL(state, PyEval_RestoreThread, RestoreFunction)(thread);
  return sent || quietly ? hd_none(state)
                         : hd_raise(state, "the hangdbg client has gone");
}

/* Cancelled may be raised in here at any bytecode, and nowhere else. */
static HdPyObject* builtin_run_cancellable(HdPyObject* self, HdPyObject* work) {
  (void)self;
  struct HdState* state = hd_state();
  struct HdSession* session = hd_this_session(state);
  if (!session) {
    return 0;
  }
  HdPyObject* cancelled = hd_agent(session)->cancelled_class;
  if (hd_wants_cancel(session) && cancelled) {
    HD_CALL(state, PyErr_SetString, ErrorFunction)(cancelled, "");
    return 0;
  }
  /* A held thread has a stack and a tracer of its own. */
  const int ours = self_of(state) == session->executor;
  const int guarded = ours && hd_guard_stack(session);
  int raised = 0;
  HdPyObject* result = run(state, session->evaluation, work, &raised);
  if (ours) {
    hd_stop_tracing(state, guarded);
  }
  return raised ? take_cancelled(state, result, cancelled) : result;
}

/* (number, work): on a thread that was resumed for it. Raises Cancelled there
 * when the client has gone. */
static HdPyObject* builtin_run_debugged(HdPyObject* self, HdPyObject* args) {
  (void)self;
  struct HdState* state = hd_state();
  const TupleGetFunction get =
      HD_CALL(state, PyTuple_GetItem, TupleGetFunction);
  HdPyObject* number = get(args, 0);
  HdPyObject* work = get(args, 1);
  struct HdHeld* held = number && work ? hd_held_of(number) : 0;
  if (!held) {
    return 0;
  }
  struct HdSession* session = &state->sessions[held->session];
  int raised = 0;
  HdPyObject* result = run(state, &held->debugged, work, &raised);
  return raised
             ? take_cancelled(state, result, hd_agent(session)->cancelled_class)
             : result;
}

static HdPyObject* run(struct HdState* state,
                       struct HdRunning* running,
                       HdPyObject* work,
                       int* raised) {
  HdPyObject* args = HD_CALL(state, PyTuple_New, TupleFunction)(0);
  if (!args) {
    return 0;
  }
  running->thread = self_of(state);
  running->wanted_since = 0;
  hd_probes_begin(state, running);
  HD_STORE(running->cancellable, HD_CANCELLABLE);
  HdPyObject* result =
      HD_CALL(state, PyObject_Call, CallFunction)(work, args, 0);
  if (hd_is_forked(state)) {
    /* The thread that forks is the child's only one: when it has no more to
     * do, nor has the child. The session is its parent's. */
    hd_syscall(SYS_exit_group, 0, 0, 0, 0, 0, 0);
  }
  *raised = end_cancellable(state, running);
  hd_probes_end(state, running);
  HD_CALL(state, Py_DecRef, ObjectFunction)(args);
  return result;
}

/* Whether Cancelled has been raised. */
static int end_cancellable(struct HdState* state, struct HdRunning* running) {
  uint32_t seen = HD_CANCELLABLE;
  while (!HD_EXCHANGE(running->cancellable, seen, HD_NOT_CANCELLABLE)) {
    /* Without a GIL the canceller is between two instructions. With one, it
     * has lost it in the middle, and wants it. */
    if (seen == HD_CANCELLING) {
      if (!hd_is_free_threaded(state)) {
        hd_nap(state);
      }
      seen = HD_CANCELLED;
    }
  }
  return seen == HD_CANCELLED;
}

/* The raised Cancelled may not have come up yet, or another one after it: that
 * is taken by running something, and is the result. To call SetAsyncExc with a
 * null would not do: up to 3.12 the flag that it sets, also then, goes only
 * with an exception that is raised; left behind, it makes each loop of the
 * program look for one, and 3.11 never leaves a traced function. */
static HdPyObject* take_cancelled(struct HdState* state,
                                  HdPyObject* result,
                                  HdPyObject* cancelled) {
  if (result) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(result);
  }
  HD_CALL(state, PyErr_Clear, VoidFunction)();
  hd_run_loop(state);
  HD_CALL(state, PyErr_SetString, ErrorFunction)(cancelled, "");
  return 0;
}

/* What waits for a thread's next round of a loop comes to it. May raise. */
void hd_run_loop(struct HdState* state) {
  HdPyObject* loop = HD_CALL(state, Py_CompileStringExFlags, CompileFunction)(
      "for _ in '  ': pass", "<hangdbg>", HD_FILE_INPUT, 0, 2);
  HdPyObject* globals = HD_CALL(state, PyDict_New, NewFunction)();
  HdPyObject* done = loop && globals
                         ? HD_CALL(state, PyEval_EvalCode, EvalFunction)(
                               loop, globals, globals)
                         : 0;
  HdPyObject* const mine[] = {loop, globals, done};
  for (int i = 0; i < 3; i++) {
    if (mine[i]) {
      HD_CALL(state, Py_DecRef, ObjectFunction)(mine[i]);
    }
  }
}

/* Up to 3.12 that has set the flag that all threads look at. A blocked thread
 * sets it again when it takes the GIL (take_gil in Python/ceval_gil.h). */
void hd_take_flag(struct HdState* state, HdPyObject* cancelled) {
  if (!hd_is_free_threaded(state)) {
    HD_CALL(state, PyThreadState_SetAsyncExc, AsyncExcFunction)
    (self_of(state), cancelled);
    take_cancelled(state, 0, cancelled);
    HD_CALL(state, PyErr_Clear, VoidFunction)();
  }
}

static HdPyObject* builtin_set_cancelled(HdPyObject* self, HdPyObject* cls) {
  (void)self;
  struct HdState* state = hd_state();
  struct HdSession* session = hd_this_session(state);
  if (!session) {
    return 0;
  }
  struct HdAgent* agent = hd_agent(session);
  HD_CALL(state, Py_IncRef, ObjectFunction)(cls);
  HdPyObject* old = agent->cancelled_class;
  agent->cancelled_class = cls;
  if (old) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(old);
  }
  return hd_none(state);
}

static HdPyObject* builtin_f_locals(HdPyObject* self, HdPyObject* frame) {
  (void)self;
  struct HdSession* session = hd_this_session(hd_state());
  return session ? hd_f_locals(session, frame) : 0;
}

/* Also on a thread of the program, at a breakpoint: with a GIL nothing is to be
 * paused, and any session will do. */
static HdPyObject* builtin_locals_of(HdPyObject* self, HdPyObject* frame) {
  (void)self;
  struct HdState* state = hd_state();
  struct HdSession* session =
      hd_is_free_threaded(state) ? hd_this_session(state) : &state->sessions[0];
  return session ? hd_locals_of(session, frame) : 0;
}

/* (frame, name[, value]) */
static HdPyObject* builtin_set_local(HdPyObject* self, HdPyObject* args) {
  (void)self;
  struct HdState* state = hd_state();
  struct HdSession* session = hd_this_session(state);
  const TupleGetFunction get =
      HD_CALL(state, PyTuple_GetItem, TupleGetFunction);
  if (!session) {
    return 0;
  }
  const long count = HD_CALL(state, PyTuple_Size, SizeFunction)(args);
  if (count != 2 && count != 3) {
    return hd_raise(state, "_set_local(frame, name[, value])");
  }
  return hd_set_local(session, get(args, 0), get(args, 1),
                      count == 3 ? get(args, 2) : 0)
             ? hd_none(state)
             : 0;
}
