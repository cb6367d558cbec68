/* What trace.c, breaks.c and evaluator.c know of each other. All of it with the
 * GIL, on Pythons that have no sys.monitoring (3.7 to 3.11). A `thread` is a
 * PyThreadState, a `frame` what the evaluator is given: a PyFrameObject, from
 * 3.11 on a _PyInterpreterFrame. */
#ifndef HANGDBG_TRACING_H
#define HANGDBG_TRACING_H

#include "injector/bootstrap/bootstrap.h"

/* A field of one of CPython's structures, by its offset in struct HdApi. */
#define HD_FIELD(state, object, offset, type) \
  (*(type*)((uint64_t)(object) + (state)->region->api.offset))

static inline int hd_can_trace(const struct HdState* state) {
  return state->region->api.thread_tracer != HD_NO_OFFSET;
}

/* How long our trace function stays in a thread. */
enum HdTracing {
  HD_NOT_TRACED = 0,
  HD_TRACED_FOR_CALL = 1,  /* until the evaluator changes it */
  HD_TRACED_FOR_STACK = 2, /* until no frame on its stack has breakpoints */
};

/* trace.c */
static inline int hd_is_traced(const struct HdState* state,
                               const void* thread) {
  return HD_FIELD(state, thread, thread_tracer, uint64_t) - state->base <
         state->region->total_size;
}
enum HdTracing hd_tracing_of(const struct HdState* state, const void* thread);
/* Puts our trace function before the program's own, or takes it away. */
void hd_trace_thread(struct HdState* state, void* thread, enum HdTracing how);
int hd_is_stepped(struct HdState* state, uint64_t ident);
/* After a tracer or a profiler of it has been put or taken away. */
void hd_use_tracing(struct HdState* state, void* thread);

/* answers.c: what classify said of a code object. */
struct HdAnswer {
  uint64_t code; /* 0: the place is free */
  uint64_t filename;
  uint64_t some_lines; /* the bits of line % 64 */
  HdPyObject* lines;   /* a tuple; 0: none */
  uint32_t first_line;
};
/* The code's, or the free one where it would be. */
static inline struct HdAnswer* hd_place(const struct HdBreaks* breaks,
                                        uint64_t code) {
  uint64_t at = (code >> 4) * 0x9e3779b97f4a7c15UL >> 20;
  for (;; at++) {
    struct HdAnswer* answer = &breaks->answers[at & (breaks->capacity - 1)];
    if (!answer->code || answer->code == code) {
      return answer;
    }
  }
}
/* 0: there is no answer yet. */
static inline const struct HdAnswer* hd_answer(const struct HdState* state,
                                               uint64_t code) {
  if (!state->breaks.answers) {
    return 0;
  }
  const struct HdAnswer* answer = hd_place(&state->breaks, code);
  return answer->code == code &&
                 HD_FIELD(state, code, code_filename, uint64_t) ==
                     answer->filename &&
                 HD_FIELD(state, code, code_first_line, uint32_t) ==
                     answer->first_line
             ? answer
             : 0;
}
/* Asks, in this thread. 0 if that raises something, which is the program's. */
int hd_ask(struct HdState* state, uint64_t code);
void hd_forget_answers(struct HdState* state);
/* One of its functions, in a thread of the program; `second` may be 0. */
HdPyObject* hd_call_agent(struct HdState* state,
                          HdPyObject* function,
                          HdPyObject* first,
                          HdPyObject* second);

/* breaks.c */
enum HdReached {
  HD_NOT_ASKED = 0, /* the line has no breakpoint */
  HD_ASKED = 1,
  HD_RAISED = 2,
};
/* A line is reached: on_line is called if it has one. */
enum HdReached hd_reach_line(struct HdState* state, HdPyObject* frame_object);
/* An exception is raised in a frame, or comes back to it. 0 if on_error has
 * raised another. */
int hd_reach_error(struct HdState* state,
                   HdPyObject* frame_object,
                   HdPyObject* error);
/* Whether all threads are: for exceptions, until the evaluator is set, or since
 * a thread may resume in a frame of a greenlet's at any time. */
static inline int hd_traces_all(const struct HdState* state) {
  return state->breaks.on_error || state->breaks.waits ||
         state->breaks.switches;
}
/* And that one is. */
int hd_is_always_traced(struct HdState* state, const void* thread);
/* That; or a frame has breakpoints, of this one and its callers. */
int hd_has_breaks(struct HdState* state, const void* thread, uint64_t frame);
/* While the evaluator waits: perhaps it can be set now. 0 if that raises
 * something. */
int hd_look_again(struct HdState* state);
uint64_t hd_innermost(const struct HdState* state, const void* thread);

/* evaluator.c: 0 if it cannot be set; or it `waits`. */
int hd_evaluator_set(struct HdState* state);
/* Where another one has been put before it since, it stays until that is gone.
 */
void hd_evaluator_remove(struct HdState* state);

/* dynamo.c */
int hd_is_dynamos(struct HdState* state, uint64_t evaluator);

#endif
