#include "inspector/cpython/async/trio_tasks.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "inspector/cpython/async/await_chain.h"
#include "inspector/cpython/objects/attributes.h"
#include "inspector/cpython/objects/items.h"
#include "inspector/cpython/stacks/python_locals.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kTrioMostReads = 2'000'000;
constexpr std::size_t kTrioMostTasks = 10'000;
constexpr std::size_t kTrioMostFrames = 1000;

Result<Address> attribute(const ObjectReader& objects,
                          Address object,
                          std::string_view name) {
  std::optional<Address> found;
  TRY(each_attribute(objects, object, *TRY(objects.type_of(object)),
                     [&](const std::string& one, Address value) {
                       if (one == name) {
                         found = value;
                       }
                       return !found;
                     }));
  return found ? Result<Address>(*found) : nothing_at("attribute", object);
}

// Of a task that is at the end of `async with open_nursery()`: those that the
// nursery has.
Result<std::vector<Address>> children(const ObjectReader& objects,
                                      const AsyncioTask& task) {
  for (const PythonFrame& frame : task.stack.frames) {
    if (frame.function == "_nested_child_finished") {
      const Address nursery =
          TRY(find_name(objects, frame.address, frame.code, "self"));
      return TRY(read_items(objects,
                            TRY(attribute(objects, nursery, "_children")),
                            Kind::Set, 0, kTrioMostTasks))
          .items;
    }
  }
  return std::vector<Address>();
}

Result<AsyncioTask> read_task(const ObjectReader& objects,
                              PythonStackReader& stacks,
                              Address object) {
  const Address coroutine = TRY(attribute(objects, object, "coro"));
  const AwaitChain chain =
      TRY(read_await_chain(objects, coroutine, kTrioMostFrames));
  AsyncioTask task{.address = object, .name = {}, .state = "waits"};
  if (const auto name = attribute(objects, object, "name")) {
    task.name = objects.name(*name).value_or("");
  }
  task.stack = TRY(stacks.name(chain.frames));
  task.waits_for = children(objects, task).value_or(std::vector<Address>());
  return task;
}

}  // namespace

Result<TrioTasks> read_trio_tasks(const ObjectReader& objects,
                                  PythonStackReader& stacks,
                                  const PythonFrame& run) {
  objects.allow_reads(kTrioMostReads);
  const Address runner =
      TRY(find_name(objects, run.address, run.code, "runner"));
  const Items all =
      TRY(read_items(objects, TRY(attribute(objects, runner, "tasks")),
                     Kind::Set, 0, kTrioMostTasks));
  TrioTasks made;
  for (const Address object : all.items) {
    auto task = read_task(objects, stacks, object);
    // Its own are called "<init>" and the like.
    if (task && !task->name.starts_with('<')) {
      made.tasks.push_back(*std::move(task));
    }
  }
  std::ranges::sort(made.tasks, {}, [](const AsyncioTask& task) {
    return std::tuple(task.name, task.address);
  });
  const auto main = attribute(objects, runner, "main_task");
  if (main && std::ranges::find(made.tasks, *main, &AsyncioTask::address) !=
                  made.tasks.end()) {
    made.main = *main;
  }
  return made;
}

}  // namespace hangdbg
