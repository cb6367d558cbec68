#include "inspector/thread_names.h"

#include <optional>

#include "inspector/objects/attributes.h"
#include "inspector/objects/dict.h"
#include "inspector/objects/numbers.h"

namespace hangdbg {
namespace {

constexpr int kMaxInterpreters = 1000;

// threading._active: ident to Thread.
Result<std::optional<Address>> active_threads(const Heap& heap,
                                              Address interpreter) {
  const Address modules =
      TRY(heap.pointer(interpreter + heap.at().interpreter_modules));
  const auto threading = TRY(find_key(heap, modules, "threading"));
  if (!threading) {
    return std::nullopt;
  }
  return find_in_instance(heap, *threading, *TRY(heap.type_of(*threading)),
                          "_active");
}

Result<std::string> name_of(const Heap& heap, Address thread) {
  const auto name =
      TRY(find_in_instance(heap, thread, *TRY(heap.type_of(thread)), "_name"));
  return name ? heap.name(*name) : nothing_at("name of a thread", thread);
}

Status read_of(const Heap& heap, Address interpreter, ThreadNames& names) {
  const auto id = TRY(heap.memory().read_value<std::int64_t>(
      interpreter + heap.layout().interpreter_id));
  const auto active = TRY(active_threads(heap, interpreter));
  if (!active) {
    return {};
  }
  return each_entry(heap, *active, [&](const DictEntry& entry) {
    const auto ident = int_value(heap, entry.key);
    const auto name = name_of(heap, entry.value);
    if (ident && *ident && name) {
      names.emplace(std::pair(id, static_cast<std::uint64_t>(**ident)), *name);
    }
    return true;
  });
}

}  // namespace

ThreadNames read_thread_names(const Heap& heap, const PythonRuntime& python) {
  heap.allow_reads();
  ThreadNames names;
  const CPythonLayout& at = python.layout;
  auto interpreter =
      heap.pointer(python.runtime + at.runtime_interpreters_head);
  for (int i = 0; i < kMaxInterpreters && interpreter && *interpreter; ++i) {
    (void)read_of(heap, *interpreter, names);  // the next may be readable
    interpreter = heap.pointer(*interpreter + at.interpreter_next);
  }
  return names;
}

}  // namespace hangdbg
