#include "inspector/cpython/async/asyncio_tasks.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "inspector/cpython/async/asyncio_lists.h"
#include "inspector/cpython/async/await_chain.h"
#include "inspector/cpython/objects/attributes.h"
#include "inspector/cpython/objects/dict.h"
#include "inspector/cpython/objects/items.h"
#include "inspector/cpython/objects/numbers.h"
#include "inspector/cpython/runtime/interpreters.h"
#include "inspector/cpython/stacks/python_locals.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kMostReads = 20'000'000;
constexpr std::size_t kMostTasks = 100'000;
constexpr std::size_t kMostFrames = 1000;
constexpr std::size_t kMostWords = 64;  // of a task
constexpr std::size_t kAsyncioTasksPage = 4096;
constexpr std::size_t kMostPages = 256;  // of variables, of any module in C

// Functions of asyncio that wait for tasks by a future of their own: in which
// local, or in which attribute of it, those are.
struct Waiter {
  std::string_view file, function, local, attribute;
};
constexpr Waiter kWaiters[] = {
    {"/asyncio/taskgroups.py", "TaskGroup.__aexit__", "self", "_tasks"},
    {"/asyncio/taskgroups.py", "TaskGroup._aexit", "self", "_tasks"},
    {"/asyncio/tasks.py", "_wait", "fs", ""},
    {"/asyncio/tasks.py", "wait_for", "fut", ""},
};

struct Fields {
  Address coroutine, waiter, name;
};

struct TaskReader {
  const ObjectReader& objects;
  const PythonRuntime& python;
  const std::vector<Module>& modules;
  const TargetFiles& files;
  PythonStackReader& stacks;
  std::set<Address> found = {};
  AsyncioTasks all = {};

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

  Result<std::optional<AsyncioTask>> read(Address object);
  Result<Fields> fields_of(Address object);
  std::string name_of(Address name);
  Status add_waited_for(AsyncioTask& task, Address waiter);
  Status add_waited_for(AsyncioTask& task, const PythonFrame& frame);
  Status add_each(AsyncioTask& task, Address object);
  void keep_waited_for();
};

}  // namespace

AsyncioTasks read_asyncio_tasks(const ObjectReader& objects,
                                const PythonRuntime& python,
                                const std::vector<Module>& modules,
                                const TargetFiles& files,
                                PythonStackReader& stacks,
                                const std::vector<PythonThread>& threads) {
  objects.allow_reads(kMostReads);
  TaskReader reader{objects, python, modules, files, stacks};
  const auto interpreters = read_interpreters(objects.memory(), python);
  reader.all.complete = interpreters.has_value();
  for (const Interpreter& interpreter :
       interpreters ? *interpreters : std::vector<Interpreter>()) {
    reader.find(interpreter.state, threads);
  }
  for (const Address object : reader.found) {
    auto task = reader.read(object);
    if (!task) {
      reader.all.complete = false;
    } else if (*task) {
      reader.all.tasks.push_back(std::move(**task));
    }
  }
  // Task-2 is before Task-10.
  std::ranges::sort(reader.all.tasks, {}, [](const AsyncioTask& task) {
    return std::tuple(task.name.size(), task.name, task.address);
  });
  reader.keep_waited_for();
  return std::move(reader.all);
}

