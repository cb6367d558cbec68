/* The agent: loaded into a dict of its own, called, cleared away. Everything
 * here runs with the GIL. Also the builtins that the agent has in C; they go
 * with the region, so nothing that a user can keep may refer to them. */
#include <sys/uio.h>

#include "injector/bootstrap/bootstrap.h"
#include "injector/bootstrap/syscalls_x86_64.h"

#define METH_VARARGS 0x0001
#define METH_NOARGS 0x0004
#define METH_O 0x0008
#define FILE_INPUT 257 /* Py_file_input, Include/compile.h */

typedef HdPyObject* (*NewFunction)(void);
typedef HdPyObject* (
    *CompileFunction)(const char*, const char*, int, void*, int);
typedef HdPyObject* (*EvalFunction)(HdPyObject*, HdPyObject*, HdPyObject*);
typedef HdPyObject* (*CallFunction)(HdPyObject*, HdPyObject*, HdPyObject*);
typedef int (*SetItemFunction)(HdPyObject*, const char*, HdPyObject*);
typedef HdPyObject* (*GetItemFunction)(HdPyObject*, const char*);
typedef HdPyObject* (*NumberFunction)(long);
typedef unsigned long (*AsNumberFunction)(HdPyObject*);
typedef HdPyObject* (*BytesFunction)(const char*, long);
typedef int (*AsBytesFunction)(HdPyObject*, char**, long*);
typedef HdPyObject* (*TextFunction)(const char*);
typedef HdPyObject* (*MethodFunction)(struct HdMethod*,
                                      HdPyObject*,
                                      HdPyObject*);
typedef HdPyObject* (*TupleFunction)(long);
typedef int (*TupleSetFunction)(HdPyObject*, long, HdPyObject*);
typedef HdPyObject* (*TupleGetFunction)(HdPyObject*, long);
typedef long (*SizeFunction)(HdPyObject*);
typedef HdPyObject* (*AttributeFunction)(HdPyObject*, const char*);
typedef int (*ObjectSetFunction)(HdPyObject*, HdPyObject*, HdPyObject*);
typedef int (*ObjectDelFunction)(HdPyObject*, HdPyObject*);
typedef void (*ObjectFunction)(HdPyObject*);
typedef void (*VoidFunction)(void);
typedef void (*ErrorFunction)(HdPyObject*, const char*);
typedef int (*AsyncExcFunction)(unsigned long, HdPyObject*);
typedef void* (*SaveFunction)(void);
typedef void (*RestoreFunction)(void*);
typedef unsigned long (*SelfFunction)(void);
typedef void (*TraceFunction)(void*, HdPyObject*);

static int run_source(struct HdState* state, struct HdAgent* agent);
static HdPyObject* compiled_code(struct HdState* state);
static int add_builtins(struct HdState* state, struct HdAgent* agent);
static void keep_failure(struct HdState* state);
static HdPyObject* call(struct HdState* state,
                        HdPyObject* callable,
                        HdPyObject* first,
                        HdPyObject* second);
static HdPyObject* builtin_tid_of(HdPyObject* self, HdPyObject* ident);
static HdPyObject* builtin_current_frames(HdPyObject* self, HdPyObject* none);
static HdPyObject* builtin_send(HdPyObject* self, HdPyObject* bytes);
static HdPyObject* builtin_run_cancellable(HdPyObject* self, HdPyObject* work);
static HdPyObject* take_cancelled(struct HdState* state,
                                  HdPyObject* result,
                                  HdPyObject* cancelled);
static HdPyObject* builtin_set_cancelled(HdPyObject* self, HdPyObject* cls);
static HdPyObject* builtin_set_local(HdPyObject* self, HdPyObject* args);
static HdPyObject* builtin_locals_of(HdPyObject* self, HdPyObject* frame);
static HdPyObject** snapshot_of(struct HdState* state, HdPyObject* frame);
static void drop_snapshot(struct HdState* state,
                          HdPyObject** place,
                          HdPyObject* before);

int hd_agent_load(struct HdSession* session) {
  struct HdState* state = session->state;
  struct HdAgent* agent = hd_agent(session);
  if (agent->handle) {
    return 1;
  }
  /* Running the source may let go of the GIL, and another executor in. */
  if (agent->loading) {
    return 0;
  }
  agent->loading = 1;
  const int loaded = run_source(state, agent);
  if (!loaded) {
    keep_failure(state);
    hd_agent_unload(session);
  }
  agent->loading = 0;
  return loaded;
}

