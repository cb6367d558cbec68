/* The agent: loaded into a dict of its own, called, cleared away. Everything
 * here runs with the GIL. */
#include "injector/bootstrap/bootstrap.h"

typedef HdPyObject* (*NewFunction)(void);
typedef HdPyObject* (
    *CompileFunction)(const char*, const char*, int, void*, int);
typedef HdPyObject* (*EvalFunction)(HdPyObject*, HdPyObject*, HdPyObject*);
typedef HdPyObject* (*CallFunction)(HdPyObject*, HdPyObject*, HdPyObject*);
typedef int (*SetItemFunction)(HdPyObject*, const char*, HdPyObject*);
typedef HdPyObject* (*GetItemFunction)(HdPyObject*, const char*);
typedef HdPyObject* (*NumberFunction)(long);
typedef HdPyObject* (*BytesFunction)(const char*, long);
typedef HdPyObject* (*TextFunction)(const char*);
typedef HdPyObject* (*MethodFunction)(struct HdMethod*,
                                      HdPyObject*,
                                      HdPyObject*);
typedef HdPyObject* (*TupleFunction)(long);
typedef int (*TupleSetFunction)(HdPyObject*, long, HdPyObject*);
typedef void (*ObjectFunction)(HdPyObject*);
typedef void (*VoidFunction)(void);
typedef HdPyObject* (*AttributeFunction)(HdPyObject*, const char*);
typedef const char* (*Utf8Function)(HdPyObject*);

#define AGENTS_FILE "<hangdbg>"
#define HD_TRACED_REFCOUNT 2 /* words: _ob_next, _ob_prev */
#define PATIENCE_MS \
  100 /* we are attached: a pause of the program waits for us */

static int run_source(struct HdState* state, struct HdAgent* agent);
static void give_module(struct HdState* state,
                        struct HdAgent* agent,
                        const char* name);
static HdPyObject* compiled_code(struct HdState* state);
static HdPyObject* read_code(struct HdState* state, uint64_t from_end);
static int add_builtins(struct HdState* state, struct HdAgent* agent);
static void keep_failure(struct HdState* state);
static HdPyObject* code_of_raiser(struct HdState* state, HdPyObject* trace);
static HdPyObject* attribute(struct HdState* state,
                             HdPyObject* of,
                             const char* name);
static int is_agents(struct HdState* state, HdPyObject* file);
static void add_text(struct HdState* state,
                     const char* before,
                     HdPyObject* text);
static void add(struct HdState* state, const char* utf8);
static void drop(struct HdState* state, HdPyObject* object);
static long refcount(struct HdState* state, HdPyObject* object);

int hd_agent_load(struct HdSession* session) {
  struct HdState* state = session->state;
  struct HdAgent* agent = hd_agent(session);
  if (agent->handle) {
    return 1;
  }
  if (!session->interpreter) {
    hd_unmap_left(state);
  }
  const int loaded = run_source(state, agent);
  if (!loaded) {
    keep_failure(state);
    hd_agent_unload(session);
  }
  return loaded;
}

