/* Line breakpoints, and exceptions, where they need a trace function (up to
 * 3.11).
 *
 * The agent says which lines of a code object have them (`classify`), once
 * each, before it is run; what it said is kept by the code's address. The
 * evaluator has frames of such code traced, and no others; those that run
 * already are found on the stacks. Where exceptions are wanted, all threads
 * are traced. on_line and on_error are called in the program's own thread, and
 * may keep it for hours.
 *
 * The GIL's holder may change all this while other threads are in classify or
 * on_line: `generation` says which answers count. */
#include "injector/bootstrap/tracing.h"

#define AT_ONCE 64       /* code objects to ask about */
#define MOST_ROUNDS 4096 /* where there is no memory for what is said */
#define LONGEST_WAIT_NS 500000000L /* for frames of ours */

typedef uint64_t (*SelfFunction)(void);
typedef HdPyObject* (*TupleGetFunction)(HdPyObject*, long);
typedef long (*SizeFunction)(HdPyObject*);
typedef unsigned long (*AsNumberFunction)(HdPyObject*);
typedef int (*LineFunction)(HdPyObject*);
typedef void* (*ThreadFunction)(void);
typedef void* (*NextFunction)(void*);
typedef void (*ObjectFunction)(HdPyObject*);

static void end(struct HdState* state);
static int is_left(const struct HdState* state, uint64_t base);
static int look_at_stacks(struct HdState* state);
static int find_unasked(struct HdState* state, uint64_t* codes);
static void trace_threads(struct HdState* state);
static void* next_thread(struct HdState* state, const void* thread);
static int has_line(struct HdState* state, HdPyObject* lines, unsigned line);
static uint64_t code_of(const struct HdState* state, HdPyObject* frame_object);
static void set(struct HdState* state, HdPyObject** place, HdPyObject* value);

/* (classify, on_line, on_error): before a line of code is run that is among
 * classify(code), a tuple or None, on_line(frame) is called, from now on and in
 * all threads of the main interpreter; and in each frame that an exception
 * passes, on_error(frame, (type, value, traceback)), unless that is None. What
 * they raise comes up there. (None, None, None): no more. */
HdPyObject* hd_builtin_break_lines(HdPyObject* self, HdPyObject* args) {
  (void)self;
  struct HdState* state = hd_state();
  struct HdBreaks* breaks = &state->breaks;
  const TupleGetFunction get =
      HD_CALL(state, PyTuple_GetItem, TupleGetFunction);
  HdPyObject* classify = get(args, 0);
  HdPyObject* on_line = get(args, 1);
  HdPyObject* on_error = get(args, 2);
  HdPyObject* none = (HdPyObject*)state->region->api.none;
  const struct HdSession* session =
      hd_executors_session(state, HD_CALL(state, pthread_self, SelfFunction)());
  const int elsewhere = session && session->interpreter;
  if (on_line == none) {
    if (!elsewhere) {
      end(state);
    }
    return hd_none(state);
  }
  if (!hd_can_trace(state) || elsewhere) {
    return hd_raise(state, "no breakpoints in this interpreter");
  }
  if (!hd_evaluator_set(state)) {
    return hd_raise(state,
                    "no breakpoints: the program has a frame evaluator that "
                    "this Python cannot put back");
  }
  breaks->switches = hd_module(state, "greenlet") != 0;
  breaks->generation++;
  hd_forget_answers(state);
  set(state, &breaks->classify, classify);
  set(state, &breaks->on_line, on_line);
  set(state, &breaks->on_error, on_error == none ? 0 : on_error);
  return look_at_stacks(state) ? hd_none(state) : 0;
}

static void end(struct HdState* state) {
  struct HdBreaks* breaks = &state->breaks;
  if (!breaks->is_set && !breaks->waits) {
    return;
  }
  hd_evaluator_remove(state);
  breaks->waits = 0;
  breaks->switches = 0;
  breaks->generation++;
  set(state, &breaks->classify, 0);
  set(state, &breaks->on_line, 0);
  set(state, &breaks->on_error, 0);
  trace_threads(state);
  hd_forget_answers(state);
}