HdPyObject* hd_agent_handle(struct HdSession* session,
                            const char* message,
                            uint64_t size) {
  struct HdState* state = session->state;
  HdPyObject* reply =
      call(state, hd_agent(session)->handle,
           HD_CALL(state, PyLong_FromLong, NumberFunction)(session->index),
           HD_CALL(state, PyBytes_FromStringAndSize, BytesFunction)(
               message, (long)size));
  if (!reply) {
    keep_failure(state);
  }
  return reply;
}

void hd_agent_forget(struct HdSession* session) {
  struct HdState* state = session->state;
  struct HdAgent* agent = hd_agent(session);
  if (agent->forget) {
    HdPyObject* result = call(
        state, agent->forget,
        HD_CALL(state, PyLong_FromLong, NumberFunction)(session->index), 0);
    if (result) {
      HD_CALL(state, Py_DecRef, ObjectFunction)(result);
    }
    HD_CALL(state, PyErr_Clear, VoidFunction)();
  }
}

static int run_source(struct HdState* state, struct HdAgent* agent) {
  const struct HdRegion* region = state->region;
  const char* source = (const char*)region + HD_AGENT_OFFSET;
  agent->globals = HD_CALL(state, PyDict_New, NewFunction)();
  if (!agent->globals || !add_builtins(state, agent)) {
    return 0;
  }
  HdPyObject* code = compiled_code(state);
  if (!code) {
    code = HD_CALL(state, Py_CompileStringExFlags, CompileFunction)(
        source, "<hangdbg>", FILE_INPUT, 0, 2);
  }
  if (!code) {
    return 0;
  }
  HdPyObject* result = HD_CALL(state, PyEval_EvalCode, EvalFunction)(
      code, agent->globals, agent->globals);
  HD_CALL(state, Py_DecRef, ObjectFunction)(code);
  if (!result) {
    return 0;
  }
  HD_CALL(state, Py_DecRef, ObjectFunction)(result);
  agent->forget = HD_CALL(state, PyDict_GetItemString, GetItemFunction)(
      agent->globals, "forget");
  agent->handle = HD_CALL(state, PyDict_GetItemString, GetItemFunction)(
      agent->globals, "handle");
  return agent->handle && agent->forget;
}

/* The agent as this very version of Python compiled it elsewhere; 0 when it is
 * not there, and then the source is. */
static HdPyObject* compiled_code(struct HdState* state) {
  typedef HdPyObject* (*ReadFunction)(const char*, long);
  typedef long (*MagicFunction)(void);
  const struct HdRegion* region = state->region;
  if (!region->code_size || !region->api.PyMarshal_ReadObjectFromString ||
      !region->api.PyImport_GetMagicNumber ||
      (uint32_t)HD_CALL(state, PyImport_GetMagicNumber, MagicFunction)() !=
          region->code_magic) {
    return 0;
  }
  HdPyObject* code =
      HD_CALL(state, PyMarshal_ReadObjectFromString, ReadFunction)(
          (const char*)region + region->code_offset, region->code_size);
  if (!code) {
    HD_CALL(state, PyErr_Clear, VoidFunction)();
  }
  return code;
}

static int add_builtins(struct HdState* state, struct HdAgent* agent) {
  const struct HdMethod methods[HD_BUILTINS] = {
      {"_tid_of", builtin_tid_of, METH_O, 0},
      {"_current_frames", builtin_current_frames, METH_NOARGS, 0},
      {"_send", builtin_send, METH_O, 0},
      {"_run_cancellable", builtin_run_cancellable, METH_O, 0},
      {"_set_cancelled", builtin_set_cancelled, METH_O, 0},
      {"_set_local", builtin_set_local, METH_VARARGS, 0},
      {"_locals_of", builtin_locals_of, METH_O, 0},
  };
  const SetItemFunction set =
      HD_CALL(state, PyDict_SetItemString, SetItemFunction);
  HdPyObject* name =
      HD_CALL(state, PyUnicode_FromString, TextFunction)("hangdbg");
  if (!name || set(agent->globals, "__name__", name) != 0 ||
      set(agent->globals, "__builtins__",
          HD_CALL(state, PyEval_GetBuiltins, NewFunction)()) != 0) {
    return 0;
  }
  HD_CALL(state, Py_DecRef, ObjectFunction)(name);
  for (int i = 0; i < HD_BUILTINS; i++) {
    state->methods[i] = methods[i];
    agent->functions[i] = HD_CALL(state, PyCFunction_NewEx, MethodFunction)(
        &state->methods[i], 0, 0);
    if (!agent->functions[i] ||
        set(agent->globals, methods[i].name, agent->functions[i]) != 0) {
      return 0;
    }
  }
  return 1;
}