HdPyObject* hd_agent_handle(struct HdSession* session,
                            const char* message,
                            uint64_t size) {
  struct HdState* state = session->state;
  HdPyObject* reply =
      hd_call(state, hd_agent(session)->handle,
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
    session->in_detach_handshake = 1;
    HdPyObject* result = hd_call(
        state, agent->forget,
        HD_CALL(state, PyLong_FromLong, NumberFunction)(session->index), 0);
    session->in_detach_handshake = 0;
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
  give_module(state, agent, "sys");
  give_module(state, agent, "_thread");
  give_module(state, agent, "_weakref");
  give_module(state, agent, "posix");
  HdPyObject* code = compiled_code(state);
  if (!code && *source) {
    code = HD_CALL(state, Py_CompileStringExFlags, CompileFunction)(
        source, AGENTS_FILE, HD_FILE_INPUT, 0, 2);
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
 * not there, and then the source is. Once it has been read, the source is
 * nothing but memory. */
static HdPyObject* compiled_code(struct HdState* state) {
  typedef long (*MagicFunction)(void);
  struct HdRegion* region = state->region;
  char* const source = (char*)region + HD_AGENT_OFFSET;
  if (!region->code_size || !region->api.PyMarshal_ReadObjectFromString ||
      !region->api.PyImport_GetMagicNumber ||
      (uint32_t)HD_CALL(state, PyImport_GetMagicNumber, MagicFunction)() !=
          region->code_magic) {
    return 0;
  }
  HdPyObject* code = read_code(state, region->code_size);
  if (code) {
    hd_drop(state, source, (char*)region + region->code_offset);
    *source = 0;
  } else if (*source) {
    HD_CALL(state, PyErr_Clear, VoidFunction)();
  }
  return code;
}

/* The code object that begins so many bytes before the end of what is compiled.
 * Not by marshal.loads, which wants a copy and tells audit hooks. */
static HdPyObject* read_code(struct HdState* state, uint64_t from_end) {
  typedef HdPyObject* (*ReadFunction)(const char*, long);
  const struct HdRegion* region = state->region;
  const char* end =
      (const char*)region + region->code_offset + region->code_size;
  if (from_end > region->code_size) {
    return hd_raise(state, "no such part");
  }
  return HD_CALL(state, PyMarshal_ReadObjectFromString, ReadFunction)(
      end - from_end, (long)from_end);
}

/* _part(bytes before the end): its code. */
HdPyObject* hd_builtin_part(HdPyObject* self, HdPyObject* from_end) {
  typedef unsigned long (*AsNumberFunction)(HdPyObject*);
  (void)self;
  struct HdState* state = hd_state();
  return read_code(state, HD_CALL(state, PyLong_AsUnsignedLongMask,
                                  AsNumberFunction)(from_end));
}

/* What the agent would import: the program's builtins.__import__ may be
 * anything, and wait for ever. What is not there it imports. */
static void give_module(struct HdState* state,
                        struct HdAgent* agent,
                        const char* name) {
  HdPyObject* module = hd_module(state, name);
  if (module && module != (HdPyObject*)state->region->api.none) {
    HD_CALL(state, PyDict_SetItemString, SetItemFunction)
    (agent->globals, name, module);
  }
}

/* In a free-threaded interpreter an object belongs to the thread that made it,
 * and a reference that another drops may be left for that thread to drop: which
 * has ended, or is another one with its number by now. An object without an
 * owner is counted at once. As _Py_ExplicitMergeRefcount does it, which is not
 * exported, on an object that no other thread knows yet. (struct _object and
 * _Py_REF_MERGED, CPython's Include/object.h and Include/refcount.h) */
static void share(struct HdState* state, HdPyObject* object) {
  typedef uint64_t (*SelfFunction)(void);
  struct {
    uint64_t owner;
    uint32_t flags, own_count;
    uint64_t shared_count;
  }* const head = (void*)object;
  const uint64_t kMerged = 3;
  if (head->owner == HD_CALL(state, pthread_self, SelfFunction)() &&
      head->own_count == 1 && head->shared_count == 0) {
    head->owner = 0;
    head->own_count = 0;
    head->shared_count = 1 << 2 | kMerged;
  }
}

/* A free-threaded interpreter leaves references uncounted to what several
 * threads use, if the collector knows it (maybe_enable_deferred_ref_count in
 * CPython's Python/specialize.c). Ours are to be counted, and refer to nothing.
 */
static int add_builtins(struct HdState* state, struct HdAgent* agent) {
  hd_builtins(state->methods);
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
    HdPyObject* function = HD_CALL(state, PyCFunction_NewEx, MethodFunction)(
        &state->methods[i], 0, 0);
    agent->functions[i] = function;
    if (!function) {
      return 0;
    }
    if (hd_is_free_threaded(state)) {
      HD_CALL(state, PyObject_GC_UnTrack, ObjectFunction)(function);
      share(state, function);
    }
    if (set(agent->globals, state->methods[i].name, function) != 0) {
      return 0;
    }
  }
  return 1;
}

/* Without a GIL a thread of the program may just be coming out of it: one that
 * prints, in streams.py. */
static int is_let_go(struct HdState* state,
                     HdPyObject* function,
                     int* patience) {
  while (refcount(state, function) != 1) {
    if (!hd_is_free_threaded(state) || *patience == 0) {
      return 0;
    }
    *patience -= 1;
    hd_poll(-1, 0, 1);
  }
  return 1;
}

void hd_agent_unload(struct HdSession* session) {
  struct HdState* state = session->state;
  struct HdAgent* agent = hd_agent(session);
  if (!session->interpreter) {
    hd_breaks_leave(state);
  }
  HdPyObject* globals = agent->globals;
  int patience = PATIENCE_MS;
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
    if (!is_let_go(state, function, &patience)) {
      HD_STORE(state->must_stay, 1); /* a user's expression has kept it */
    } else {
      HD_CALL(state, Py_DecRef, ObjectFunction)(function);
    }
  }
}

/* Before Py_REFCNT was a function: PyObject.ob_refcnt, on 3.12 and later its
 * lower half. It is the first word; in builds that trace references two others
 * are before it: it is the one that counts. */
static long refcount(struct HdState* state, HdPyObject* object) {
  typedef long (*CountFunction)(HdPyObject*);
  if (state->region->api.Py_REFCNT) {
    return HD_CALL(state, Py_REFCNT, CountFunction)(object);
  }
  const uint64_t* words = (const uint64_t*)object;
  const uint64_t before = words[0];
  HD_CALL(state, Py_IncRef, ObjectFunction)(object);
  const int at = words[0] == before ? HD_TRACED_REFCOUNT : 0;
  HD_CALL(state, Py_DecRef, ObjectFunction)(object);
  return (uint32_t)words[at];
}

/* Clears the exception; keeps its text and origin for the client: apart from
 * lack of memory, only an audit hook of the program can raise here. */
static void keep_failure(struct HdState* state) {
  typedef void (*FetchFunction)(HdPyObject**, HdPyObject**, HdPyObject**);
  typedef HdPyObject* (*StrFunction)(HdPyObject*);
  HdPyObject* parts[3] = {0, 0, 0}; /* type, value, traceback */
  HD_CALL(state, PyErr_Fetch, FetchFunction)(&parts[0], &parts[1], &parts[2]);
  state->failure[0] = 0;
  add_text(state, "", attribute(state, parts[0], "__name__"));
  add_text(state, ": ",
           parts[1] ? HD_CALL(state, PyObject_Str, StrFunction)(parts[1]) : 0);
  HdPyObject* code = code_of_raiser(state, parts[2]);
  HdPyObject* file = attribute(state, code, "co_filename");
  if (file && !is_agents(state, file)) {
    add_text(state, " (raised by ", attribute(state, code, "co_name"));
    add_text(state, ", ", file);
    add(state, ")");
  } else {
    drop(state, file);
  }
  drop(state, code);
  for (int i = 0; i < 3; i++) {
    drop(state, parts[i]);
  }
  HD_CALL(state, PyErr_Clear, VoidFunction)();
}

/* Of the frame at a traceback's end; 0 where there is none, or none may be
 * looked at. */
static HdPyObject* code_of_raiser(struct HdState* state, HdPyObject* trace) {
  HdPyObject* last = trace;
  if (last) {
    HD_CALL(state, Py_IncRef, ObjectFunction)(last);
  }
  for (;;) {
    HdPyObject* next = attribute(state, last, "tb_next");
    if (!next || next == (HdPyObject*)state->region->api.none) {
      drop(state, next);
      break;
    }
    drop(state, last);
    last = next;
  }
  HdPyObject* frame = attribute(state, last, "tb_frame");
  HdPyObject* code = attribute(state, frame, "f_code");
  drop(state, frame);
  drop(state, last);
  return code;
}

/* A reference; 0 without an exception. */
static HdPyObject* attribute(struct HdState* state,
                             HdPyObject* of,
                             const char* name) {
  HdPyObject* value =
      of ? HD_CALL(state, PyObject_GetAttrString, AttributeFunction)(of, name)
         : 0;
  if (!value) {
    HD_CALL(state, PyErr_Clear, VoidFunction)();
  }
  return value;
}

static int is_agents(struct HdState* state, HdPyObject* file) {
  const char* name = HD_CALL(state, PyUnicode_AsUTF8, Utf8Function)(file);
  const char* agents = AGENTS_FILE;
  while (name && *name && *name == *agents) {
    name++;
    agents++;
  }
  return name && *name == *agents;
}

/* Takes the reference; an empty text, or none, adds nothing. No exception is
 * set then. */
static void add_text(struct HdState* state,
                     const char* before,
                     HdPyObject* text) {
  const char* utf8 =
      text ? HD_CALL(state, PyUnicode_AsUTF8, Utf8Function)(text) : 0;
  if (utf8 && *utf8) {
    add(state, before);
    add(state, utf8);
  }
  drop(state, text);
  HD_CALL(state, PyErr_Clear, VoidFunction)();
}

static void add(struct HdState* state, const char* utf8) {
  char* failure = state->failure;
  uint64_t size = 0;
  while (failure[size]) {
    size++;
  }
  for (; *utf8 && size + 1 < sizeof state->failure; utf8++) {
    failure[size++] = *utf8;
  }
  if ((*utf8 & 0xc0) == 0x80) { /* no part of a character */
    while ((failure[--size] & 0xc0) == 0x80) {
    }
  }
  failure[size] = 0;
}

static void drop(struct HdState* state, HdPyObject* object) {
  if (object) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(object);
  }
}

HdPyObject* hd_call(struct HdState* state,
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
