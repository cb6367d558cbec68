/* What the agent has said of each code object: which of its lines have
 * breakpoints. Asked once, before the code is run, and kept by its address in a
 * hash table; with some of its fields, for it may be freed and another one be
 * there. */
#include "injector/bootstrap/tracing.h"

#define FIRST_CAPACITY 4096 /* a power of two */

typedef long (*SizeFunction)(HdPyObject*);
typedef unsigned long (*AsNumberFunction)(HdPyObject*);
typedef HdPyObject* (*TupleGetFunction)(HdPyObject*, long);
typedef void (*ObjectFunction)(HdPyObject*);
typedef void (*FetchFunction)(HdPyObject**, HdPyObject**, HdPyObject**);
typedef void (*RestoreErrorFunction)(HdPyObject*, HdPyObject*, HdPyObject*);

static void keep(struct HdState* state, uint64_t code, HdPyObject* lines);
static int make_room(struct HdBreaks* breaks);

/* As if in a trace function: nothing that runs meanwhile is asked about. What
 * is thrown into a generator may be on its way. */
int hd_ask(struct HdState* state, uint64_t code) {
  struct HdBreaks* breaks = &state->breaks;
  const uint32_t generation = breaks->generation;
  HdPyObject* error[3] = {0, 0, 0};
  HdPyObject* lines = 0;
  HD_CALL(state, PyErr_Fetch, FetchFunction)(&error[0], &error[1], &error[2]);
  if (!breaks->classify || hd_is_forked(state)) {
    lines = hd_none(state);
  } else {
    /* 3.11 keeps beside the count whether it is worth a look: that is made
     * anew when other threads have changed what this one is traced by. */
    hd_untraced(state, 1);
    lines = hd_call_agent(state, breaks->classify, (HdPyObject*)code, 0);
    hd_untraced(state, -1);
  }
  if (lines && breaks->classify && generation == breaks->generation) {
    keep(state, code, lines);
  }
  if (lines) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(lines);
  }
  if (lines || error[0]) {
    HD_CALL(state, PyErr_Restore, RestoreErrorFunction)
    (error[0], error[1], error[2]);
  }
  return lines != 0;
}

/* Where there is no memory for it, it is asked again. */
static void keep(struct HdState* state, uint64_t code, HdPyObject* lines) {
  struct HdBreaks* breaks = &state->breaks;
  if (!make_room(breaks)) {
    return;
  }
  struct HdAnswer* answer = hd_place(breaks, code);
  HdPyObject* before = answer->lines;
  breaks->used += !answer->code;
  *answer = (struct HdAnswer){.code = code};
  answer->filename = HD_FIELD(state, code, code_filename, uint64_t);
  answer->first_line = HD_FIELD(state, code, code_first_line, uint32_t);
  const long count = lines == (HdPyObject*)state->region->api.none
                         ? 0
                         : HD_CALL(state, PyTuple_Size, SizeFunction)(lines);
  for (long i = 0; i < count; i++) {
    answer->some_lines |=
        1UL << HD_CALL(state, PyLong_AsUnsignedLongMask,
                       AsNumberFunction)(HD_CALL(state, PyTuple_GetItem,
                                                 TupleGetFunction)(lines, i)) %
                   64;
  }
  if (count > 0) {
    HD_CALL(state, Py_IncRef, ObjectFunction)(lines);
    answer->lines = lines;
  }
  if (before) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(before);
  }
}

/* For one more: at most half of the places are used. */
static int make_room(struct HdBreaks* breaks) {
  if (breaks->used * 2 < breaks->capacity) {
    return 1;
  }
  const struct HdBreaks old = *breaks;
  const uint64_t capacity = old.capacity ? old.capacity * 2 : FIRST_CAPACITY;
  struct HdAnswer* answers =
      (struct HdAnswer*)hd_map(capacity * sizeof *answers);
  if (!answers) {
    return 0;
  }
  breaks->answers = answers;
  breaks->capacity = capacity;
  for (uint64_t i = 0; i < old.capacity; i++) {
    if (old.answers[i].code) {
      *hd_place(breaks, old.answers[i].code) = old.answers[i];
    }
  }
  if (old.answers) {
    hd_unmap((char*)old.answers, old.capacity * sizeof *answers);
  }
  return 1;
}

void hd_forget_answers(struct HdState* state) {
  const struct HdBreaks old = state->breaks;
  state->breaks.answers = 0;
  state->breaks.capacity = 0;
  state->breaks.used = 0;
  for (uint64_t i = 0; i < old.capacity; i++) {
    if (old.answers[i].lines) {
      HD_CALL(state, Py_DecRef, ObjectFunction)(old.answers[i].lines);
    }
  }
  if (old.answers) {
    hd_unmap((char*)old.answers, old.capacity * sizeof *old.answers);
  }
}

HdPyObject* hd_call_agent(struct HdState* state,
                          HdPyObject* function,
                          HdPyObject* first,
                          HdPyObject* second) {
  HD_CALL(state, Py_IncRef, ObjectFunction)(function);
  HD_CALL(state, Py_IncRef, ObjectFunction)(first);
  if (second) {
    HD_CALL(state, Py_IncRef, ObjectFunction)(second);
  }
  state->breaks.calls++;
  HdPyObject* result = hd_call_aside(state, function, first, second);
  HD_CALL(state, Py_DecRef, ObjectFunction)(function);
  state->breaks.calls--;
  return result;
}
