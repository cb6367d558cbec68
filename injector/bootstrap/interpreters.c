/* Into the interpreter that a session wants, and out of it.
 *
 * A frame is to be used in its interpreter only: where each has its GIL no
 * object may cross. PyGILState_Ensure knows the main one only, and ends the
 * process where there is no memory for a thread state. So we make that
 * ourselves, and for one request: an interpreter that is ended while a foreign
 * thread state is in it takes the process down (Py_EndInterpreter).
 *
 * An interpreter may end at any time, and its memory with it. So it is looked
 * for each time, and read by the kernel. */
#include <sys/uio.h>

#include "injector/bootstrap/bootstrap.h"
#include "injector/bootstrap/syscalls_x86_64.h"

#define MOST_INTERPRETERS 1024
#define MOST_THREADS 16384

typedef int (*EnsureFunction)(void);
typedef void (*ReleaseFunction)(int);
typedef void* (*InterpreterFunction)(void);
typedef void* (*NewFunction)(void*);
typedef void (*ThreadFunction)(void*);
typedef void (*DeleteFunction)(void);

static void* new_thread(struct HdState* state, uint32_t interpreter);
static uint64_t find_interpreter(uint32_t wanted);
static void hide(struct HdState* state, int change);

int hd_enter(struct HdSession* session, struct HdEntry* entry) {
  struct HdState* state = session->state;
  const struct HdApi* api = &state->region->api;
  const int can_make = api->PyThreadState_New && api->PyThreadState_Clear &&
                       api->PyThreadState_DeleteCurrent &&
                       api->PyEval_AcquireThread &&
                       api->PyInterpreterState_Main;
  entry->interpreter = HD_LOAD(session->interpreter);
  entry->thread = 0;
  if (can_make) {
    entry->thread = new_thread(state, entry->interpreter);
    if (!entry->thread) {
      return 0;
    }
    HD_CALL(state, PyEval_AcquireThread, ThreadFunction)(entry->thread);
  } else if (entry->interpreter) {
    return 0;
  } else {
    entry->gil = HD_CALL(state, PyGILState_Ensure, EnsureFunction)();
  }
  if (!entry->interpreter) {
    hide(state, 1);
  }
  return 1;
}

/* 0 where there is no such interpreter, or no memory. */
static void* new_thread(struct HdState* state, uint32_t interpreter) {
  void* found = interpreter ? (void*)find_interpreter(interpreter)
                            : HD_CALL(state, PyInterpreterState_Main,
                                      InterpreterFunction)();
  if (!found) {
    return 0;
  }
  const int64_t since = hd_hold_forks(state);
  void* made = HD_CALL(state, PyThreadState_New, NewFunction)(found);
  hd_let_fork(state, since);
  return made;
}

void hd_exit(struct HdSession* session, struct HdEntry entry) {
  struct HdState* state = session->state;
  if (!entry.interpreter) {
    hide(state, -1);
  }
  if (!entry.thread) {
    HD_CALL(state, PyGILState_Release, ReleaseFunction)(entry.gil);
    return;
  }
  HD_CALL(state, PyThreadState_Clear, ThreadFunction)(entry.thread);
  HD_CALL(state, PyThreadState_DeleteCurrent, DeleteFunction)();
}

/* Its thread has ended in the middle of them. Some are on its stack, which the
 * libc writes over at the thread's end, and gives back but for the end: code
 * that walks all threads' frames (sys._current_frames, a collection in a
 * free-threaded Python) must not reach them. */
void hd_forget_frames(struct HdSession* session) {
  struct HdState* state = session->state;
  const struct HdApi* api = &state->region->api;
  char* thread = HD_LOAD(session->thread_state);
  if (thread && api->thread_frames != HD_NO_OFFSET) {
    void** const frames = (void**)(thread + api->thread_frames);
    HD_STORE(*frames, api->frames_are_behind ? state->no_frames : 0);
  }
}

/* From 3.12 on cProfile counts the calls of all threads. Before, our guard of
 * the stack is a profile function. */
static void hide(struct HdState* state, int change) {
  if (!state->region->api.Py_GetRecursionLimit) {
    hd_untraced(state, change);
  }
}

int hd_gil_is_free(struct HdSession* session) {
  const struct HdApi* api = &session->state->region->api;
  if (hd_is_free_threaded(session->state)) {
    return 0; /* whether a pause can be had is seen out of process */
  }
  if (!session->interpreter || api->interpreter_gil == HD_NO_OFFSET) {
    return !api->gil_locked ||
           __atomic_load_n((int*)api->gil_locked, __ATOMIC_ACQUIRE) == 0;
  }
  const uint64_t interpreter = find_interpreter(session->interpreter);
  uint64_t gil = 0;
  uint64_t locked = 0;
  return !interpreter ||
         !hd_read_word(interpreter + api->interpreter_gil, &gil) ||
         !hd_read_word(gil + api->gil_locked_offset, &locked) ||
         (uint32_t)locked == 0;
}

/* Up to 3.13 sys._current_frames() has the frames of all interpreters, and of a
 * thread that is in two of them those of the older one. */