void hd_agent_unload(struct HdSession* session) {
  struct HdState* state = session->state;
  struct HdAgent* agent = hd_agent(session);
  HdPyObject* globals = agent->globals;
  /* What goes with the agent may run Python as well. */
  agent->loading = 1;
  agent->handle = 0;
  agent->forget = 0;
  agent->globals = 0;
  if (agent->cancelled_class) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(agent->cancelled_class);
    agent->cancelled_class = 0;
  }
  if (globals) {
    /* Its functions and it refer to each other. */
    HD_CALL(state, PyDict_Clear, ObjectFunction)(globals);
    HD_CALL(state, Py_DecRef, ObjectFunction)(globals);
  }
  for (int i = 0; i < HD_BUILTINS; i++) {
    HdPyObject* function = agent->functions[i];
    agent->functions[i] = 0;
    if (!function) {
      continue;
    }
    if (hd_refcount(function) != 1) {
      HD_STORE(state->must_stay, 1); /* a user's expression has kept it */
    } else {
      HD_CALL(state, Py_DecRef, ObjectFunction)(function);
    }
  }
  agent->loading = 0;
}

/* The exception that is set goes, its text stays for the client to see. */
static void keep_failure(struct HdState* state) {
  typedef void (*FetchFunction)(HdPyObject**, HdPyObject**, HdPyObject**);
  typedef HdPyObject* (*StrFunction)(HdPyObject*);
  typedef const char* (*Utf8Function)(HdPyObject*);
  HdPyObject* parts[3] = {0, 0, 0}; /* type, value, traceback */
  HD_CALL(state, PyErr_Fetch, FetchFunction)(&parts[0], &parts[1], &parts[2]);
  HdPyObject* text =
      parts[1] ? HD_CALL(state, PyObject_Str, StrFunction)(parts[1]) : 0;
  const char* utf8 =
      text ? HD_CALL(state, PyUnicode_AsUTF8, Utf8Function)(text) : 0;
  uint64_t size = 0;
  while (utf8 && utf8[size] && size + 1 < sizeof state->failure) {
    state->failure[size] = utf8[size];
    size++;
  }
  state->failure[size] = 0;
  if (text) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(text);
  }
  for (int i = 0; i < 3; i++) {
    if (parts[i]) {
      HD_CALL(state, Py_DecRef, ObjectFunction)(parts[i]);
    }
  }
  HD_CALL(state, PyErr_Clear, VoidFunction)();
}

/* callable(first, second), or callable(first); takes over both references. */
static HdPyObject* call(struct HdState* state,
                        HdPyObject* callable,
                        HdPyObject* first,
                        HdPyObject* second) {
  HdPyObject* args = HD_CALL(state, PyTuple_New, TupleFunction)(second ? 2 : 1);
  if (!args) {
    return 0;
  }
  HD_CALL(state, PyTuple_SetItem, TupleSetFunction)(args, 0, first);
  if (second) {
    HD_CALL(state, PyTuple_SetItem, TupleSetFunction)(args, 1, second);
  }
  HdPyObject* result =
      HD_CALL(state, PyObject_Call, CallFunction)(callable, args, 0);
  HD_CALL(state, Py_DecRef, ObjectFunction)(args);
  return result;
}

static HdPyObject* none(struct HdState* state) {
  HdPyObject* object = (HdPyObject*)state->region->api.none;
  HD_CALL(state, Py_IncRef, ObjectFunction)(object);
  return object;
}

static HdPyObject* raise(struct HdState* state, const char* message) {
  HdPyObject* type = *(HdPyObject**)state->region->api.runtime_error;
  HD_CALL(state, PyErr_SetString, ErrorFunction)(type, message);
  return 0;
}

