// ObjectLayout: where, inside CPython's objects, their values are.
//
// One row a minor version and kind of build, made by scripts/generate-layouts
// from the interpreters' own headers; _Py_DebugOffsets says too little of
// objects. What all versions have alike is a constant where it is read.
#pragma once

#include <cstdint>

namespace hangdbg {

// Where the attributes of an instance are while it has no dict of its own.
enum class InstanceValues {
  None,        // they always have one
  BeforeDict,  // a word before the dict's points to them
  TaggedDict,  // the dict's own word does, its lowest bit set
  Inline,      // at the end of the instance
};

// Offsets in bytes; kAbsent where this version has no such field.
struct ObjectLayout {
  static constexpr std::uint32_t kAbsent = 0xffff'ffff;

  int minor = 0;  // of 3.x
  bool free_threaded = false;

  std::uint32_t object_size = kAbsent;  // of a bare PyObject
  std::uint32_t size = kAbsent;         // ob_size, of PyVarObject

  // PyTypeObject, PyHeapTypeObject
  std::uint32_t type_name = kAbsent;  // a C string
  std::uint32_t type_basic_size = kAbsent;
  std::uint32_t type_item_size = kAbsent;
  std::uint32_t type_flags = kAbsent;
  std::uint32_t type_members = kAbsent;  // PyMemberDef[]
  std::uint32_t type_base = kAbsent;
  std::uint32_t type_dict = kAbsent;
  std::uint32_t type_dict_offset = kAbsent;
  std::uint32_t type_mro = kAbsent;
  std::uint32_t heap_type_qualname = kAbsent;
  std::uint32_t heap_type_cached_keys = kAbsent;

  // Instances with a managed dict; from 3.11.
  InstanceValues instance_values = InstanceValues::None;
  std::uint32_t managed_dict_before = kAbsent;  // bytes before the object

  // PyLongObject, PyFloatObject, PyComplexObject, PyByteArrayObject
  std::uint32_t int_size = kAbsent;  // how many digits, and the sign
  std::uint32_t int_size_shift = 0;  // 0: the sign is the size's
  std::uint32_t int_digits = kAbsent;
  std::uint32_t int_digit_bits = 0;
  std::uint32_t float_value = kAbsent;
  std::uint32_t complex_value = kAbsent;
  std::uint32_t bytearray_start = kAbsent;

  // PyTupleObject, PyListObject, PySetObject
  std::uint32_t tuple_items = kAbsent;
  std::uint32_t list_items = kAbsent;
  std::uint32_t set_used = kAbsent;
  std::uint32_t set_mask = kAbsent;
  std::uint32_t set_table = kAbsent;

  // PyDictObject, PyDictKeysObject, PyDictValues
  std::uint32_t dict_used = kAbsent;
  std::uint32_t dict_keys = kAbsent;
  std::uint32_t dict_values = kAbsent;
  std::uint32_t dict_size = kAbsent;
  std::uint32_t keys_index_count = kAbsent;       // dk_size; up to 3.10
  std::uint32_t keys_log2_index_bytes = kAbsent;  // from 3.11
  std::uint32_t keys_kind = kAbsent;              // from 3.11
  std::uint32_t keys_entry_count = kAbsent;
  std::uint32_t keys_indices = kAbsent;
  std::uint32_t values_items = kAbsent;  // from 3.11; 0: the sizes lie before

  // PyFunctionObject, PyMethodObject, PyCFunctionObject, PyDescrObject
  std::uint32_t function_qualname = kAbsent;
  std::uint32_t method_function = kAbsent;
  std::uint32_t method_self = kAbsent;
  std::uint32_t builtin_definition = kAbsent;  // PyMethodDef
  std::uint32_t builtin_self = kAbsent;
  std::uint32_t descriptor_type = kAbsent;
  std::uint32_t descriptor_name = kAbsent;

  std::uint32_t cell_value = kAbsent;
  std::uint32_t weakref_object = kAbsent;
  std::uint32_t exception_args = kAbsent;
  std::uint32_t slice_start = kAbsent;
  std::uint32_t slice_stop = kAbsent;
  std::uint32_t slice_step = kAbsent;

  // PyGenObject
  std::uint32_t generator_qualname = kAbsent;
  std::uint32_t generator_frame = kAbsent;   // a pointer to it; up to 3.10
  std::uint32_t generator_iframe = kAbsent;  // the frame itself; from 3.11
  std::uint32_t generator_state = kAbsent;   // int8; from 3.11

