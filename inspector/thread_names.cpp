#include "inspector/thread_names.h"

#include <optional>

#include "inspector/objects/attributes.h"
#include "inspector/objects/dict.h"
#include "inspector/objects/numbers.h"
#include "tracee/proc_tasks.h"

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

Result<std::string> name_in(const Heap& heap, Address thread) {
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
    const auto name = name_in(heap, entry.value);
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

std::string name_of(const ThreadNames& names,
                    int pid,
                    const PythonThread& thread) {
  const auto known = names.find({thread.interpreter, thread.ident});
  if (known != names.end()) {
    return known->second;
  }
  if (thread.tid == pid) {
    return "MainThread";
  }
  const auto process = read_task_stat(pid, pid);
  std::string own = kernel_name(pid, thread);
  return process && own == process->comm ? "" : own;
}

std::string kernel_name(int pid, const PythonThread& thread) {
  const auto stat = thread.tid
                        ? read_task_stat(pid, *thread.tid)
                        : fail(ErrorId::NoSuchThread, "its number is unknown");
  return stat ? stat->comm : "";
}

}  // namespace hangdbg
