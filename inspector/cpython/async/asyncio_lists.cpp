#include "inspector/cpython/async/asyncio_lists.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "tracee/elf/elf_file.h"
#include "tracee/elf/module_file.h"

namespace hangdbg {
namespace {

// Py_AsyncioModuleDebugOffsets, as in 3.14 and 3.15.
struct AsyncioTable {
  struct {
    std::uint64_t size, name, awaited_by, is_task, awaited_by_is_set, coro,
        node;
  } task;
  struct {
    std::uint64_t size, tasks;
  } interpreter;
  struct {
    std::uint64_t size, running_loop, running_task, tasks;
  } thread;
};

constexpr std::uint64_t kNode = 16;          // struct llist_node
constexpr std::uint64_t kLargest = 1 << 24;  // of these structures

bool makes_sense(const AsyncioTable& table) {
  const auto fits = [](std::uint64_t at, std::uint64_t size) {
    return size <= kLargest && at % 8 == 0 && at > 0 && at + kNode <= size;
  };
  return fits(table.task.node, table.task.size) &&
         fits(table.interpreter.tasks, table.interpreter.size) &&
         fits(table.thread.tasks, table.thread.size) &&
         fits(table.thread.running_loop, table.thread.size);
}

Result<AsyncioTable> read_asyncio_table(const MemoryReader& memory,
                                        const Module& module,
                                        const TargetFiles& files) {
  const ElfImage image = TRY(ElfImage::read(memory, module.base));
  const ModuleFile file = TRY(open_module_file(files, memory, module, image));
  const ElfFile elf = TRY(ElfFile::read(file.bytes));
  const auto bytes = TRY(elf.section(".AsyncioDebug"));
  AsyncioTable table{};
  std::memcpy(&table, bytes.data(), std::min(bytes.size(), sizeof table));
  return table;
}

std::optional<AsyncioLists> lists_in(const MemoryReader& memory,
                                     const Module& module,
                                     const TargetFiles& files) {
  const auto table = read_asyncio_table(memory, module, files);
  if (!table || !makes_sense(*table)) {
    return {};
  }
  return AsyncioLists{static_cast<std::uint32_t>(table->task.node),
                      static_cast<std::uint32_t>(table->interpreter.tasks),
                      static_cast<std::uint32_t>(table->thread.tasks),
                      static_cast<std::uint32_t>(table->thread.running_loop)};
}

std::optional<AsyncioLists> told_lists(const MemoryReader& memory,
                                       const PythonRuntime& python,
                                       const std::vector<Module>& modules,
                                       const TargetFiles& files) {
  // A file of its own, or linked in.
  const auto own = std::ranges::find_if(modules, [](const Module& module) {
    return base_name(module.path).starts_with("_asyncio.");
  });
  if (own != modules.end()) {
    return lists_in(memory, *own, files);
  }
  return python.module < modules.size()
             ? lists_in(memory, modules[python.module], files)
             : std::nullopt;
}

}  // namespace

Result<AsyncioLists> find_asyncio_lists(const ObjectReader& objects,
                                        const PythonRuntime& python,
                                        const Type& task,
                                        const std::vector<Module>& modules,
                                        const TargetFiles& files) {
  if (const auto told = told_lists(objects.memory(), python, modules, files)) {
    return *told;
  }
  const ObjectLayout& at = objects.at();
  if (at.thread_tasks == ObjectLayout::kAbsent) {
    return nothing_at("list of tasks", task.address);
  }
  // A task's last field, but for the thread's id in a free-threaded one.
  const auto size = static_cast<std::uint32_t>(task.basic_size);
  return AsyncioLists{size - (at.free_threaded ? 24 : 16), at.interpreter_tasks,
                      at.thread_tasks, at.thread_running_loop};
}

std::uint32_t find_running_loop_field(const ObjectReader& objects,
                                      const PythonRuntime& python,
                                      const std::vector<Module>& modules,
                                      const TargetFiles& files) {
  const auto told = told_lists(objects.memory(), python, modules, files);
  return told ? told->running_loop : objects.at().thread_running_loop;
}

}  // namespace hangdbg
