#include "inspector/thread_names.h"

#include <optional>

#include "inspector/interpreters.h"
#include "inspector/objects/attributes.h"
#include "inspector/objects/dict.h"
#include "inspector/objects/numbers.h"
#include "tracee/proc_tasks.h"

namespace hangdbg {
namespace {

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

Status read_of(const Heap& heap,
               const Interpreter& interpreter,
               ThreadNames& names) {
  const auto active = TRY(active_threads(heap, interpreter.state));
  if (!active) {
    return {};
  }
  return each_entry(heap, *active, [&](const DictEntry& entry) {
    const auto ident = int_value(heap, entry.key);
    const auto name = name_in(heap, entry.value);
    if (ident && *ident && name) {
      names.emplace(
          std::pair(interpreter.id, static_cast<std::uint64_t>(**ident)),
          *name);
    }
    return true;
  });
}

}  // namespace

ThreadNames read_thread_names(const Heap& heap, const PythonRuntime& python) {
  heap.allow_reads();
  ThreadNames names;
  const auto interpreters = read_interpreters(heap.memory(), python);
  if (!interpreters) {
    return names;
  }
  for (const Interpreter& interpreter : *interpreters) {
    (void)read_of(heap, interpreter, names);  // the next may be readable
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
