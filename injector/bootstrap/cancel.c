/* Cancelled, raised in what still runs for a client: an expression; when the
 * client has gone, also what it debugs.
 *
 * An exception that comes from outside may come after a lock was taken and
 * before the `try` that gives it back: then it stays taken for ever, and the
 * program hangs for what we did. Functions of Python take locks for others so
 * (Handler.acquire in Lib/logging, Condition.__enter__ in Lib/threading.py). So
 * with the GIL we look where the thread stands before it is raised, and look
 * again where that is no place for it (docs/decisions/0128).
 *
 * Where does it come up? Python looks for it (eval_breaker in Python/ceval.c)
 * up to 3.10 after each instruction, from 3.11 on at the beginning of a
 * function, after a call of C and after each round of a loop. A thread that
 * gave up the GIL when it was asked to looks for it, up to 3.12, once it has it
 * again; from 3.13 on that was asked before, and it comes up at the next such
 * place, be it in a caller. One that gave up the GIL for what a C function
 * does: after that call. */
#include "injector/bootstrap/bootstrap.h"
#include "injector/bootstrap/syscalls_x86_64.h"

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
};

/* Where a thread stands. */
struct Stack {
  enum Place place;   /* its innermost function; or a caller, if that is more */
  enum Place callers; /* all of them, as looked at as the innermost */
  int is_wait;   /* threading's Condition.wait: it is made to be interrupted */
  uint64_t code; /* of the innermost, and its instruction */
  long at;
  int is_call; /* what that does */
  int is_after_round;
  int is_first;
};

struct Whose {
  int is_ours;
  int is_run; /* what run_user_code and run_debugged call (agent) */
};

/* For a plain place; after that another will do at which nothing is lost; then
 * any where no lock is named; then any. */
#define PATIENCE_NS 150000000L
#define LONG_PATIENCE_NS 10000000000L
#define LONGEST_PATIENCE_NS 60000000000L
#define WORK_NS 5000000L /* of CPU time, since it has been there */
/* So long at one instruction, and nobody had the GIL; or so long, and computing
 * for less than one part in so many: it is in a C function. */
#define STEADY_NS 50000000L
#define LONG_STEADY_NS 400000000L
#define IDLE 20
#define USUAL 20 /* looks */
/* One run of the canceller, the first and each later one. In between the client
 * may give it up. */
#define RUN_NS 400000000L
#define LATER_RUN_NS 40000000L
#define MOST_FRAMES 200
/* Less than Python's switch interval: nobody was asked to give up the GIL. */
#define AT_ONCE_NS 2000000L

static int cancel(struct HdSession* session,
                  struct HdRunning* running,
                  uint32_t interpreter,
                  int was_free);
static int wait_for_gil(struct HdSession* session);
static int may_raise(struct HdSession* session,
                     struct HdRunning* running,
                     int was_free);
static int looks_anywhere(const struct HdApi* api);
static int comes_up_here(const struct HdApi* api,
                         const struct Stack* stack,
                         int is_steady);
static int is_steady(struct HdSession* session,
                     struct HdRunning* running,
                     const struct Stack* stack,
                     int was_free);
static int is_usual(struct HdRunning* running, const struct Stack* stack);
static int64_t cpu_time(struct HdSession* session, struct HdRunning* running);
static int set_collecting(struct HdState* state, int on);
static struct Stack read_stack(struct HdState* state, void* thread);
static HdPyObject* innermost(struct HdState* state, void* thread);
static HdPyObject* code_of(struct HdState* state, HdPyObject* frame);
static enum Place place_of(struct HdState* state,
                           HdPyObject* code,
                           int by_its_name,
                           struct Whose* whose);
static const char* text_of(struct HdState* state, HdPyObject* text);
static int names_locks(struct HdState* state, HdPyObject* code);
static int has_one_of(struct HdState* state,
                      HdPyObject* code,
                      const uint64_t* opcodes);
static void find_instruction(struct HdState* state,
                             HdPyObject* frame,
                             HdPyObject* code,
                             struct Stack* stack);