/* The session whose executor is this very thread. */
static struct HdSession* this_session(struct HdState* state) {
  const unsigned long self = HD_CALL(state, pthread_self, SelfFunction)();
  for (int i = 0; i < HD_MAX_SESSIONS; i++) {
    struct HdSession* session = &state->sessions[i];
    if (HD_LOAD(session->executor_running) && session->executor == self) {
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
  struct HdSession* session = this_session(state);
  return session ? hd_current_frames(session)
                 : raise(state, "not on a hangdbg thread");
}

static HdPyObject* builtin_send(HdPyObject* self, HdPyObject* bytes) {
  (void)self;
  struct HdState* state = hd_state();
  struct HdSession* session = this_session(state);
  char* text = 0;
  long size = 0;
  if (!session) {
    return raise(state, "not on a hangdbg thread");
  }
  if (hd_is_forked(state)) {
    return none(state); /* what a child prints is lost */
  }
  if (HD_CALL(state, PyBytes_AsStringAndSize, AsBytesFunction)(bytes, &text,
                                                               &size) != 0) {
    return 0;
  }
  void* thread = HD_CALL(state, PyEval_SaveThread, SaveFunction)();
  const int sent = hd_write_all(session, text, (uint64_t)size);
  HD_CALL(state, PyEval_RestoreThread, RestoreFunction)(thread);
  return sent ? none(state) : raise(state, "the hangdbg client has gone");
}

/* sys.settrace in an expression is for the rest of it: on our thread it would
 * trace the agent. */
static void stop_tracing(struct HdState* state) {
  HD_CALL(state, PyEval_SetTrace, TraceFunction)(0, 0);
  HD_CALL(state, PyEval_SetProfile, TraceFunction)(0, 0);
}

/* Cancelled may come up in here at any bytecode, and nowhere else: the
 * canceller looks at `cancellable` with the GIL in hand. */
static HdPyObject* builtin_run_cancellable(HdPyObject* self, HdPyObject* work) {
  (void)self;
  struct HdState* state = hd_state();
  struct HdSession* session = this_session(state);
  if (!session) {
    return raise(state, "not on a hangdbg thread");
  }
  HdPyObject* cancelled = hd_agent(session)->cancelled_class;
  if (hd_wants_cancel(session) && cancelled) {
    HD_CALL(state, PyErr_SetString, ErrorFunction)(cancelled, "");
    return 0;
  }
  HdPyObject* args = HD_CALL(state, PyTuple_New, TupleFunction)(0);
  if (!args) {
    return 0;
  }
  session->cancel_raised = 0;
  session->cancellable = 1;
  HdPyObject* result =
      HD_CALL(state, PyObject_Call, CallFunction)(work, args, 0);
  if (hd_is_forked(state)) {
    /* The thread that forks is the child's only one: when it has no more to
     * do, nor has the child. The session is its parent's. */
    hd_syscall(SYS_exit_group, 0, 0, 0, 0, 0, 0);
  }
  session->cancellable = 0;
  stop_tracing(state);
  HD_CALL(state, Py_DecRef, ObjectFunction)(args);
  return session->cancel_raised ? take_cancelled(state, result, cancelled)
                                : result;
}

/* `result` came, or another exception, before the raised Cancelled did: that is
 * taken by running something, and is the result. To call SetAsyncExc with a
 * null would not do: up to 3.12 the flag that it sets, also then, goes only
 * with an exception that is raised; left behind, it makes each loop of the
 * program look for one, and 3.11 never leaves a traced function. */
static HdPyObject* take_cancelled(struct HdState* state,
                                  HdPyObject* result,
                                  HdPyObject* cancelled) {
  if (HD_CALL(state, PyErr_Occurred, NewFunction)() == cancelled) {
    return 0;
  }
  if (result) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(result);
  }
  HD_CALL(state, PyErr_Clear, VoidFunction)();
  HdPyObject* loop = HD_CALL(state, Py_CompileStringExFlags, CompileFunction)(
      "for _ in '  ': pass", "<hangdbg>", FILE_INPUT, 0, 2);
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
  HD_CALL(state, PyErr_SetString, ErrorFunction)(cancelled, "");
  return 0;
}

static HdPyObject* builtin_set_cancelled(HdPyObject* self, HdPyObject* cls) {
  (void)self;
  struct HdState* state = hd_state();
  struct HdSession* session = this_session(state);
  if (!session) {
    return raise(state, "not on a hangdbg thread");
  }
  struct HdAgent* agent = hd_agent(session);
  HD_CALL(state, Py_IncRef, ObjectFunction)(cls);
  HdPyObject* old = agent->cancelled_class;
  agent->cancelled_class = cls;
  if (old) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(old);
  }
  return none(state);
}

