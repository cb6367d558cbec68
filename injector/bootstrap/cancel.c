/* Cancelled, raised in what still runs for a client: an expression; when the
 * client has gone, also what it debugs.
 *
 * An exception that comes from outside may come after a lock was taken and
 * before the `try` that gives it back: then it stays taken for ever, and the
 * program hangs for what we did. Functions of Python take locks for others so
 * (Handler.acquire in Lib/logging, Condition.__enter__ in Lib/threading.py). So
 * with the GIL we look where the thread stands before it is raised, and look
 * again where that is no place for it.
 *
 * Where it comes up: up to 3.12 where the thread stands, since it looks for it
 * as soon as it has the GIL again. From 3.13 on (_Py_HandlePending in
 * Python/ceval_gil.c) that was asked before it gave up the GIL: so after the C
 * function that it is in, if it gave it up for that; else at the next call or
 * at the end of the next round of a loop, be it in a caller. */
#include "injector/bootstrap/bootstrap.h"

typedef int (*AsyncExcFunction)(unsigned long, HdPyObject*);
typedef void (*ObjectFunction)(HdPyObject*);
typedef HdPyObject* (*FrameFunction)(void*);
typedef HdPyObject* (*AttributeFunction)(HdPyObject*, const char*);
typedef const char* (*TextFunction)(HdPyObject*);
typedef int (*BytesFunction)(HdPyObject*, char**, long*);
typedef long (*SizeFunction)(HdPyObject*);
typedef HdPyObject* (*ItemFunction)(HdPyObject*, long);
typedef void (*VoidFunction)(void);
typedef unsigned long (*NumberFunction)(HdPyObject*);
typedef void* (*SaveFunction)(void);
typedef void (*RestoreFunction)(void*);

/* What a function does. */
enum Place {
  PLAIN,   /* it catches nothing and names no lock: nothing is lost there */
  CATCHES, /* it has a `try` or a `with` */
  LOCKS,   /* by a name, it or one that it uses takes or gives back a lock */
  PYTHONS, /* the same in Python's own library: it keeps others waiting */
};

/* Where a thread stands. */
struct Stack {
  enum Place place; /* its innermost function; or a caller, if that is more */
  int is_plain;     /* all of them are */
  int is_after_round; /* of a loop */
  int is_at_rest;     /* that, or before its first line */
};

/* For a plain place; after that, a place at rest in one that catches; after
 * another while, any but in Python's own. */
#define PATIENCE_NS 400000000L
#define LONG_PATIENCE_NS 10000000000L
/* Looks in a row after that: in between the client may give it up. */
#define LATER_LOOKS 5
#define MOST_FRAMES 200
/* Less than Python's switch interval: nobody was asked to give up the GIL. */
#define AT_ONCE_NS 2000000L

static int cancel(struct HdSession* session,
                  struct HdRunning* running,
                  uint32_t interpreter,
                  int in_call);
static int wait_for_gil(struct HdSession* session);
static int may_raise(struct HdSession* session,
                     struct HdRunning* running,
                     int in_call);
static struct Stack read_stack(struct HdState* state, void* thread);
static HdPyObject* innermost(struct HdState* state, void* thread);
static HdPyObject* code_of(struct HdState* state, HdPyObject* frame);
static enum Place place_of(struct HdState* state,
                           HdPyObject* code,
                           int by_its_name,
                           int* is_ours);
static int names_locks(struct HdState* state, HdPyObject* code);
static int catches(struct HdState* state, HdPyObject* code);
static void find_rest(struct HdState* state,
                      HdPyObject* frame,
                      HdPyObject* code,
                      struct Stack* stack);
static int is_of_locks(const char* name);
static int is_of_pythons_locks(const char* file);
static int has(const char* text, const char* part);
static int is_same(const char* text, const char* other);
static long bytes_of(struct HdState* state,
                     HdPyObject* object,
                     const char** bytes);
static int is_one_of(const uint64_t* opcodes, char opcode);
static HdPyObject* attribute(struct HdState* state,
                             HdPyObject* object,
                             const char* name);
static void drop(struct HdState* state, HdPyObject* object);