static int is_of_locks(const char* name);
static int is_condition_wait(struct HdState* state, HdPyObject* code);
static int has(const char* text, const char* part);
static int ends(const char* text, const char* part);
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
    const int64_t end = hd_now() + RUN_NS;
    const int64_t later_end = hd_now() + LATER_RUN_NS;
    int was_free = 0;
    for (;;) {
      int waits =
          cancel(session, session->evaluation, entry.interpreter, was_free);
      for (int i = 0; i < HD_MAX_HELD; i++) {
        struct HdHeld* held = &state->held[i];
        if (held->session == session->index) {
          waits |=
              cancel(session, &held->debugged, entry.interpreter, was_free);
        }
      }
      const int64_t since = session->evaluation->wanted_since;
      const int is_later = since && hd_now() - since > RUN_NS;
      if (!waits || hd_now() > (is_later ? later_end : end)) {
        break;
      }
      was_free = wait_for_gil(session);
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
                  int was_free) {
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
  const int raises = wanted && may_raise(session, running, was_free);
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

/* A moment without it. Whether it was free and came at once. */
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
                     int was_free) {
  struct HdState* state = session->state;
  const struct HdApi* api = &state->region->api;
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
  const int collects = set_collecting(state, 0);
  const struct Stack stack = read_stack(state, thread);
  set_collecting(state, collects);
  const int steady = is_steady(session, running, &stack, was_free);
  const int here = comes_up_here(api, &stack, steady);
  const int64_t waited = now - running->wanted_since;
  if (stack.place == PLAIN && (here || stack.callers == PLAIN)) {
    return 1;
  }
  if (waited > PATIENCE_NS && here) {
    const int is_exact = !api->cancels_later;
    if (stack.is_wait ? stack.is_call && (steady || is_usual(running, &stack))
        : stack.place == CATCHES
            ? stack.is_call || stack.is_after_round || stack.is_first
            : is_exact && stack.is_after_round) {
      return 1;
    }
  }
  /* One that names a lock may be about to get it. But it is not to go from wait
   * to wait for ever. */
  const int moves = cpu_time(session, running) > running->seen_cpu + WORK_NS;
  return (waited > LONG_PATIENCE_NS && stack.place <= CATCHES &&
          stack.callers <= CATCHES) ||
         (waited > LONGEST_PATIENCE_NS && (moves || !steady));
}

/* After each instruction: up to 3.10. */
static int looks_anywhere(const struct HdApi* api) {
  return api->first_opcode == HD_NO_OFFSET;
}

static int comes_up_here(const struct HdApi* api,
                         const struct Stack* stack,
                         int is_steady) {
  if (api->cancels_later) {
    return is_steady && stack->is_call;
  }
  return looks_anywhere(api) || stack->is_call || stack->is_after_round ||
         stack->is_first;
}

/* For a while, at each look, it has been at that instruction, and nobody had
 * the GIL; or for longer, and it has hardly computed. One that waits for the
 * GIL gets it in between. */
static int is_steady(struct HdSession* session,
                     struct HdRunning* running,
                     const struct Stack* stack,
                     int was_free) {
  const int64_t now = hd_now();
  const int64_t cpu = cpu_time(session, running);
  if (stack->code != running->seen_code || stack->at != running->seen_at) {
    running->seen_code = stack->code;
    running->seen_at = stack->at;
    running->seen_since = running->free_since = now;
    running->seen_cpu = cpu;
  }
  if (!was_free) {
    running->free_since = now;
  }
  const int64_t seen = now - running->seen_since;
  return now - running->free_since > STEADY_NS ||
         (seen > LONG_STEADY_NS && cpu >= 0 && running->seen_cpu >= 0 &&
          (cpu - running->seen_cpu) * IDLE < seen);
}

/* Seen there oftener than elsewhere, and again and again: of several calls it
 * is the one that blocks. */
static int is_usual(struct HdRunning* running, const struct Stack* stack) {
  if (stack->code == running->usual_code && stack->at == running->usual_at) {
    return ++running->usual >= USUAL;
  }
  if (--running->usual < 0) {
    running->usual_code = stack->code;
    running->usual_at = stack->at;
    running->usual = 1;
  }
  return 0;
}

/* In ns; -1 where it cannot be had. */
static int64_t cpu_time(struct HdSession* session, struct HdRunning* running) {
  const int* const at = HD_LOAD(session->executor_tid);
  const int tid = at && running->thread == session->executor ? HD_LOAD(*at) : 0;
  int64_t time[2] = {0, 0};
  /* CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED (kernel/time/posix-cpu-timers.c).
   */
  if (tid <= 0 ||
      hd_syscall(SYS_clock_gettime, (long)(int)(~(unsigned)tid << 3 | 6),
                 (long)time, 0, 0, 0, 0) != 0) {
    return -1;
  }
  return time[0] * 1000000000L + time[1];
}

/* 3.11 makes objects for the frames that we ask for, and each may begin a
 * collection, in which code of the program runs that gives up the GIL. */
static int set_collecting(struct HdState* state, int on) {
  typedef int (*CollectFunction)(void);
  const struct HdApi* api = &state->region->api;
  if (!api->PyGC_Disable || !api->PyGC_Enable) {
    return 0;
  }
  return on ? HD_CALL(state, PyGC_Enable, CollectFunction)()
            : HD_CALL(state, PyGC_Disable, CollectFunction)();
}

/* Of what the expression has called; below it is our run(), and in a suspended
 * thread what the program does. */
