#include "client/views/dump/tasks.h"

#include <fmt/core.h>

#include <map>
#include <set>

#include "base/text.h"

namespace hangdbg {
namespace {

// Those that wait deeper begin a tree of their own.
constexpr int kMostDepthOfTasks = 50;

struct TaskPrinter {
  bool full_filenames;
  const Palette& out;
  std::map<Address, const AsyncioTask*> tasks = {};
  std::set<Address> shown = {};
  std::string text = {};

  void tree(const AsyncioTask& task, int depth);
  std::string head(const AsyncioTask& task) const;
};

std::string name_of_task(const AsyncioTask& task) {
  return task.name.empty() ? fmt::format("Task {:#x}", task.address.value)
                           : fmt::format("Task \"{}\"", printable(task.name));
}

}  // namespace

std::string tasks_text(const AsyncioTasks& tasks,
                       bool full_filenames,
                       const Palette& out) {
  TaskPrinter printer{full_filenames, out};
  std::set<Address> awaited;
  for (const AsyncioTask& task : tasks.tasks) {
    printer.tasks.emplace(task.address, &task);
    awaited.insert(task.waits_for.begin(), task.waits_for.end());
  }
  for (const AsyncioTask& task : tasks.tasks) {
    if (!awaited.contains(task.address)) {
      printer.tree(task, 0);
    }
  }
  for (const AsyncioTask& task : tasks.tasks) {  // those that wait in a circle
    if (!printer.shown.contains(task.address)) {
      printer.tree(task, 0);
    }
  }
  if (!tasks.complete) {
    printer.text += out.red("(not all tasks could be read)") + "\n";
  }
  return printer.text;
}

namespace {

void TaskPrinter::tree(const AsyncioTask& task, int depth) {
  const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
  if (!shown.insert(task.address).second) {
    text += indent + name_of_task(task) + out.dim(" · see above") + "\n";
    return;
  }
  text += indent + head(task) + "\n";
  for (const PythonFrame& one : task.stack.frames) {
    text +=
        indent + "    " +
        listed_frame(one.qualname, one.file, one.line, full_filenames, out) +
        "\n";
  }
  if (!task.stack.complete) {
    text += indent + "    " + out.dim("(more omitted)") + "\n";
  }
  if (depth < kMostDepthOfTasks) {
    for (const Address other : task.waits_for) {
      tree(*tasks.at(other), depth + 1);
    }
  }
}

std::string TaskPrinter::head(const AsyncioTask& task) const {
  std::string head = out.bold(name_of_task(task));
  if (task.state != "waits") {
    return head + " · " + task.state;
  }
  head += " · awaits ";
  if (task.waits_for.empty()) {
    return head + "a " + printable(task.future);
  }
  return head + (task.waits_for.size() == 1
                     ? name_of_task(*tasks.at(task.waits_for.front()))
                     : fmt::format("{} tasks", task.waits_for.size()));
}

}  // namespace
}  // namespace hangdbg
