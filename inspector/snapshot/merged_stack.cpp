#include "inspector/snapshot/merged_stack.h"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <utility>

namespace hangdbg {
namespace {

// The Python frames that one C frame runs: [first, last).
struct Run {
  std::size_t first = 0;
  std::size_t last = 0;
  Address loop;
};

// For each run its C frame, innermost first. There are fewer than runs where
// the C frames end before Python's do.
using Places = std::vector<std::size_t>;

std::vector<Run> runs_of(const std::vector<PythonFrame>& frames) {
  std::vector<Run> runs;
  std::size_t first = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (frames[i].entry || i + 1 == frames.size()) {
      runs.push_back({first, i + 1, frames[i].loop});
      first = i + 1;
    }
  }
  return runs;
}

bool is_eval_loop(const NamedFrame& frame) {
  return frame.interpreter &&
         (frame.symbol.function == "_PyEval_EvalFrameDefault" ||
          frame.symbol.function == "PyEval_EvalFrameEx");
}

// A C frame reaches from its stack pointer up to its caller's. How far the last
// one does is known only if it has no caller.
std::optional<Places> place_by_address(std::span<const NamedFrame> native,
                                       bool complete,
                                       const std::vector<Run>& runs) {
  if (native.empty()) {
    return {};
  }
  Places places;
  std::size_t at = 0;
  for (const Run& run : runs) {
    while (at + 1 < native.size() && native[at + 1].sp <= run.loop) {
      ++at;
    }
    const bool known = complete || at + 1 < native.size();
    if (!known || run.loop < native[at].sp ||
        (!places.empty() && places.back() == at)) {
      break;
    }
    places.push_back(at);
  }
  return places.size() == runs.size() || !complete ? std::optional(places)
                                                   : std::nullopt;
}

std::optional<Places> place_by_count(std::span<const NamedFrame> native,
                                     bool complete,
                                     const std::vector<Run>& runs) {
  Places loops;
  for (std::size_t i = 0; i < native.size(); ++i) {
    if (is_eval_loop(native[i])) {
      loops.push_back(i);
    }
  }
  // One that has just been called, or is about to return, runs no frame.
  if (loops.size() == runs.size() + 1 && loops.front() == 0) {
    loops.erase(loops.begin());
  }
  return complete && loops.size() == runs.size() ? std::optional(loops)
                                                 : std::nullopt;
}

bool begins_with_one(std::string_view function,
                     std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) {
    return function.starts_with(prefix);
  });
}

// What every thread and every program begins with. Where it has no name, libc
// has it.
bool is_start(const NativeSymbol& symbol) {
  constexpr std::string_view kStarts[] = {
      "start_thread", "clone",
      "clone3",       "__clone",
      "_start",       "__libc_start_main",
      "__clone3",     "__libc_start_call_main"};
  return symbol.function.empty()
             ? begins_with_one(symbol.module,
                               {"libc.", "libc-", "libpthread", "ld-musl"})
             : std::ranges::find(kStarts, symbol.function) != std::end(kStarts);
}

bool is_hidden(const NamedFrame& frame, bool outermost) {
  const std::string& function = frame.symbol.function;
  if (!frame.symbol.builtin.empty()) {
    return false;
  }
  return (frame.interpreter && (function.empty() || is_plumbing(function) ||
                                (outermost && function == "main"))) ||
         (outermost && is_start(frame.symbol));
}

std::string end_of(std::span<const NamedFrame> native) {
  return native.empty() ? "its C stack could not be read"
                        : fmt::format("its C stack is known up to {} only",
                                      native.back().symbol.text());
}

}  // namespace

std::vector<NamedFrame> named(const NativeStack& stack,
                              const NativeNames& names,
                              std::size_t python_module) {
  std::vector<NamedFrame> frames;
  std::ranges::transform(
      stack.frames, std::back_inserter(frames), [&](const NativeFrame& frame) {
        return NamedFrame{frame.sp, frame.module == python_module,
                          names.name(frame), frame.behind_gap, frame.pc};
      });
  return frames;
}