static struct Stack read_stack(struct HdState* state, void* thread) {
  struct Stack stack = {PLAIN, PLAIN, 0, 0, 0, 0, 0, 0};
  int seen_other = 0;
  HdPyObject* frame = innermost(state, thread);
  for (int i = 0; frame && i < MOST_FRAMES; i++) {
    HdPyObject* code = code_of(state, frame);
    struct Whose whose = {0, 0};
    const enum Place by_name = place_of(state, code, 1, &whose);
    const enum Place place = i == 0 || !looks_anywhere(&state->region->api)
                                 ? place_of(state, code, 0, &whose)
                                 : by_name;
    if (i == 0) {
      find_instruction(state, frame, code, &stack);
      stack.is_wait = is_condition_wait(state, code);
    }
    drop(state, code);
    if (whose.is_run || (whose.is_ours && seen_other)) {
      break;
    }
    seen_other |= !whose.is_ours;
    if (i > 0 && place > stack.callers) {
      stack.callers = place;
    }
    const enum Place counts = i == 0 ? place : by_name;
    stack.place = counts > stack.place ? counts : stack.place;
    stack.is_wait &= by_name != LOCKS;
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
                           struct Whose* whose) {
  const struct HdApi* api = &state->region->api;
  HdPyObject* name_object = attribute(state, code, "co_name");
  HdPyObject* file_object = attribute(state, code, "co_filename");
  const char* name = text_of(state, name_object);
  const char* file = text_of(state, file_object);
  whose->is_ours = is_same(file, "<hangdbg>");
  whose->is_run = whose->is_ours && is_same(name, "run");
  enum Place place = PLAIN;
  if (is_of_locks(name)) {
    place = LOCKS;
  } else if (!by_its_name) {
    place =
        names_locks(state, code) || has_one_of(state, code, api->with_opcodes)
            ? LOCKS
        : has_one_of(state, code, api->try_opcodes) ? CATCHES
                                                    : PLAIN;
  }
  drop(state, name_object);
  drop(state, file_object);
  return place;
}

/* "" where it has none. */
static const char* text_of(struct HdState* state, HdPyObject* text) {
  const char* at =
      text ? HD_CALL(state, PyUnicode_AsUTF8, TextFunction)(text) : 0;
  HD_CALL(state, PyErr_Clear, VoidFunction)();
  return at ? at : "";
}

static int names_locks(struct HdState* state, HdPyObject* code) {
  int found = 0;
  HdPyObject* names = attribute(state, code, "co_names");
  const long count =
      names ? HD_CALL(state, PyTuple_Size, SizeFunction)(names) : 0;
  for (long i = 0; !found && i < count; i++) {
    found = is_of_locks(text_of(
        state, HD_CALL(state, PyTuple_GetItem, ItemFunction)(names, i)));
  }
  drop(state, names);
  return found;
}

static int has_one_of(struct HdState* state,
                      HdPyObject* code,
                      const uint64_t* opcodes) {
  const char* bytes = 0;
  HdPyObject* instructions = attribute(state, code, "co_code");
  const long size = bytes_of(state, instructions, &bytes);
  int found = size < 0;
  for (long i = 0; i < size && !found; i += 2) {
    found = is_one_of(opcodes, bytes[i]);
  }
  drop(state, instructions);
  return found;
}

static void find_instruction(struct HdState* state,
                             HdPyObject* frame,
                             HdPyObject* code,
                             struct Stack* stack) {
  const struct HdApi* api = &state->region->api;
  HdPyObject* number = attribute(state, frame, "f_lasti");
  stack->code = (uint64_t)code;
  stack->at = number ? (long)(int)HD_CALL(state, PyLong_AsUnsignedLongMask,
                                          NumberFunction)(number)
                     : 0;
  drop(state, number);
  const char* bytes = 0;
  HdPyObject* instructions = attribute(state, code, "co_code");
  const long size = bytes_of(state, instructions, &bytes);
  if (stack->at >= 0 && stack->at < size) {
    const char opcode = bytes[stack->at];
    stack->is_call = is_one_of(api->call_opcodes, opcode);
    stack->is_after_round = is_one_of(api->loop_opcodes, opcode);
    stack->is_first = (unsigned char)opcode == api->first_opcode;
  } else {
    stack->is_first = stack->at < 0;
  }
  drop(state, instructions);
}

static int is_condition_wait(struct HdState* state, HdPyObject* code) {
  HdPyObject* name = attribute(state, code, "co_name");
  HdPyObject* file = attribute(state, code, "co_filename");
  const int found = is_same(text_of(state, name), "wait") &&
                    ends(text_of(state, file), "threading.py");
  drop(state, name);
  drop(state, file);
  return found;
}

static int is_of_locks(const char* name) {
  return has(name, "acquire") || has(name, "release") || has(name, "flock") ||
         is_same(name, "lock") || is_same(name, "unlock") ||
         is_same(name, "lockf") || is_same(name, "lock_file") ||
         is_same(name, "unlock_file") || is_same(name, "__enter__") ||
         is_same(name, "__exit__");
}

static int ends(const char* text, const char* part) {
  for (; *text; text++) {
    if (is_same(text, part)) {
      return 1;
    }
  }
  return 0;
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
