#include "inspector/cpython/async/asyncio_finder.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "inspector/cpython/async/asyncio_lists.h"
#include "inspector/cpython/objects/attributes.h"
#include "inspector/cpython/objects/dict.h"
#include "inspector/cpython/objects/items.h"
#include "inspector/cpython/runtime/interpreters.h"

namespace hangdbg {
namespace {

constexpr std::size_t kAsyncioTasksPage = 4096;
constexpr std::size_t kMostPages = 256;  // of variables, of any module in C

struct TaskFinder {
  const ObjectReader& objects;
  const PythonRuntime& python;
  const std::vector<Module>& modules;
  const TargetFiles& files;
  FoundTasks found = {};

  void find(Address interpreter, const std::vector<PythonThread>& threads);
  Status find_in_sets(Address module);
  Status find_in_sets_36(Address module);
  Result<Address> find_variable(Address from, const Type& type);
  Status find_in_set(Address weak);
  Result<Address> referred(Address reference);
  Status find_in_lists(Address module,
                       Address interpreter,
                       const std::vector<PythonThread>& threads);
  Status find_in_list(Address head, std::uint32_t node_in_task);
  void add(Address task);
};

}  // namespace

FoundTasks find_asyncio_tasks(const ObjectReader& objects,
                              const PythonRuntime& python,
                              const std::vector<Module>& modules,
                              const TargetFiles& files,
                              const std::vector<PythonThread>& threads) {
  TaskFinder finder{objects, python, modules, files};
  const auto interpreters = read_interpreters(objects.memory(), python);
  finder.found.complete = interpreters.has_value();
  for (const Interpreter& interpreter :
       interpreters ? *interpreters : std::vector<Interpreter>()) {
    finder.find(interpreter.state, threads);
  }
  return std::move(finder.found);
}

namespace {

// From 3.14 on.
bool keeps_lists(const ObjectReader& objects) {
  constexpr int kFirst = 14;
  return objects.at().minor >= kFirst;
}

void TaskFinder::find(Address interpreter,
                      const std::vector<PythonThread>& threads) {
  const auto modules =
      objects.pointer(interpreter + objects.at().interpreter_modules);
  const auto module = modules ? find_key(objects, *modules, "asyncio.tasks")
                              : Result<std::optional<Address>>(std::nullopt);
  if (!module || !*module) {
    return;
  }
  const bool sets = (objects.at().minor == 6 ? find_in_sets_36(**module)
                                             : find_in_sets(**module))
                        .has_value();
  const bool lists = !keeps_lists(objects) ||
                     find_in_lists(**module, interpreter, threads).has_value();
  found.complete &= sets && lists;
}

// Of 3.6 Python's own kind of task keeps a set in its class, C's kind in a
// variable of its module, which lies behind its type and has no other.
Status TaskFinder::find_in_sets_36(Address module) {
  const Type& type = *TRY(objects.type_of(module));
  const auto own = TRY(find_in_instance(objects, module, type, "_PyTask"));
  const auto set = own ? TRY(find_in_class(objects, *TRY(objects.type_at(*own)),
                                           "_all_tasks"))
                       : std::nullopt;
  if (!set) {
    return nothing_at("set of tasks", module);
  }
  TRY(find_in_set(*set));
  const auto native = TRY(find_in_instance(objects, module, type, "_CTask"));
  return native ? find_in_set(
                      TRY(find_variable(*native, *TRY(objects.type_of(*set)))))
                : Status{};
}

// An object of that type that a variable behind `from` has.
Result<Address> TaskFinder::find_variable(Address from, const Type& type) {
  from.value &= ~(kAsyncioTasksPage - 1);
  std::array<Address, kAsyncioTasksPage / 8> words{};
  for (std::size_t page = 0; page < kMostPages; ++page) {
    TRY(objects.memory().read(from + page * kAsyncioTasksPage,
                              std::as_writable_bytes(std::span(words))));
    for (const Address word : words) {
      const auto found = objects.pointer(word + objects.layout().object_type);
      if (found && *found == type.address) {
        return word;
      }
    }
  }
  return nothing_at("set of tasks", from);
}

// Up to 3.11 there is one set, then one for eager tasks beside it; from 3.14 on
// they have only what is not C's own kind of task.
Status TaskFinder::find_in_sets(Address module) {
  const Type& type = *TRY(objects.type_of(module));
  for (const auto* const name : {"_all_tasks", "_scheduled_tasks"}) {
    const auto weak = TRY(find_in_instance(objects, module, type, name));
    if (weak) {
      TRY(find_in_set(*weak));
    }
  }
  if (const auto eager =
          TRY(find_in_instance(objects, module, type, "_eager_tasks"))) {
    const Items tasks =
        TRY(read_items(objects, *eager, Kind::Set, 0, kMostAsyncioTasks));
    found.complete &= tasks.items.size() == tasks.size;
    std::ranges::for_each(tasks.items, [&](Address task) { add(task); });
  }
  return {};
}

// A WeakSet.
Status TaskFinder::find_in_set(Address weak) {
  const auto data =
      TRY(find_in_instance(objects, weak, *TRY(objects.type_of(weak)), "data"));
  if (!data) {
    return {};
  }
  const Items references =
      TRY(read_items(objects, *data, Kind::Set, 0, kMostAsyncioTasks));
  found.complete &= references.items.size() == references.size;
  for (const Address reference : references.items) {
    const auto task = referred(reference);
    found.complete &= task.has_value();
    add(task.value_or(Address{}));
  }
  return {};
}

Result<Address> TaskFinder::referred(Address reference) {
  if (TRY(objects.type_of(reference))->kind != Kind::WeakReference) {
    return nothing_at("weak reference", reference);
  }
  return objects.pointer(reference + objects.at().weakref_object);
}

// A list of each thread, and the interpreter's of threads that have ended.
Status TaskFinder::find_in_lists(Address module,
                                 Address interpreter,
                                 const std::vector<PythonThread>& threads) {
  const auto native = TRY(find_in_instance(
      objects, module, *TRY(objects.type_of(module)), "_CTask"));
  if (!native) {
    return {};
  }
  const auto at = TRY(find_asyncio_lists(
      objects, python, *TRY(objects.type_at(*native)), modules, files));
  Status walked =
      find_in_list(interpreter + at.in_interpreter, at.node_in_task);
  for (const PythonThread& thread : threads) {
    const Status more =
        find_in_list(thread.state + at.in_thread, at.node_in_task);
    walked = walked ? more : walked;
  }
  return walked;
}

// struct llist_node (Include/internal/pycore_llist.h): next and previous.
Status TaskFinder::find_in_list(Address head, std::uint32_t node_in_task) {
  Address last = head;
  Address node = TRY(objects.pointer(head));
  // An empty one points to itself, both ways. What does not is no such list.
  if (!node) {
    return nothing_at("list of tasks", head);
  }
  for (std::size_t i = 0; node && node != head && i < kMostAsyncioTasks; ++i) {
    if (TRY(objects.pointer(node + 8)) != last) {
      return nothing_at("list of tasks", head);
    }
    add(node - node_in_task);
    last = node;
    node = TRY(objects.pointer(node));
  }
  found.complete &= node == head;
  return node != head || TRY(objects.pointer(head + 8)) == last
             ? Status{}
             : nothing_at("list of tasks", head);
}

void TaskFinder::add(Address task) {
  if (found.tasks.size() >= kMostAsyncioTasks) {
    found.complete = false;
  } else if (task) {
    found.tasks.insert(task);
  }
}

}  // namespace
}  // namespace hangdbg
