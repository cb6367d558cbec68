#include "inspector/cpython/async/asyncio_tasks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "inspector/cpython/async/asyncio_finder.h"
#include "inspector/cpython/async/await_chain.h"
#include "inspector/cpython/async/noted_tasks.h"
#include "inspector/cpython/objects/attributes.h"
#include "inspector/cpython/objects/items.h"
#include "inspector/cpython/objects/numbers.h"
#include "inspector/cpython/stacks/python_locals.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kMostReads = 20'000'000;
constexpr std::size_t kMostFrames = 1000;
constexpr std::size_t kMostWords = 64;  // of a task

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
  Address coroutine_at;  // none of Python's own kind
};

struct TaskReader {
  const ObjectReader& objects;
  PythonStackReader& stacks;
  std::set<Address> found;
  AsyncioTasks all = {};

  void read_all(std::map<Address, TaskNotes>* notes);
  Result<std::optional<AsyncioTask>> read(Address object);
  Status note(Address object, TaskNotes& notes);
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
  return read_noted_tasks(objects, python, modules, files, stacks, threads,
                          nullptr);
}

AsyncioTasks read_noted_tasks(const ObjectReader& objects,
                              const PythonRuntime& python,
                              const std::vector<Module>& modules,
                              const TargetFiles& files,
                              PythonStackReader& stacks,
                              const std::vector<PythonThread>& threads,
                              std::map<Address, TaskNotes>* notes) {
  objects.allow_reads(kMostReads);
  FoundTasks found =
      find_asyncio_tasks(objects, python, modules, files, threads);
  TaskReader reader{objects, stacks, std::move(found.tasks)};
  reader.all.complete = found.complete;
  reader.read_all(notes);
  return std::move(reader.all);
}

namespace {

void TaskReader::read_all(std::map<Address, TaskNotes>* notes) {
  for (const Address object : found) {
    TaskNotes noted;
    std::optional<NoteTaker> taker;
    if (notes != nullptr) {
      taker.emplace(noted.all);
    }
    auto task = read(object);
    taker.reset();
    if (!task) {
      all.complete = false;
    } else if (*task) {
      all.tasks.push_back(std::move(**task));
      if (notes != nullptr && note(object, noted)) {
        notes->emplace(object, std::move(noted));
      }
    }
  }
  // Task-2 is before Task-10.
  std::ranges::sort(all.tasks, {}, [](const AsyncioTask& task) {
    return std::tuple(task.name.size(), task.name, task.address);
  });
  keep_waited_for();
}

// The frame of its coroutine, and what says that it is that of this task.
Status TaskReader::note(Address object, TaskNotes& notes) {
  const Fields fields = TRY(fields_of(object));
  const NoteTaker taker(notes.root_of_task);
  const Type& type = *TRY(objects.type_of(object));
  if (fields.coroutine_at) {
    TRY(objects.pointer(fields.coroutine_at));
    notes.loop = TRY(objects.pointer(object + objects.at().object_size));
  } else {
    TRY(find_in_instance(objects, object, type, "_coro"));
    notes.loop = TRY(find_in_instance(objects, object, type, "_loop"))
                     .value_or(Address());
  }
  notes.root = TRY(frame_of(objects, fields.coroutine));
  return {};
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
  // A word at a time: only what was needed is noted (noted_reads.h).
  const std::uint64_t end =
      std::min<std::uint64_t>(type.basic_size, kMostWords * 8);
  Address before;
  for (std::uint64_t at = objects.at().object_size; at + 8 < end; at += 8) {
    const Address word = TRY(objects.pointer(object + at));
    const auto field =
        word ? objects.type_of(word) : nothing_at("object", object);
    if (field && is_coroutine((*field)->kind)) {
      return Fields{word, before, TRY(objects.pointer(object + at + 8)),
                    object + at};
    }
    before = word;
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
          ? TRY(read_items(objects, object, kind, 0, kMostAsyncioTasks)).items
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