MergedStack merge_stacks(std::span<const NamedFrame> native,
                         bool native_complete,
                         const PythonStack& python) {
  MergedStack stack{.complete = native_complete};
  const auto add_python = [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      stack.entries.push_back({.frame = i});
    }
  };
  const auto add_native = [&](std::size_t first, std::size_t last,
                              const auto& is_left_out) {
    for (std::size_t i = first; i < last; ++i) {
      if (!is_left_out(native[i])) {
        const bool called = i + 1 < native.size() && !native[i + 1].behind_gap;
        stack.entries.push_back({StackEntry::Kind::Native, 0, native[i].symbol,
                                 native[i].behind_gap,
                                 called ? native[i + 1].pc : Address()});
      }
    }
  };
  const auto none = [](const NamedFrame&) { return false; };
  const auto inner = [](const NamedFrame& at) { return is_hidden(at, false); };
  const auto outer = [](const NamedFrame& at) { return is_hidden(at, true); };

  const auto runs = runs_of(python.frames);
  const bool have_loops =
      std::ranges::any_of(runs, [](const Run& run) { return !!run.loop; });
  const auto places = have_loops
                          ? place_by_address(native, native_complete, runs)
                          : place_by_count(native, native_complete, runs);
  if (!native_complete) {
    stack.reason = end_of(native);
  }
  if (runs.empty()) {
    add_native(0, native.size(), none);
    return stack;
  }
  if (!places) {
    stack.merged = false;
    if (stack.reason.empty()) {
      stack.reason = "its C and Python frames cannot be matched";
    }
    add_python(0, python.frames.size());
    add_native(0, native.size(), none);
    return stack;
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < places->size(); ++i) {
    add_native(at, (*places)[i], inner);
    add_python(runs[i].first, runs[i].last);
    at = (*places)[i] + 1;
  }
  add_native(at, native.size(), outer);
  if (places->size() < runs.size()) {
    add_python(runs[places->size()].first, python.frames.size());
  }
  return stack;
}

bool is_plumbing(std::string_view function) {
  const bool calls = begins_with_one(function, {"PyEval_",
                                                "_PyEval_",
                                                "_TAIL_CALL_",
                                                "PyObject_",
                                                "_PyObject_",
                                                "object_vacall",
                                                "PyVectorcall_",
                                                "_PyVectorcall_",
                                                "vectorcall_",
                                                "_PyFunction_",
                                                "function_code_fastcall",
                                                "function_call",
                                                "fast_function",
                                                "method_call",
                                                "PyCFunction_",
                                                "_PyCFunction_",
                                                "_Py_VectorCall",
                                                "_Py_BuiltinCallFast",
                                                "_Py_CallBuiltinClass_",
                                                "_PyCallMethodDescriptor",
                                                "cfunction_",
                                                "_PyMethodDef_",
                                                "_PyMethodDescr_",
                                                "method_vectorcall",
                                                "wrapperdescr_",
                                                "wrap_",
                                                "call_function",
                                                "call_method",
                                                "call_unbound",
                                                "maybe_call_special",
                                                "do_call_core",
                                                "type_call",
                                                "slot_",
                                                "_Py_slot_",
                                                "PyGen_",
                                                "_PyGen_",
                                                "gen_send",
                                                "gen_iternext"});
  const bool frees = begins_with_one(
      function,
      {"_PyFrame_", "frame_dealloc", "clear_thread_frame", "subtype_dealloc",
       "_Py_Dealloc", "_Py_MergeZeroLocalRefcount", "_PyEvalFrameClearAndPop"});
  const bool starts = begins_with_one(
      function, {"thread_run", "t_bootstrap", "pythread_wrapper", "context_run",
                 "Py_RunMain", "Py_BytesMain", "Py_Main", "pymain_", "PyRun_",
                 "_PyRun_", "pyrun_", "run_mod", "run_eval_code_obj"});
  return calls || frees || starts;
}

}  // namespace hangdbg