void* hd_canceller_main(void* argument) {
  struct HdSession* session = argument;
  struct HdState* state = session->state;
  hd_name_thread(HD_CANCEL_THREAD_NAME);
  struct HdEntry entry;
  if (!hd_python_is_ending(state) && hd_enter(session, &entry)) {
    const int64_t patience = hd_now() + PATIENCE_NS;
    int in_call = 0;
    for (int looks = 1;; looks++) {
      int waits =
          cancel(session, session->evaluation, entry.interpreter, in_call);
      for (int i = 0; i < HD_MAX_HELD; i++) {
        struct HdHeld* held = &state->held[i];
        if (held->session == session->index) {
          waits |= cancel(session, &held->debugged, entry.interpreter, in_call);
        }
      }
      if (!waits || (looks >= LATER_LOOKS && hd_now() > patience)) {
        break;
      }
      in_call = wait_for_gil(session);
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
                  int in_call) {
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
  const int wanted = cancelled && is_to_end;
  const int raises = wanted && may_raise(session, running, in_call);
  if (raises) {
    HD_CALL(state, PyThreadState_SetAsyncExc, AsyncExcFunction)
    (running->thread, cancelled);
    seen = HD_CANCELLED;
    running->wanted_since = 0; /* what cleans up after it has its time */
  }
  HD_STORE(running->cancellable, seen);
  if (raises) {
    hd_take_flag(state, cancelled);
  }
  return wanted && !raises;
}

/* A moment without it. Whether it was free and came at once: then each other
 * thread is in a C function that gave it up. */
static int wait_for_gil(struct HdSession* session) {
  struct HdState* state = session->state;
  void* thread = HD_CALL(state, PyEval_SaveThread, SaveFunction)();
  hd_poll(-1, 0, 1);
  const int64_t begun = hd_now();
  const int was_free = hd_gil_is_free(session);
  HD_CALL(state, PyEval_RestoreThread, RestoreFunction)(thread);
  return was_free && hd_now() - begun < AT_ONCE_NS;
}

/* Without a GIL the thread runs on, and is not looked at. */
static int may_raise(struct HdSession* session,
                     struct HdRunning* running,
                     int in_call) {
  struct HdState* state = session->state;
  const int64_t now = hd_now();
  if (!running->wanted_since) {
    running->wanted_since = now;
  }
  void* thread =
      running->thread == session->executor ? HD_LOAD(session->thread_state) : 0;
  if (!thread && !session->interpreter) {
    thread = (void*)hd_thread_state(state, running->thread);
  }
  if (hd_is_free_threaded(state) || !thread) {
    return 1;
  }
  const struct Stack stack = read_stack(state, thread);
  const int64_t waited = now - running->wanted_since;
  const int stays = !state->region->api.cancels_later;
  return (stack.place == PLAIN && (in_call || stays || stack.is_plain)) ||
         (waited > PATIENCE_NS &&
          ((stack.place <= CATCHES && (in_call || stack.is_at_rest)) ||
           (stack.place <= LOCKS && stays && stack.is_after_round))) ||
         (waited > LONG_PATIENCE_NS && stack.place <= LOCKS);
}

/* Of what the expression has called; below it are our frames, and in a
 * suspended thread the program's. */
static struct Stack read_stack(struct HdState* state, void* thread) {
  struct Stack stack = {PLAIN, 1, 0, 0};
  int seen_other = 0;
  HdPyObject* frame = innermost(state, thread);
  for (int i = 0; frame && i < MOST_FRAMES; i++) {
    HdPyObject* code = code_of(state, frame);
    int is_ours = 0;
    const enum Place place = place_of(state, code, 0, &is_ours);
    const enum Place by_name = place_of(state, code, 1, &is_ours);
    if (i == 0) {
      find_rest(state, frame, code, &stack);
    }
    drop(state, code);
    if (is_ours && seen_other) {
      break;
    }
    seen_other |= !is_ours;
    stack.is_plain &= place == PLAIN;
    const enum Place counts = i == 0 ? place : by_name;
    stack.place = counts > stack.place ? counts : stack.place;
    HdPyObject* caller = attribute(state, frame, "f_back");
    drop(state, frame);
    frame = caller;
    if (caller == (HdPyObject*)state->region->api.none) {
      drop(state, caller);
      frame = 0;
    }
  }
  drop(state, frame);
  return stack;
}

static HdPyObject* innermost(struct HdState* state, void* thread) {
  const struct HdApi* api = &state->region->api;
  if (api->PyThreadState_GetFrame) {
    return HD_CALL(state, PyThreadState_GetFrame, FrameFunction)(thread);
  }
  HdPyObject* frame = *(HdPyObject**)((char*)thread + api->thread_frame);
  if (frame) {
    HD_CALL(state, Py_IncRef, ObjectFunction)(frame);
  }
  return frame;
}

/* Not by the attribute: hooks of sys.audit would be asked. */
static HdPyObject* code_of(struct HdState* state, HdPyObject* frame) {
  const struct HdApi* api = &state->region->api;
  if (api->PyFrame_GetCode) {
    return HD_CALL(state, PyFrame_GetCode, FrameFunction)(frame);
  }
  HdPyObject* code = *(HdPyObject**)((char*)frame + api->frame_code);
  HD_CALL(state, Py_IncRef, ObjectFunction)(code);
  return code;
}

static enum Place place_of(struct HdState* state,
                           HdPyObject* code,
                           int by_its_name,
                           int* is_ours) {
  HdPyObject* name_object = attribute(state, code, "co_name");
  HdPyObject* file_object = attribute(state, code, "co_filename");
  const TextFunction text = HD_CALL(state, PyUnicode_AsUTF8, TextFunction);
  const char* name = name_object ? text(name_object) : 0;
  const char* file = file_object ? text(file_object) : 0;
  HD_CALL(state, PyErr_Clear, VoidFunction)();
  enum Place place = PLAIN;
  if (name && file) {
    *is_ours = is_same(file, "<hangdbg>");
    /* What an expression is made of catches nothing, though from 3.12 on a
     * comprehension in it says so. */
    const int is_expressions =
        name[0] == '<' &&
        (!is_same(name, "<module>") || is_same(file, "<expression>"));
    if (is_of_locks(name) || (!by_its_name && names_locks(state, code))) {
      place = LOCKS;
    } else if (!by_its_name && !is_expressions && catches(state, code)) {
      place = CATCHES;
    }
    if (place != PLAIN && is_of_pythons_locks(file)) {
      place = PYTHONS;
    }
  }
  drop(state, name_object);
  drop(state, file_object);
  return place;
}

static int names_locks(struct HdState* state, HdPyObject* code) {
  int found = 0;
  HdPyObject* names = attribute(state, code, "co_names");
  const long count =
      names ? HD_CALL(state, PyTuple_Size, SizeFunction)(names) : 0;
  for (long i = 0; !found && i < count; i++) {
    const char* one = HD_CALL(state, PyUnicode_AsUTF8, TextFunction)(
        HD_CALL(state, PyTuple_GetItem, ItemFunction)(names, i));
    found = !one || is_of_locks(one);
  }
  HD_CALL(state, PyErr_Clear, VoidFunction)();
  drop(state, names);
  return found;
}

/* Up to 3.10 by instructions, later by a table. */
static int catches(struct HdState* state, HdPyObject* code) {
  const char* bytes = 0;
  HdPyObject* table = attribute(state, code, "co_exceptiontable");
  if (table) {
    const long size = bytes_of(state, table, &bytes);
    drop(state, table);
    return size != 0;
  }
  HdPyObject* instructions = attribute(state, code, "co_code");
  const long size = bytes_of(state, instructions, &bytes);
  int found = size < 0;
  for (long i = 0; i < size && !found; i += 2) {
    found = is_one_of(state->region->api.try_opcodes, bytes[i]);
  }
  drop(state, instructions);
  return found;
}

static void find_rest(struct HdState* state,
                      HdPyObject* frame,
                      HdPyObject* code,
                      struct Stack* stack) {
  const struct HdApi* api = &state->region->api;
  HdPyObject* number = attribute(state, frame, "f_lasti");
  const long at =
      number ? (long)(int)HD_CALL(state, PyLong_AsUnsignedLongMask,
                                  NumberFunction)(number)
             : 0;
  drop(state, number);
  const char* bytes = 0;
  HdPyObject* instructions = attribute(state, code, "co_code");
  const long size = bytes_of(state, instructions, &bytes);
  if (at >= 0 && at < size) {
    stack->is_after_round = is_one_of(api->loop_opcodes, bytes[at]);
    stack->is_at_rest =
        stack->is_after_round || (unsigned char)bytes[at] == api->first_opcode;
  } else {
    stack->is_at_rest = at < 0;
  }
  drop(state, instructions);
}

static int is_of_locks(const char* name) {
  return has(name, "acquire") || has(name, "release") ||
         is_same(name, "lock") || is_same(name, "unlock") ||
         is_same(name, "__enter__") || is_same(name, "__exit__");
}

static int is_of_pythons_locks(const char* file) {
  return has(file, "/logging/") || has(file, "/threading.py") ||
         has(file, "/queue.py") || has(file, "importlib._bootstrap");
}

static int has(const char* text, const char* part) {
  for (; *text; text++) {
    int i = 0;
    while (part[i] && text[i] == part[i]) {
      i++;
    }
    if (!part[i]) {
      return 1;
    }
  }
  return 0;
}

static int is_same(const char* text, const char* other) {
  while (*text && *text == *other) {
    text++;
    other++;
  }
  return *text == *other;
}

/* -1 where they cannot be had. */
static long bytes_of(struct HdState* state,
                     HdPyObject* object,
                     const char** bytes) {
  char* at = 0;
  long size = -1;
  if (object && HD_CALL(state, PyBytes_AsStringAndSize, BytesFunction)(
                    object, &at, &size) == 0) {
    *bytes = at;
    return size;
  }
  HD_CALL(state, PyErr_Clear, VoidFunction)();
  return -1;
}

static int is_one_of(const uint64_t* opcodes, char opcode) {
  const unsigned number = (unsigned char)opcode;
  return opcodes[number / 64] >> (number % 64) & 1;
}

/* 0 where it has none. */
static HdPyObject* attribute(struct HdState* state,
                             HdPyObject* object,
                             const char* name) {
  HdPyObject* value = object ? HD_CALL(state, PyObject_GetAttrString,
                                       AttributeFunction)(object, name)
                             : 0;
  HD_CALL(state, PyErr_Clear, VoidFunction)();
  return value;
}

static void drop(struct HdState* state, HdPyObject* object) {
  if (object) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(object);
  }
}
