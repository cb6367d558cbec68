/* Where a thread stands that evaluates: what the functions on its stack do with
 * locks, by their names and instructions. With the GIL. */
#include "injector/bootstrap/places.h"

typedef void (*ObjectFunction)(HdPyObject*);
typedef HdPyObject* (*FrameFunction)(void*);
typedef HdPyObject* (*AttributeFunction)(HdPyObject*, const char*);
typedef const char* (*TextFunction)(HdPyObject*);
typedef int (*BytesFunction)(HdPyObject*, char**, long*);
typedef long (*SizeFunction)(HdPyObject*);
typedef HdPyObject* (*ItemFunction)(HdPyObject*, long);
typedef void (*VoidFunction)(void);
typedef unsigned long (*NumberFunction)(HdPyObject*);

#define MOST_FRAMES 200

struct Whose {
  int is_ours;
  int is_run; /* what run_user_code and run_debugged call (agent) */
};

static HdPyObject* innermost(struct HdState* state, void* thread);
static HdPyObject* code_of(struct HdState* state, HdPyObject* frame);
static enum HdPlace place_of(struct HdState* state,
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
                             struct HdStack* stack);
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

struct HdStack hd_read_stack(struct HdState* state, void* thread) {
  struct HdStack stack = {HD_PLAIN, HD_PLAIN, 0, 0, 0, 0, 0, 0};
  int seen_other = 0;
  HdPyObject* frame = innermost(state, thread);
  for (int i = 0; frame && i < MOST_FRAMES; i++) {
    HdPyObject* code = code_of(state, frame);
    struct Whose whose = {0, 0};
    const enum HdPlace by_name = place_of(state, code, 1, &whose);
    const enum HdPlace place = i == 0 || !hd_looks_anywhere(state)
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
    const enum HdPlace counts = i == 0 ? place : by_name;
    stack.place = counts > stack.place ? counts : stack.place;
    stack.is_wait &= by_name != HD_LOCKS;
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

static enum HdPlace place_of(struct HdState* state,
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
  enum HdPlace place = HD_PLAIN;
  if (is_of_locks(name)) {
    place = HD_LOCKS;
  } else if (!by_its_name) {
    place =
        names_locks(state, code) || has_one_of(state, code, api->with_opcodes)
            ? HD_LOCKS
        : has_one_of(state, code, api->try_opcodes) ? HD_CATCHES
                                                    : HD_PLAIN;
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
                             struct HdStack* stack) {
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
                    (ends(text_of(state, file), "/threading.py") ||
                     is_same(text_of(state, file), "threading.py"));
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