/* Up to 3.12 f_locals is a snapshot that stays with the frame, and with it the
 * values of that moment: tensors, perhaps, which the program has long let go
 * of. So what reading it made is dropped again; what was there before (the
 * program called locals(), or is being traced) is left alone. */
static HdPyObject** snapshot_of(struct HdState* state, HdPyObject* frame) {
  const struct HdApi* api = &state->region->api;
  if (api->frame_locals == HD_NO_OFFSET) {
    return 0;
  }
  uint64_t at = (uint64_t)frame;
  if (api->frame_inner != HD_NO_OFFSET) {
    at = *(const uint64_t*)(at + api->frame_inner);
  }
  return (HdPyObject**)(at + api->frame_locals);
}

static void drop_snapshot(struct HdState* state,
                          HdPyObject** place,
                          HdPyObject* before) {
  if (place && !before && *place) {
    HdPyObject* made = *place;
    *place = 0;
    HD_CALL(state, Py_DecRef, ObjectFunction)(made);
  }
}

/* A dict of its own with the frame's locals. */
static HdPyObject* builtin_locals_of(HdPyObject* self, HdPyObject* frame) {
  (void)self;
  typedef HdPyObject* (*CopyFunction)(HdPyObject*);
  struct HdState* state = hd_state();
  HdPyObject** place = snapshot_of(state, frame);
  HdPyObject* before = place ? *place : 0;
  HdPyObject* locals = HD_CALL(state, PyObject_GetAttrString,
                               AttributeFunction)(frame, "f_locals");
  if (!locals) {
    return 0;
  }
  HdPyObject* copy = HD_CALL(state, PyDict_Copy, CopyFunction)(locals);
  drop_snapshot(state, place, before);
  HD_CALL(state, Py_DecRef, ObjectFunction)(locals);
  return copy;
}

/* A reference to the value of a name, or 0. */
static HdPyObject* value_in(struct HdState* state,
                            HdPyObject* names,
                            HdPyObject* name) {
  typedef const char* (*Utf8Function)(HdPyObject*);
  const char* utf8 = HD_CALL(state, PyUnicode_AsUTF8, Utf8Function)(name);
  HdPyObject* value =
      utf8 ? HD_CALL(state, PyDict_GetItemString, GetItemFunction)(names, utf8)
           : 0;
  if (value) {
    HD_CALL(state, Py_IncRef, ObjectFunction)(value);
  }
  return value;
}

/* Up to 3.12 f_locals is a snapshot: PyFrame_LocalsToFast writes *all* of it
 * back, so nothing may run between taking it and the end of that call. The
 * value that is replaced goes last: its finaliser may let the frame's thread
 * in. */
static HdPyObject* builtin_set_local(HdPyObject* self, HdPyObject* args) {
  (void)self;
  struct HdState* state = hd_state();
  const TupleGetFunction get =
      HD_CALL(state, PyTuple_GetItem, TupleGetFunction);
  const long count = HD_CALL(state, PyTuple_Size, SizeFunction)(args);
  if (count != 2 && count != 3) {
    return raise(state, "_set_local(frame, name[, value])");
  }
  HdPyObject* frame = get(args, 0);
  HdPyObject** place = snapshot_of(state, frame);
  HdPyObject* before = place ? *place : 0;
  HdPyObject* locals = HD_CALL(state, PyObject_GetAttrString,
                               AttributeFunction)(frame, "f_locals");
  if (!locals) {
    return 0;
  }
  HdPyObject* replaced = value_in(state, locals, get(args, 1));
  const int failed = count == 3
                         ? HD_CALL(state, PyObject_SetItem, ObjectSetFunction)(
                               locals, get(args, 1), get(args, 2))
                         : HD_CALL(state, PyObject_DelItem, ObjectDelFunction)(
                               locals, get(args, 1));
  if (!failed && state->region->api.PyFrame_LocalsToFast) {
    typedef void (*LocalsFunction)(HdPyObject*, int);
    /* clear=1: a name that is not in the dict is unbound in the frame. */
    HD_CALL(state, PyFrame_LocalsToFast, LocalsFunction)(frame, count == 2);
  }
  drop_snapshot(state, place, before);
  HD_CALL(state, Py_DecRef, ObjectFunction)(locals);
  if (replaced) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(replaced);
  }
  return failed ? 0 : none(state);
}
