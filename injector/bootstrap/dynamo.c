/* Dynamo, which torch.compile compiles by: its frame evaluator, that is in
 * while a thread runs what was compiled, and its callback, which each thread
 * has of its own and which is offered all code that begins there. */
#include "injector/bootstrap/tracing.h"

typedef HdPyObject* (*NamedFunction)(const char*);
typedef HdPyObject* (*GetItemFunction)(HdPyObject*, const char*);
typedef void (*ObjectFunction)(HdPyObject*);
typedef void (*VoidFunction)(void);
typedef void (*FetchFunction)(HdPyObject**, HdPyObject**, HdPyObject**);
typedef void (*RestoreErrorFunction)(HdPyObject*, HdPyObject*, HdPyObject*);

static HdPyObject* set_callback(struct HdState* state,
                                HdPyObject* function,
                                HdPyObject* callback);

/* Where Dynamo is, it is its own that is not Python's own. */
int hd_is_dynamos(struct HdState* state, uint64_t evaluator) {
  return evaluator != state->region->api.default_evaluator &&
         hd_module(state, "torch._C._dynamo.eval_frame");
}

/* As torch.compiler.disable does it. */
HdPyObject* hd_call_aside(struct HdState* state,
                          HdPyObject* callable,
                          HdPyObject* first,
                          HdPyObject* second) {
  HdPyObject* module = hd_module(state, "torch._C._dynamo.eval_frame");
  HdPyObject* function =
      module ? HD_CALL(state, PyObject_GetAttrString, GetItemFunction)(
                   module, "set_eval_frame")
             : 0;
  HdPyObject* before = set_callback(state, function, hd_none(state));
  HdPyObject* result = hd_call(state, callable, first, second);
  HdPyObject* error[3] = {0, 0, 0};
  HD_CALL(state, PyErr_Fetch, FetchFunction)(&error[0], &error[1], &error[2]);
  HdPyObject* none = before ? set_callback(state, function, before) : 0;
  HD_CALL(state, PyErr_Restore, RestoreErrorFunction)
  (error[0], error[1], error[2]);
  HdPyObject* done[] = {none, function};
  for (int i = 0; i < 2; i++) {
    if (done[i]) {
      HD_CALL(state, Py_DecRef, ObjectFunction)(done[i]);
    }
  }
  return result;
}

/* The one before. 0: there is none to be had. Takes the reference. */
static HdPyObject* set_callback(struct HdState* state,
                                HdPyObject* function,
                                HdPyObject* callback) {
  HdPyObject* before = 0;
  if (function) {
    before = hd_call(state, function, callback, 0);
  } else {
    HD_CALL(state, Py_DecRef, ObjectFunction)(callback);
  }
  HD_CALL(state, PyErr_Clear, VoidFunction)();
  return before;
}

HdPyObject* hd_module(struct HdState* state, const char* name) {
  HdPyObject* modules =
      HD_CALL(state, PySys_GetObject, NamedFunction)("modules");
  return modules ? HD_CALL(state, PyDict_GetItemString, GetItemFunction)(
                       modules, name)
                 : 0;
}
