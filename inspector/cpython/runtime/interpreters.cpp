#include "inspector/cpython/runtime/interpreters.h"

#include <cstddef>

namespace hangdbg {
namespace {

constexpr std::size_t kMaxInterpreters = 1024;

}  // namespace

Result<std::vector<Interpreter>> read_interpreters(
    const MemoryReader& memory,
    const PythonRuntime& python) {
  const CPythonLayout& at = python.layout;
  std::vector<Interpreter> all;
  Address next =
      TRY(memory.read_address(python.runtime + at.runtime_interpreters_head));
  while (next) {
    if (all.size() == kMaxInterpreters) {
      return fail(ErrorId::Unreadable, "the list of interpreters has no end");
    }
    all.push_back({next});
    // Of a version that is not known: there was main alone, and nothing showed
    // how it would lead to others.
    if (at.interpreter_next == CPythonLayout::kAbsent) {
      if (next != TRY(memory.read_address(python.runtime +
                                          at.runtime_interpreters_main))) {
        return fail(ErrorId::Unreadable, "its interpreters are not known");
      }
      break;
    }
    next = TRY(memory.read_address(next + at.interpreter_next));
  }
  if (all.empty()) {
    return fail(ErrorId::NotInitialized,
                "the interpreter has not finished starting",
                "try again in a moment");
  }
  // 3.6 gives them no numbers: they go by their age.
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].id = at.interpreter_id == CPythonLayout::kAbsent
                    ? static_cast<std::int64_t>(all.size() - 1 - i)
                    : TRY(memory.read_value<std::int64_t>(all[i].state +
                                                          at.interpreter_id));
  }
  return all;
}

}  // namespace hangdbg