HdPyObject* hd_current_frames(struct HdSession* session) {
  typedef HdPyObject* (*NewDictFunction)(void);
  typedef HdPyObject* (*FrameFunction)(void*);
  typedef HdPyObject* (*NumberFunction)(long);
  typedef int (*SetFunction)(HdPyObject*, HdPyObject*, HdPyObject*);
  typedef void (*ObjectFunction)(HdPyObject*);
  typedef uint64_t (*SelfFunction)(void);
  struct HdState* state = session->state;
  const struct HdApi* api = &state->region->api;
  uint64_t thread = 0;
  uint64_t older = 0;
  if (!hd_is_free_threaded(state)) {
    hd_read_word(api->interpreters_head, &thread);
    hd_read_word(thread + api->interpreter_next, &older);
  }
  if (!older && !hd_is_free_threaded(state)) {
    HD_CALL(state, Py_IncRef, ObjectFunction)((HdPyObject*)api->none);
    return (HdPyObject*)api->none;
  }
  HdPyObject* frames = HD_CALL(state, PyDict_New, NewDictFunction)();
  const uint64_t own =
      hd_is_free_threaded(state)
          ? (uint64_t)HD_CALL(state, PyInterpreterState_Get, NewDictFunction)()
          : find_interpreter(session->interpreter);
  const uint64_t self = HD_CALL(state, pthread_self, SelfFunction)();
  thread = 0;
  /* Where sys._current_frames() would make one by itself. */
  if (!frames || !hd_pause(session)) {
    if (frames) {
      HD_CALL(state, Py_DecRef, ObjectFunction)(frames);
    }
    return 0;
  }
  hd_read_word(own + api->interpreter_threads, &thread);
  for (int i = 0; frames && thread && i < MOST_THREADS; i++) {
    uint64_t ident = 0;
    uint64_t frame = 0;
    hd_read_word(thread + api->thread_ident, &ident);
    if (hd_is_free_threaded(state) && ident == self &&
        !hd_held_session(state, self)) {
      /* Ours: a frame that refers to itself would live on. */
    } else if (api->PyThreadState_GetFrame) {
      frame = (uint64_t)HD_CALL(state, PyThreadState_GetFrame,
                                FrameFunction)((void*)thread);
    } else if (hd_read_word(thread + api->thread_frame, &frame) && frame) {
      HD_CALL(state, Py_IncRef, ObjectFunction)((HdPyObject*)frame);
    }
    if (frame && hd_is_free_threaded(state)) {
      frame = (uint64_t)hd_stack(state, (HdPyObject*)frame);
    }
    HdPyObject* key =
        frame ? HD_CALL(state, PyLong_FromLong, NumberFunction)((long)ident)
              : 0;
    if (key) {
      HD_CALL(state, PyObject_SetItem, SetFunction)
      (frames, key, (HdPyObject*)frame);
      HD_CALL(state, Py_DecRef, ObjectFunction)(key);
    }
    if (frame) {
      HD_CALL(state, Py_DecRef, ObjectFunction)((HdPyObject*)frame);
    }
    if (!hd_read_word(thread + api->thread_next, &thread)) {
      break;
    }
  }
  hd_resume(session);
  return frames;
}

uint64_t hd_thread_state(struct HdState* state, uint64_t ident) {
  const struct HdApi* api = &state->region->api;
  uint64_t thread = 0;
  hd_read_word(find_interpreter(0) + api->interpreter_threads, &thread);
  for (int i = 0; thread && i < MOST_THREADS; i++) {
    uint64_t of = 0;
    hd_read_word(thread + api->thread_ident, &of);
    if (of == ident) {
      return thread;
    }
    if (!hd_read_word(thread + api->thread_next, &thread)) {
      break;
    }
  }
  return 0;
}

static uint64_t find_interpreter(uint32_t wanted) {
  if (hd_state()->region->forbidden & HD_FORBIDS_READ_SELF) {
    return 0;
  }
  const struct HdApi* api = &hd_state()->region->api;
  uint64_t at = 0;
  hd_read_word(api->interpreters_head, &at);
  for (int i = 0; at && i < MOST_INTERPRETERS; i++) {
    uint64_t id = 0;
    if (!hd_read_word(at + api->interpreter_id, &id) || id == wanted) {
      return id == wanted ? at : 0;
    }
    if (!hd_read_word(at + api->interpreter_next, &at)) {
      return 0;
    }
  }
  return 0;
}

/* Where a filter forbids that, not at all, and other interpreters than the main
 * one cannot be entered; but without a GIL the threads are read in a pause. */
int hd_read_word(uint64_t at, uint64_t* word) {
  const struct HdState* state = hd_state();
  if (state->region->forbidden & HD_FORBIDS_READ_SELF) {
    if (hd_is_free_threaded(state)) {
      *word = *(const uint64_t*)at;
      return 1;
    }
    return 0;
  }
  const long self = hd_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
  const struct iovec to = {word, sizeof *word};
  const struct iovec from = {(void*)at, sizeof *word};
  return hd_syscall(SYS_process_vm_readv, self, (long)&to, 1, (long)&from, 1,
                    0) == sizeof *word;
}
