#include "injector/checks/python_api.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "inspector/cpython/code/opcodes.h"

namespace hangdbg {
namespace {

struct Wanted {
  const char* name;
  std::uint64_t HdApi::*place;
};

#define HANGDBG_WANTED(name) \
  Wanted {                   \
#name, &HdApi::name      \
  }

constexpr std::array kLibc = {
    HANGDBG_WANTED(pthread_create),
    HANGDBG_WANTED(pthread_join),
    HANGDBG_WANTED(pthread_detach),
    HANGDBG_WANTED(pthread_attr_init),
    HANGDBG_WANTED(pthread_attr_setstacksize),
    HANGDBG_WANTED(pthread_self),
    HANGDBG_WANTED(munmap),
};

constexpr std::array kPython = {
    HANGDBG_WANTED(PyGILState_Ensure),
    HANGDBG_WANTED(PyGILState_Release),
    HANGDBG_WANTED(PyEval_SaveThread),
    HANGDBG_WANTED(PyEval_RestoreThread),
    HANGDBG_WANTED(PyEval_GetBuiltins),
    HANGDBG_WANTED(PyEval_EvalCode),
    HANGDBG_WANTED(Py_CompileStringExFlags),
    HANGDBG_WANTED(Py_DecRef),
    HANGDBG_WANTED(Py_IncRef),
    HANGDBG_WANTED(PyDict_New),
    HANGDBG_WANTED(PyDict_Update),
    HANGDBG_WANTED(PyDict_Clear),
    HANGDBG_WANTED(PyDict_SetItemString),
    HANGDBG_WANTED(PyDict_GetItemString),
    HANGDBG_WANTED(PyObject_Call),
    HANGDBG_WANTED(PyObject_GetAttrString),
    HANGDBG_WANTED(PyObject_GetItem),
    HANGDBG_WANTED(PyObject_SetItem),
    HANGDBG_WANTED(PyObject_DelItem),
    HANGDBG_WANTED(PyTuple_New),
    HANGDBG_WANTED(PyTuple_SetItem),
    HANGDBG_WANTED(PyTuple_GetItem),
    HANGDBG_WANTED(PyTuple_Size),
    HANGDBG_WANTED(PyLong_FromLong),
    HANGDBG_WANTED(PyLong_AsUnsignedLongMask),
    HANGDBG_WANTED(PyBytes_FromStringAndSize),
    HANGDBG_WANTED(PyBytes_AsStringAndSize),
    HANGDBG_WANTED(PyUnicode_FromString),
    HANGDBG_WANTED(PyCFunction_NewEx),
    HANGDBG_WANTED(PyObject_GC_UnTrack),
    HANGDBG_WANTED(PyErr_Clear),
    HANGDBG_WANTED(PyErr_Fetch),
    HANGDBG_WANTED(PyErr_Restore),
    HANGDBG_WANTED(PyObject_Str),
    HANGDBG_WANTED(PyUnicode_AsUTF8),
    HANGDBG_WANTED(PyErr_SetString),
    HANGDBG_WANTED(PyThreadState_SetAsyncExc),
    HANGDBG_WANTED(PyEval_SetTrace),
    HANGDBG_WANTED(PyEval_SetProfile),
    HANGDBG_WANTED(PySys_GetObject),
    Wanted{"_Py_NoneStruct", &HdApi::none},
    Wanted{"PyExc_RuntimeError", &HdApi::runtime_error},
    Wanted{"PyExc_RecursionError", &HdApi::recursion_error},
};

constexpr std::array kPause = {
    Wanted{"_PyEval_StopTheWorld", &HdApi::stop_the_world},
    Wanted{"_PyEval_StartTheWorld", &HdApi::start_the_world},
    HANGDBG_WANTED(PyInterpreterState_Get),
    HANGDBG_WANTED(PyList_New),
    HANGDBG_WANTED(PyList_Append),
    HANGDBG_WANTED(PyFrame_GetBack),
    HANGDBG_WANTED(PyFrame_GetCode),
    HANGDBG_WANTED(PyFrame_GetGlobals),
    HANGDBG_WANTED(PyFrame_GetLasti),
    HANGDBG_WANTED(PyFrame_GetLocals),
    HANGDBG_WANTED(PyThreadState_Delete),
    HANGDBG_WANTED(PyCapsule_New),
    HANGDBG_WANTED(PyCapsule_GetPointer),
};

#undef HANGDBG_WANTED

// The modules that may define libc's functions, likeliest first: before glibc
// 2.34 the pthread ones are in a library of their own.
std::vector<ElfImage> libc_images(const MemoryReader& memory,
                                  const std::vector<Module>& modules,
                                  std::size_t pthread_module) {
  std::vector<ElfImage> images;
  const auto add = [&](const Module& module) {
    if (auto image = ElfImage::read(memory, module.base)) {
      images.push_back(*std::move(image));
    }
  };
  add(modules[pthread_module]);
  for (const Module& module : modules) {
    const std::string name = module.path.substr(module.path.rfind('/') + 1);
    if (name.starts_with("libc.") || name.starts_with("libc-")) {
      add(module);
    }
  }
  return images;
}

// What breakpoints need where there is no sys.monitoring.
void find_tracing(
    const CPythonLayout& at,
    const std::function<std::uint64_t(std::initializer_list<const char*>)>&
        optional,
    HdApi& table) {
  table.PyThreadState_Next = optional({"PyThreadState_Next"});
  table.PyInterpreterState_ThreadHead =
      optional({"PyInterpreterState_ThreadHead"});
  table.PyFrame_GetLineNumber = optional({"PyFrame_GetLineNumber"});
  table.get_evaluator = optional({"_PyInterpreterState_GetEvalFrameFunc"});
  table.set_evaluator = optional({"_PyInterpreterState_SetEvalFrameFunc"});
  table.default_evaluator = optional({"_PyEval_EvalFrameDefault"});
  table.interpreter_evaluator = at.interpreter_evaluator;
  table.thread_cframe = at.thread_cframe;
  table.cframe_current_frame = at.cframe_current_frame;
  table.thread_tracer_object = at.thread_tracer_object;
  table.frame_previous = at.frame_previous;
  table.frame_code = at.frame_code;
  table.code_filename = at.code_filename;
  table.code_first_line = at.code_first_line;
}

void find_opcodes(int minor, HdApi& table) {
  const OpcodeTable* const opcodes = opcode_table(minor);
  table.first_opcode = HD_NO_OFFSET;
  for (std::size_t i = 0; opcodes && i < opcodes->size(); ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i % 64;
    switch ((*opcodes)[i].op) {
      case Op::CALL:
      case Op::CALL_FUNCTION:
      case Op::CALL_FUNCTION_EX:
      case Op::CALL_FUNCTION_KW:
      case Op::CALL_KW:
      case Op::CALL_METHOD:
      case Op::PRECALL:
        table.call_opcodes[i / 64] |= bit;
        break;
      case Op::JUMP_ABSOLUTE:
      case Op::JUMP_BACKWARD:
      case Op::POP_JUMP_BACKWARD_IF_FALSE:
      case Op::POP_JUMP_BACKWARD_IF_NONE:
      case Op::POP_JUMP_BACKWARD_IF_NOT_NONE:
      case Op::POP_JUMP_BACKWARD_IF_TRUE:
        table.loop_opcodes[i / 64] |= bit;
        break;
      case Op::POP_JUMP_IF_FALSE:  // in 3.10 a loop may end so
      case Op::POP_JUMP_IF_TRUE:
        table.loop_opcodes[i / 64] |= minor == 10 ? bit : 0;
        break;
      case Op::PUSH_EXC_INFO:  // from 3.11 on
      case Op::SETUP_ASYNC_WITH:
      case Op::SETUP_EXCEPT:
      case Op::SETUP_FINALLY:
      case Op::SETUP_WITH:
        table.try_opcodes[i / 64] |= bit;
        break;
      case Op::LOAD_SPECIAL:
        table.with_opcodes[i / 64] |= bit;
        break;
      case Op::RESUME:
        // Its specialized forms come later, and are not in a code's co_code.
        table.first_opcode =
            std::min(table.first_opcode, static_cast<std::uint32_t>(i));
        break;
      default:
        break;
    }
  }
}

}  // namespace

Result<TargetApi> find_target_api(const MemoryReader& memory,
                                  const std::vector<Module>& modules,
                                  const PythonRuntime& python,
                                  const DangerousCode& danger) {
  TargetApi api;
  const auto libc = libc_images(memory, modules, danger.pthread_module());
  for (const auto& [name, place] : kLibc) {
    for (const ElfImage& image : libc) {
      if (const auto symbol = image.find(memory, name)) {
        api.table.*place = symbol->address.value;
        break;
      }
    }
    if (danger.is_static()) {
      api.table.*place = python.find(memory, name).value_or(Address{}).value;
    }
    if (api.table.*place == 0) {
      return fail(ErrorId::UnsupportedPython,
                  fmt::format("the target's libc has no {}{}", name,
                              danger.is_static()
                                  ? ": the program is static, and its linker "
                                    "left it out"
                                  : ""),
                  "hangdbg dump PID shows its stacks");
    }
  }
  for (const ElfImage& image : libc) {
    if (const auto symbol = image.find(memory, "__errno_location")) {
      api.table.errno_location = symbol->address.value;
    }
    const auto lock = image.find(memory, "_IO_list_lock");
    const auto unlock = image.find(memory, "_IO_list_unlock");
    // Later ones with a GIL are not hurt, and from 3.13 on have HEAD_LOCK while
    // they fork: they would wait for us, and we for them.
    if (lock && unlock &&
        (!python.version.at_least(12) || python.free_threaded)) {
      api.table.lock_file_list = lock->address.value;
      api.table.unlock_file_list = unlock->address.value;
    }
  }
  std::vector<Wanted> wanted(kPython.begin(), kPython.end());
  if (python.free_threaded) {
    wanted.insert(wanted.end(), kPause.begin(), kPause.end());
  }
  for (const auto& [name, place] : wanted) {
    const auto address = python.find(memory, name);
    if (!address) {
      return fail(ErrorId::UnsupportedPython,
                  fmt::format("the target's Python {} has no {}: its linker "
                              "left it out",
                              python.version.text(), name),
                  "hangdbg dump PID shows its stacks");
    }
    api.table.*place = address->value;
  }
  const auto optional = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (const auto address = python.find(memory, name)) {
        return address->value;
      }
    }
    return std::uint64_t{0};
  };
  api.table.is_finalizing = optional({"Py_IsFinalizing", "_Py_IsFinalizing"});
  api.table.Py_REFCNT = optional({"Py_REFCNT"});
  api.table.PyMarshal_ReadObjectFromString =
      optional({"PyMarshal_ReadObjectFromString"});
  api.table.PyImport_GetMagicNumber = optional({"PyImport_GetMagicNumber"});
  api.table.PyInterpreterState_Main = optional({"PyInterpreterState_Main"});
  api.table.PyThreadState_New = optional({"PyThreadState_New"});
  api.table.PyThreadState_Clear = optional({"PyThreadState_Clear"});
  api.table.PyThreadState_DeleteCurrent =
      optional({"PyThreadState_DeleteCurrent"});
  api.table.PyEval_AcquireThread = optional({"PyEval_AcquireThread"});
  api.table.PyThreadState_GetFrame = optional({"PyThreadState_GetFrame"});
  api.table.PyFrame_GetCode = optional({"PyFrame_GetCode"});
  static_assert(CPythonLayout::kAbsent == HD_NO_OFFSET);
  const CPythonLayout& at = python.layout;
  api.table.interpreters_head =
      (python.runtime + at.runtime_interpreters_head).value;
  api.table.interpreter_next = at.interpreter_next;
  api.table.interpreter_id = at.interpreter_id;
  api.table.interpreter_threads = at.interpreter_threads_head;
  api.table.interpreter_gil = at.interpreter_gil;
  api.table.gil_locked_offset = at.gil_locked;
  api.table.thread_next = at.thread_next;
  api.table.thread_ident = at.thread_ident;
  api.table.thread_frame = at.thread_frame;
  api.table.frames_are_behind = at.thread_cframe != CPythonLayout::kAbsent;
  api.table.thread_frames =
      api.table.frames_are_behind ? at.thread_cframe : at.thread_frame;
  if (!python.version.at_least(13)) {
    api.table.PyFrame_LocalsToFast = optional({"PyFrame_LocalsToFast"});
  }
  api.table.PyThreadState_Get = optional({"PyThreadState_Get"});
  api.table.PyThreadState_EnterTracing =
      optional({"PyThreadState_EnterTracing"});
  api.table.PyThreadState_LeaveTracing =
      optional({"PyThreadState_LeaveTracing"});
  // From then on Python code needs no C stack, and C code has its own limit.
  if (!python.version.at_least(12)) {
    api.table.Py_GetRecursionLimit = optional({"Py_GetRecursionLimit"});
    find_tracing(at, optional, api.table);
  }
  api.table.thread_tracer = at.thread_tracer;
  api.table.thread_use_tracing = at.thread_use_tracing;
  api.table.use_tracing_is_behind = python.version.at_least(10);
  api.table.use_tracing_on = python.version.at_least(11) ? 255 : 1;
  api.table.thread_interpreter = at.thread_interpreter;
  api.table.interpreter_tracing_possible = at.interpreter_tracing_possible;
  if (at.runtime_tracing_possible != CPythonLayout::kAbsent) {
    api.table.tracing_possible =
        (python.runtime + at.runtime_tracing_possible).value;
  }
  api.table.thread_overflowed = at.thread_overflowed;
  api.table.thread_tracing = at.thread_tracing;
  find_opcodes(python.version.minor, api.table);
  if (python.version.minor == 11) {
    api.table.PyGC_Disable = optional({"PyGC_Disable"});
    api.table.PyGC_Enable = optional({"PyGC_Enable"});
  }
  api.table.cancels_anywhere = !python.version.at_least(10);
  api.table.cancels_later = python.version.at_least(13);
  api.table.frame_inner = at.frame_object_frame;
  api.table.frame_locals = at.frame_locals;
  api.pthread_attr_init = {api.table.pthread_attr_init};
  api.pthread_attr_setstacksize = {api.table.pthread_attr_setstacksize};
  api.pthread_create = {api.table.pthread_create};
  return api;
}

}  // namespace hangdbg