void hd_breaks_leave(struct HdState* state) {
  end(state);
  while (state->breaks.calls) {
    hd_nap(state);
  }
  /* Most threads leave our frames soon, and then nothing stays. */
  const int64_t until = hd_now() + LONGEST_WAIT_NS;
  while (state->breaks.frames && hd_now() < until) {
    hd_nap(state);
  }
  HD_STORE(state->region->stays,
           state->breaks.frames || state->breaks.is_set ? HD_STAYS : HD_GOES);
}

void hd_unmap_left(struct HdState* state) {
  for (int i = 0; i < HD_MAX_LEFT; i++) {
    const uint64_t base = state->region->left[i];
    state->region->left[i] = 0;
    if (base && is_left(state, base)) {
      hd_unmap((char*)base,
               ((const struct HdRegion*)(base + (uint64_t)state->region -
                                         state->base))
                   ->total_size);
    }
  }
}

/* An image of the same build, with no thread in it or on its way there: a
 * thread that leaves such a frame holds the GIL, as we do, until it is out of
 * it. Another agent may have unmapped it. */
static int is_left(const struct HdState* state, uint64_t base) {
  const struct HdImageHeader* own = (const struct HdImageHeader*)state->base;
  const uint64_t here = base - state->base;
  uint64_t magic = 0;
  uint64_t size = 0;
  uint64_t stays = 0;
  uint64_t frames = 0;
  uint64_t is_set = 0;
  return hd_read_word(base, &magic) && magic == HD_MAGIC &&
         hd_read_word(here + (uint64_t)&own->image_size, &size) &&
         (uint32_t)size == own->image_size &&
         hd_read_word(here + (uint64_t)&state->region->stays, &stays) &&
         (uint32_t)stays == HD_STAYS_ALONE &&
         hd_read_word(here + (uint64_t)&state->breaks.frames, &frames) &&
         (uint32_t)frames == 0 &&
         hd_read_word(here + (uint64_t)&state->breaks.is_set, &is_set) &&
         (uint32_t)is_set == 0;
}

/* Frames that run already: every thread that has one with breakpoints on its
 * stack is traced, until that has returned. To ask is to let others run, so it
 * is looked again until there is nothing to ask. */
static int look_at_stacks(struct HdState* state) {
  const uint32_t generation = state->breaks.generation;
  uint64_t codes[AT_ONCE];
  for (int round = 0; round < MOST_ROUNDS; round++) {
    const int count = find_unasked(state, codes);
    int failed = 0;
    for (int i = 0; i < count; i++) {
      failed = failed || !hd_ask(state, codes[i]);
      HD_CALL(state, Py_DecRef, ObjectFunction)((HdPyObject*)codes[i]);
    }
    if (failed) {
      return 0;
    }
    if (generation != state->breaks.generation) {
      return 1; /* another one has looked since */
    }
    if (count == 0) {
      break;
    }
  }
  trace_threads(state);
  return 1;
}

/* Code on any stack that has not been asked about; a reference to each. */
static int find_unasked(struct HdState* state, uint64_t* codes) {
  int count = 0;
  for (void* thread = next_thread(state, 0); thread;
       thread = next_thread(state, thread)) {
    for (uint64_t frame = hd_innermost(state, thread); frame;
         frame = HD_FIELD(state, frame, frame_previous, uint64_t)) {
      const uint64_t code = HD_FIELD(state, frame, frame_code, uint64_t);
      int known = hd_answer(state, code) != 0;
      for (int i = 0; i < count && !known; i++) {
        known = codes[i] == code;
      }
      if (!known && count < AT_ONCE) {
        HD_CALL(state, Py_IncRef, ObjectFunction)((HdPyObject*)code);
        codes[count++] = code;
      }
    }
  }
  return count;
}

static void trace_threads(struct HdState* state) {
  for (void* thread = next_thread(state, 0); thread;
       thread = next_thread(state, thread)) {
    if (hd_has_breaks(state, thread, hd_innermost(state, thread))) {
      hd_trace_thread(state, thread, HD_TRACED_FOR_STACK);
    } else if (!hd_is_stepped(
                   state, HD_FIELD(state, thread, thread_ident, uint64_t))) {
      hd_trace_thread(state, thread, HD_NOT_TRACED);
    }
  }
}

/* Of the main interpreter; after 0 the first, and after one that has ended: a
 * hook of sys.audit, which is asked when a trace function is set, may let
 * others run. */
