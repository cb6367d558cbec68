#include "inspector/cpython/stacks/thread_names.h"

#include <fmt/core.h>

#include <optional>

#include "base/text.h"
#include "inspector/cpython/objects/attributes.h"
#include "inspector/cpython/objects/dict.h"
#include "inspector/cpython/objects/numbers.h"
#include "inspector/cpython/runtime/interpreters.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {
namespace {

Result<std::optional<Address>> attribute(const ObjectReader& objects,
                                         Address object,
                                         std::string_view name) {
  return find_in_instance(objects, object, *TRY(objects.type_of(object)), name);
}

// Of the module threading.
Result<std::optional<Address>> threadings(const ObjectReader& objects,
                                          Address interpreter,
                                          std::string_view name) {
  const Address modules =
      TRY(objects.pointer(interpreter + objects.at().interpreter_modules));
  const auto threading = TRY(find_key(objects, modules, "threading"));
  if (!threading) {
    return std::nullopt;
  }
  return attribute(objects, *threading, name);
}

Result<std::string> name_in(const ObjectReader& objects, Address thread) {
  const auto name = TRY(attribute(objects, thread, "_name"));
  return name ? objects.name(*name) : nothing_at("name of a thread", thread);
}

Status read_of(const ObjectReader& objects,
               const Interpreter& interpreter,
               ThreadNames& names) {
  // By ident.
  const auto active = TRY(threadings(objects, interpreter.state, "_active"));
  if (!active) {
    return {};
  }
  return each_entry(objects, *active, [&](const DictEntry& entry) {
    const auto ident = int_value(objects, entry.key);
    const auto name = name_in(objects, entry.value);
    if (ident && *ident && name) {
      names.emplace(
          std::pair(interpreter.id, static_cast<std::uint64_t>(**ident)),
          *name);
    }
    return true;
  });
}

// Up to 3.8 only the main thread's object is marked.
Result<bool> is_shut_down(const ObjectReader& objects, Address interpreter) {
  if (const auto down =
          TRY(threadings(objects, interpreter, "_SHUTTING_DOWN"))) {
    return TRY(int_value(objects, *down)).value_or(0) != 0;
  }
  const auto main = TRY(threadings(objects, interpreter, "_main_thread"));
  const auto stopped =
      main ? TRY(attribute(objects, *main, "_is_stopped")) : std::nullopt;
  return stopped && TRY(int_value(objects, *stopped)).value_or(0) != 0;
}

}  // namespace

bool is_at_exit(const ObjectReader& objects, const PythonRuntime& python) {
  objects.allow_reads();
  const auto interpreters = read_interpreters(objects.memory(), python);
  for (const Interpreter& one :
       interpreters ? *interpreters : std::vector<Interpreter>()) {
    if (one.id == 0) {
      return is_shut_down(objects, one.state).value_or(false);
    }
  }
  return false;
}

ThreadNames read_thread_names(const ObjectReader& objects,
                              const PythonRuntime& python) {
  objects.allow_reads();
  ThreadNames names;
  const auto interpreters = read_interpreters(objects.memory(), python);
  if (!interpreters) {
    return names;
  }
  for (const Interpreter& interpreter : *interpreters) {
    (void)read_of(objects, interpreter, names);  // the next may be readable
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

std::string thread_words(int pid, int tid, std::string_view name) {
  return pid == tid     ? fmt::format("process {}", pid)
         : name.empty() ? fmt::format("thread {}", tid)
                        : fmt::format("thread {} \"{}\"", tid, printable(name));
}

std::string kernel_name(int pid, const PythonThread& thread) {
  const auto stat = thread.tid
                        ? read_task_stat(pid, *thread.tid)
                        : fail(ErrorId::NoSuchThread, "its number is unknown");
  return stat ? stat->comm : "";
}

}  // namespace hangdbg