namespace {

// ---- where asyncio keeps them

// From 3.14 on.
bool keeps_lists(const ObjectReader& objects) {
  constexpr int kFirst = 14;
  return objects.at().minor >= kFirst;
}

void TaskReader::find(Address interpreter,
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
  all.complete &= sets && lists;
}

// Of 3.6 Python's own kind of task keeps a set in its class, C's kind in a
// variable of its module, which lies behind its type and has no other.
Status TaskReader::find_in_sets_36(Address module) {
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
Result<Address> TaskReader::find_variable(Address from, const Type& type) {
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
Status TaskReader::find_in_sets(Address module) {
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
        TRY(read_items(objects, *eager, Kind::Set, 0, kMostTasks));
    all.complete &= tasks.items.size() == tasks.size;
    std::ranges::for_each(tasks.items, [&](Address task) { add(task); });
  }
  return {};
}

// A WeakSet.
Status TaskReader::find_in_set(Address weak) {
  const auto data =
      TRY(find_in_instance(objects, weak, *TRY(objects.type_of(weak)), "data"));
  if (!data) {
    return {};
  }
  const Items references =
      TRY(read_items(objects, *data, Kind::Set, 0, kMostTasks));
  all.complete &= references.items.size() == references.size;
  for (const Address reference : references.items) {
    const auto task = referred(reference);
    all.complete &= task.has_value();
    add(task.value_or(Address{}));
  }
  return {};
}

Result<Address> TaskReader::referred(Address reference) {
  if (TRY(objects.type_of(reference))->kind != Kind::WeakReference) {
    return nothing_at("weak reference", reference);
  }
  return objects.pointer(reference + objects.at().weakref_object);
}

// A list of each thread, and the interpreter's of threads that have ended.
Status TaskReader::find_in_lists(Address module,
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
Status TaskReader::find_in_list(Address head, std::uint32_t node_in_task) {
  Address last = head;
  Address node = TRY(objects.pointer(head));
  // An empty one points to itself, both ways. What does not is no such list.
  if (!node) {
    return nothing_at("list of tasks", head);
  }
  for (std::size_t i = 0; node && node != head && i < kMostTasks; ++i) {
    if (TRY(objects.pointer(node + 8)) != last) {
      return nothing_at("list of tasks", head);
    }
    add(node - node_in_task);
    last = node;
    node = TRY(objects.pointer(node));
  }
  all.complete &= node == head;
  return node != head || TRY(objects.pointer(head + 8)) == last
             ? Status{}
             : nothing_at("list of tasks", head);
}

void TaskReader::add(Address task) {
  if (found.size() >= kMostTasks) {
    all.complete = false;
  } else if (task) {
    found.insert(task);
  }
}

// ---- what is in one

// None if it is done.
Result<std::optional<AsyncioTask>> TaskReader::read(Address object) {
  const Fields fields = TRY(fields_of(object));
  if (!fields.coroutine) {
    return std::nullopt;
  }
  AwaitChain chain =
      TRY(read_await_chain(objects, fields.coroutine, kMostFrames));
  if (chain.state == "closed") {
    return std::nullopt;
  }
  AsyncioTask task{.address = object, .name = name_of(fields.name)};
  task.state = chain.state == "running"   ? "runs"
               : chain.state == "created" ? "not begun"
               : fields.waiter            ? "waits"
                                          : "ready";
  auto stack = stacks.name(chain.frames);
  task.stack = stack ? std::move(*stack) : PythonStack{.complete = false};
  if (task.state == "waits") {
    task.waiter = fields.waiter;
    TRY(add_waited_for(task, fields.waiter));
    for (const PythonFrame& frame : task.stack.frames) {
      (void)add_waited_for(task, frame);  // a local may have none yet
    }
  }
  return task;
}

// Python's own kind of task has attributes. Of C's kind the layout is nowhere
// said, but what awaits, what is awaited and the name lie side by side in each
// version, and no field before them is ever a coroutine.
Result<Fields> TaskReader::fields_of(Address object) {
  const Type& type = *TRY(objects.type_of(object));
  if (const auto own = TRY(find_in_instance(objects, object, type, "_coro"))) {
    const auto get = [&](const char* name) {
      const auto value = find_in_instance(objects, object, type, name);
      return value && *value ? **value : Address{};
    };
    Fields fields{*own, get("_fut_waiter"), get("_name")};
    if (fields.waiter &&
        TRY(objects.type_of(fields.waiter))->kind == Kind::None) {
      fields.waiter = {};
    }
    return fields;
  }
  std::vector<Address> words(
      std::min<std::size_t>(type.basic_size / 8, kMostWords));
  TRY(objects.memory().read(object, std::as_writable_bytes(std::span(words))));
  for (std::size_t i = objects.at().object_size / 8; i + 1 < words.size();
       ++i) {
    const auto field =
        words[i] ? objects.type_of(words[i]) : nothing_at("object", object);
    if (field && is_coroutine((*field)->kind)) {
      return Fields{words[i], words[i - 1], words[i + 1]};
    }
  }
  return Fields{};
}

// From 3.12 on a number, until the program reads the name.
std::string TaskReader::name_of(Address name) {
  const auto type = name ? objects.type_of(name) : nothing_at("name", name);
  if (type && (*type)->kind == Kind::Int) {
    const auto text = int_text(objects, name);
    return text ? "Task-" + *text : "";
  }
  const auto text = type && (*type)->kind == Kind::Str
                        ? objects.name(name)
                        : Result<std::string>("");
  return text ? *text : "";
}

// ---- what it waits for

// A future, perhaps a task, or gather()'s.
Status TaskReader::add_waited_for(AsyncioTask& task, Address waiter) {
  const Type& type = *TRY(objects.type_of(waiter));
  task.future = type.name;
  const auto children =
      TRY(find_in_instance(objects, waiter, type, "_children"));
  return add_each(task, children.value_or(waiter));
}

Status TaskReader::add_waited_for(AsyncioTask& task, const PythonFrame& frame) {
  const auto* const waiter =
      std::ranges::find_if(kWaiters, [&](const Waiter& known) {
        return frame.qualname == known.function &&
               frame.file.ends_with(known.file);
      });
  if (waiter == std::end(kWaiters)) {
    return {};
  }
  const Address local =
      TRY(find_name(objects, frame.address, frame.code, waiter->local));
  if (waiter->attribute.empty()) {
    return add_each(task, local);
  }
  const auto inner = TRY(find_in_instance(
      objects, local, *TRY(objects.type_of(local)), waiter->attribute));
  return inner ? add_each(task, *inner) : Status{};
}

// Of the object, or of the list or set that it is, what is a task.
Status TaskReader::add_each(AsyncioTask& task, Address object) {
  const Kind kind = TRY(objects.type_of(object))->kind;
  const auto addresses =
      has_items(kind)
          ? TRY(read_items(objects, object, kind, 0, kMostTasks)).items
          : std::vector{object};
  for (const Address one : addresses) {
    if (found.contains(one)) {
      task.waits_for.push_back(one);
    }
  }
  return {};
}

// Each once, in the order of the tasks, and of those that are not done.
void TaskReader::keep_waited_for() {
  std::map<Address, std::size_t> places;
  for (std::size_t i = 0; i < all.tasks.size(); ++i) {
    places.emplace(all.tasks[i].address, i);
  }
  for (AsyncioTask& task : all.tasks) {
    std::erase_if(task.waits_for,
                  [&](Address one) { return !places.contains(one); });
    std::ranges::sort(task.waits_for, {},
                      [&](Address one) { return places.at(one); });
    const auto twice = std::ranges::unique(task.waits_for);
    task.waits_for.erase(twice.begin(), twice.end());
  }
}

}  // namespace
}  // namespace hangdbg