static void* next_thread(struct HdState* state, const void* thread) {
  void* first = HD_CALL(state, PyInterpreterState_ThreadHead, NextFunction)(
      HD_CALL(state, PyInterpreterState_Main, ThreadFunction)());
  const NextFunction next = HD_CALL(state, PyThreadState_Next, NextFunction);
  for (void* at = first; thread && at; at = next(at)) {
    if (at == thread) {
      return next(at);
    }
  }
  return first;
}

/* What a client evaluates is not looked at. */
int hd_is_always_traced(struct HdState* state, const void* thread) {
  return hd_traces_all(state) &&
         !hd_executors_session(state,
                               HD_FIELD(state, thread, thread_ident, uint64_t));
}

int hd_has_breaks(struct HdState* state, const void* thread, uint64_t frame) {
  if (hd_is_always_traced(state, thread)) {
    return 1;
  }
  for (; frame && state->breaks.on_line;
       frame = HD_FIELD(state, frame, frame_previous, uint64_t)) {
    const struct HdAnswer* answer =
        hd_answer(state, HD_FIELD(state, frame, frame_code, uint64_t));
    if (answer && answer->lines) {
      return 1;
    }
  }
  return 0;
}

uint64_t hd_innermost(const struct HdState* state, const void* thread) {
  if (state->region->api.thread_frame != HD_NO_OFFSET) {
    return HD_FIELD(state, thread, thread_frame, uint64_t);
  }
  const uint64_t cframe = HD_FIELD(state, thread, thread_cframe, uint64_t);
  return cframe ? HD_FIELD(state, cframe, cframe_current_frame, uint64_t) : 0;
}

enum HdReached hd_reach_line(struct HdState* state, HdPyObject* frame_object) {
  const uint64_t code = code_of(state, frame_object);
  if (!hd_answer(state, code) && hd_traces_all(state) && !hd_ask(state, code)) {
    return HD_RAISED; /* of a frame that we have not seen begin */
  }
  const struct HdAnswer* answer = hd_answer(state, code);
  if (!answer || !answer->lines) {
    return HD_NOT_ASKED;
  }
  const unsigned line = (unsigned)HD_CALL(state, PyFrame_GetLineNumber,
                                          LineFunction)(frame_object);
  if (!(answer->some_lines >> line % 64 & 1) ||
      !has_line(state, answer->lines, line) || hd_is_forked(state)) {
    return HD_NOT_ASKED;
  }
  HdPyObject* result =
      hd_call_agent(state, state->breaks.on_line, frame_object, 0);
  if (!result) {
    return HD_RAISED;
  }
  HD_CALL(state, Py_DecRef, ObjectFunction)(result);
  return HD_ASKED;
}

int hd_reach_error(struct HdState* state,
                   HdPyObject* frame_object,
                   HdPyObject* error) {
  if (hd_is_forked(state)) {
    return 1;
  }
  HdPyObject* result =
      hd_call_agent(state, state->breaks.on_error, frame_object, error);
  if (result) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(result);
  }
  return result != 0;
}

int hd_look_again(struct HdState* state) {
  return !hd_evaluator_set(state) || state->breaks.waits ||
         look_at_stacks(state);
}

static int has_line(struct HdState* state, HdPyObject* lines, unsigned line) {
  const long count = HD_CALL(state, PyTuple_Size, SizeFunction)(lines);
  for (long i = 0; i < count; i++) {
    if (HD_CALL(state, PyLong_AsUnsignedLongMask, AsNumberFunction)(HD_CALL(
            state, PyTuple_GetItem, TupleGetFunction)(lines, i)) == line) {
      return 1;
    }
  }
  return 0;
}

static uint64_t code_of(const struct HdState* state, HdPyObject* frame_object) {
  const uint64_t frame =
      state->region->api.frame_inner == HD_NO_OFFSET
          ? (uint64_t)frame_object
          : HD_FIELD(state, frame_object, frame_inner, uint64_t);
  return HD_FIELD(state, frame, frame_code, uint64_t);
}

static void set(struct HdState* state, HdPyObject** place, HdPyObject* value) {
  HdPyObject* before = *place;
  if (value) {
    HD_CALL(state, Py_IncRef, ObjectFunction)(value);
  }
  *place = value;
  if (before) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(before);
  }
}