  // PyFrameObject up to 3.10, _PyInterpreterFrame from 3.11
  std::uint32_t frame_state = kAbsent;      // int8; 3.10
  std::uint32_t frame_executing = kAbsent;  // char; up to 3.9
  std::uint32_t frame_locals = kAbsent;
  std::uint32_t frame_globals = kAbsent;
  std::uint32_t frame_builtins = kAbsent;
  std::uint32_t frame_object_frame = kAbsent;  // PyFrameObject to it; from 3.11
  std::uint32_t frame_values = kAbsent;  // of the fast locals, cells and free
  // The value stack: a pointer to where it begins up to 3.10, after that it
  // follows frame_values. Its end, as a pointer (up to 3.9, from 3.14) or as a
  // number of values from where it begins (3.10) or frame_values do
  // (3.11-3.13).
  std::uint32_t frame_stack = kAbsent;
  std::uint32_t frame_stack_top = kAbsent;
  std::uint32_t frame_stack_depth = kAbsent;  // int

  // PyCodeObject
  std::uint32_t code_names = kAbsent;       // all from 3.11, else co_varnames
  std::uint32_t code_kinds = kAbsent;       // bytes; from 3.11
  std::uint32_t code_cell_names = kAbsent;  // up to 3.10
  std::uint32_t code_free_names = kAbsent;  // up to 3.10
  std::uint32_t code_flags = kAbsent;
  std::uint32_t code_constants = kAbsent;     // tuple
  std::uint32_t code_global_names = kAbsent;  // co_names: tuple
  std::uint32_t code_bytes = kAbsent;         // co_code: bytes; up to 3.10
  std::uint32_t code_exceptions = kAbsent;    // bytes; from 3.11

  // _PyCoMonitoringData, a pointer to it from 3.12 on: what an instruction was
  // before it was instrumented. Of lines two bytes an instruction, from 3.14 on
  // as many as the first byte says.
  std::uint32_t code_monitoring = kAbsent;
  std::uint32_t monitoring_lines = kAbsent;
  std::uint32_t monitoring_instructions = kAbsent;

  // _PyExecutorArray, a pointer to it from 3.13 on: what an instruction was
  // before it was compiled.
  std::uint32_t code_executors = kAbsent;
  std::uint32_t executors_items = kAbsent;
  std::uint32_t executor_opcode = kAbsent;  // uint8, in _PyExecutorObject

  // PyThreadState to the exception that it handles, in 3.6; then to those that
  // it does, a list of _PyErr_StackItem
  std::uint32_t thread_handled_value = kAbsent;
  std::uint32_t thread_exception = kAbsent;
  std::uint32_t handled_value = kAbsent;
  std::uint32_t handled_before = kAbsent;

  // PyInterpreterState, _PyRuntimeState
  std::uint32_t interpreter_collecting = kAbsent;  // int; from 3.9
  std::uint32_t runtime_collecting = kAbsent;      // int; 3.7 and 3.8
  std::uint32_t interpreter_modules = kAbsent;
  std::uint32_t interpreter_sys_dict = kAbsent;  // by the interpreter's table

  // struct _gc_runtime_state. None where no lists of objects are in it: in
  // free-threaded builds.
  std::uint32_t interpreter_gc = kAbsent;  // from 3.9
  std::uint32_t runtime_gc = kAbsent;      // 3.7 and 3.8
  std::uint32_t gc_head_size = kAbsent;    // before each object in them

  // Heads of lists of asyncio's tasks; from 3.14.
  std::uint32_t interpreter_tasks = kAbsent;  // PyInterpreterState
  std::uint32_t thread_tasks = kAbsent;       // _PyThreadStateImpl
  // asyncio's loop that runs in a thread: from 3.13 a field of
  // _PyThreadStateImpl, before that in the dict of PyThreadState.
  std::uint32_t thread_running_loop = kAbsent;
  std::uint32_t thread_dict = kAbsent;
};

// None outside 3.6 to 3.15. `checked`: of builds that check themselves, as far
// as it makes a difference: up to 3.12 --with-trace-refs, later --with-pydebug.
const ObjectLayout* object_layout(int minor,
                                  bool free_threaded,
                                  bool checked = false);

// For a version that has no row: what it may be like.
const ObjectLayout& newest_object_layout(bool free_threaded);

}  // namespace hangdbg
