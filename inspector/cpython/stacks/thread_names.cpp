#include "inspector/cpython/stacks/thread_names.h"

#include <optional>

#include "inspector/cpython/objects/attributes.h"
#include "inspector/cpython/objects/dict.h"
#include "inspector/cpython/objects/numbers.h"
#include "inspector/cpython/runtime/interpreters.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {
namespace {

Result<std::optional<Address>> attribute(const Heap& heap,
                                         Address object,
                                         std::string_view name) {
  return find_in_instance(heap, object, *TRY(heap.type_of(object)), name);
}

// Of the module threading.
Result<std::optional<Address>> threadings(const Heap& heap,
                                          Address interpreter,
                                          std::string_view name) {
  const Address modules =
      TRY(heap.pointer(interpreter + heap.at().interpreter_modules));
  const auto threading = TRY(find_key(heap, modules, "threading"));
  if (!threading) {
    return std::nullopt;
  }
  return attribute(heap, *threading, name);
}

Result<std::string> name_in(const Heap& heap, Address thread) {
  const auto name = TRY(attribute(heap, thread, "_name"));
  return name ? heap.name(*name) : nothing_at("name of a thread", thread);
}

Status read_of(const Heap& heap,
               const Interpreter& interpreter,
               ThreadNames& names) {
  // By ident.
  const auto active = TRY(threadings(heap, interpreter.state, "_active"));
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

// Up to 3.8 only the main thread's object is marked.
Result<bool> is_shut_down(const Heap& heap, Address interpreter) {
  if (const auto down = TRY(threadings(heap, interpreter, "_SHUTTING_DOWN"))) {
    return TRY(int_value(heap, *down)).value_or(0) != 0;
  }
  const auto main = TRY(threadings(heap, interpreter, "_main_thread"));
  const auto stopped =
      main ? TRY(attribute(heap, *main, "_is_stopped")) : std::nullopt;
  return stopped && TRY(int_value(heap, *stopped)).value_or(0) != 0;
}

}  // namespace

bool is_at_exit(const Heap& heap, const PythonRuntime& python) {
  heap.allow_reads();
  const auto interpreters = read_interpreters(heap.memory(), python);
  for (const Interpreter& one :
       interpreters ? *interpreters : std::vector<Interpreter>()) {
    if (one.id == 0) {
      return is_shut_down(heap, one.state).value_or(false);
    }
  }
  return false;
}

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
