/* The locals of a frame, read and written.
 *
 * Up to 3.12 f_locals is a snapshot that stays with the frame, and with it the
 * values of that moment: tensors, perhaps, which the program has long dropped.
 * So what reading it made is dropped again; what was there before (the
 * program called locals(), or is being traced) is left alone. From 3.13 on it
 * is a view of the frame, which without a GIL is to be used in a pause. */
#include "injector/bootstrap/bootstrap.h"

typedef HdPyObject* (*NewFunction)(void);
typedef HdPyObject* (*AttributeFunction)(HdPyObject*, const char*);
typedef HdPyObject* (*FrameFunction)(HdPyObject*);
typedef HdPyObject* (*GetFunction)(HdPyObject*, HdPyObject*);
typedef HdPyObject* (*GetNamedFunction)(HdPyObject*, const char*);
typedef int (*SetFunction)(HdPyObject*, HdPyObject*, HdPyObject*);
typedef int (*TwoFunction)(HdPyObject*, HdPyObject*);
typedef const char* (*Utf8Function)(HdPyObject*);
typedef void (*LocalsFunction)(HdPyObject*, int);
typedef void (*ObjectFunction)(HdPyObject*);
typedef void (*VoidFunction)(void);

static HdPyObject* f_locals(struct HdState* state, HdPyObject* frame);
static HdPyObject** snapshot_of(struct HdState* state, HdPyObject* frame);
static int has_snapshot(struct HdState* state, HdPyObject* frame);
static void drop_snapshot(struct HdState* state, HdPyObject* frame);
static HdPyObject* value_in(struct HdState* state,
                            HdPyObject* names,
                            HdPyObject* name);
static void let_go(struct HdState* state, HdPyObject* object);

HdPyObject* hd_f_locals(struct HdSession* session, HdPyObject* frame) {
  if (!hd_pause(session)) {
    return 0;
  }
  HdPyObject* locals = f_locals(session->state, frame);
  hd_resume(session);
  return locals;
}

HdPyObject* hd_locals_of(struct HdSession* session, HdPyObject* frame) {
  struct HdState* state = session->state;
  HdPyObject* copy = HD_CALL(state, PyDict_New, NewFunction)();
  if (!copy || !hd_pause(session)) {
    let_go(state, copy);
    return 0;
  }
  const int had_snapshot = has_snapshot(state, frame);
  HdPyObject* locals = f_locals(state, frame);
  const int failed =
      !locals || HD_CALL(state, PyDict_Update, TwoFunction)(copy, locals) != 0;
  hd_resume(session);
  if (!had_snapshot) {
    drop_snapshot(state, frame);
  }
  let_go(state, locals);
  if (failed) {
    let_go(state, copy);
    return 0;
  }
  return copy;
}

/* PyFrame_LocalsToFast writes *all* of a snapshot back, so nothing may run
 * between taking it and the end of that call. The value that is replaced goes
 * last: its finaliser may let the frame's thread in. */
int hd_set_local(struct HdSession* session,
                 HdPyObject* frame,
                 HdPyObject* name,
                 HdPyObject* value) {
  struct HdState* state = session->state;
  if (!hd_pause(session)) {
    return 0;
  }
  const int had_snapshot = has_snapshot(state, frame);
  HdPyObject* locals = f_locals(state, frame);
  HdPyObject* replaced = locals ? value_in(state, locals, name) : 0;
  int failed = 1;
  if (locals && value) {
    failed = HD_CALL(state, PyObject_SetItem, SetFunction)(locals, name, value);
  } else if (locals) {
    failed = HD_CALL(state, PyObject_DelItem, TwoFunction)(locals, name);
  }
  hd_resume(session);
  if (!failed && state->region->api.PyFrame_LocalsToFast) {
    /* clear=1: a name that is not in the dict is unbound in the frame. */
    HD_CALL(state, PyFrame_LocalsToFast, LocalsFunction)(frame, !value);
  }
  if (locals && !had_snapshot) {
    drop_snapshot(state, frame);
  }
  let_go(state, locals);
  let_go(state, replaced);
  return !failed;
}

static HdPyObject* f_locals(struct HdState* state, HdPyObject* frame) {
  /* Without a look-up, which takes locks. */
  return hd_is_free_threaded(state)
             ? HD_CALL(state, PyFrame_GetLocals, FrameFunction)(frame)
             : HD_CALL(state, PyObject_GetAttrString, AttributeFunction)(
                   frame, "f_locals");
}

/* Where the frame has it now; 0 from 3.13 on. */
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

static int has_snapshot(struct HdState* state, HdPyObject* frame) {
  HdPyObject** place = snapshot_of(state, frame);
  return place && *place;
}

static void drop_snapshot(struct HdState* state, HdPyObject* frame) {
  HdPyObject** place = snapshot_of(state, frame);
  if (place && *place) {
    HdPyObject* made = *place;
    *place = 0;
    HD_CALL(state, Py_DecRef, ObjectFunction)(made);
  }
}

/* A reference to the value of a name, or 0. Of a snapshot without an exception:
 * to make one may run the collector. */
static HdPyObject* value_in(struct HdState* state,
                            HdPyObject* names,
                            HdPyObject* name) {
  HdPyObject* value = 0;
  if (state->region->api.PyFrame_LocalsToFast) {
    const char* utf8 = HD_CALL(state, PyUnicode_AsUTF8, Utf8Function)(name);
    value = utf8 ? HD_CALL(state, PyDict_GetItemString, GetNamedFunction)(names,
                                                                          utf8)
                 : 0;
    if (value) {
      HD_CALL(state, Py_IncRef, ObjectFunction)(value);
    }
    return value;
  }
  value = HD_CALL(state, PyObject_GetItem, GetFunction)(names, name);
  if (!value) {
    HD_CALL(state, PyErr_Clear, VoidFunction)();
  }
  return value;
}

static void let_go(struct HdState* state, HdPyObject* object) {
  if (object) {
    HD_CALL(state, Py_DecRef, ObjectFunction)(object);
  }
}
