#include "inspector/process_dump.h"

#include <fmt/core.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "inspector/gil.h"
#include "inspector/native_dump.h"
#include "inspector/objects/heap.h"
#include "inspector/python_locals.h"
#include "inspector/syscall_text.h"
#include "inspector/task_ids.h"
#include "inspector/thread_look.h"
#include "inspector/thread_names.h"
#include "inspector/wait_look.h"
#include "tracee/proc_file.h"
#include "tracee/proc_tasks.h"

namespace hangdbg {
namespace {

constexpr std::string_view kAgentThreads = "hangdbg-";
constexpr std::size_t kMostFramesWithLocals = 1000;

struct Dumper {
  const InspectedProcess& process;
  const DumpOptions& options;
  PythonStackReader stacks{process.memory, process.python};
  std::optional<NativeDump> native = {};  // if it is asked for
  std::chrono::nanoseconds longest_stop{};

  DumpedThread thread(const PythonThread& thread, const std::string& command);
  std::vector<std::vector<DumpedVariable>> locals(const PythonStack& stack);
};

std::optional<DumpedGil> gil_of(const InspectedProcess& process,
                                const TaskIds& tasks) {
  const auto gil = read_gil(process.memory, process.python, tasks);
  return gil && gil->enabled
             ? std::optional(DumpedGil{gil->locked, gil->holder_tid})
             : std::nullopt;
}

std::vector<std::string> command_line(int pid) {
  std::vector<std::string> words;
  if (auto text = read_proc_file(pid, "cmdline"); text && !text->empty()) {
    text->pop_back();  // each word is ended by a NUL
    for (const std::string_view word : split(*text, '\0')) {
      words.emplace_back(word);
    }
  }
  return words;
}

std::optional<double> age_s(int pid) {
  const auto stat = read_task_stat(pid, pid);
  timespec now{};
  if (!stat || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) {
    return {};
  }
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) / 1e9 -
         static_cast<double>(stat->start_ticks) /
             static_cast<double>(::sysconf(_SC_CLK_TCK));
}

void add_threads_without_python(int pid, std::vector<PythonThread>& threads) {
  const auto tids = list_tasks(pid);
  for (const int tid : tids ? *tids : std::vector<int>()) {
    if (std::ranges::find(threads, tid, &PythonThread::tid) == threads.end()) {
      threads.push_back({.tid = tid});
    }
  }
}

void merge(NativeDump& native, std::vector<DumpedThread>& threads) {
  std::vector<const PythonStack*> stacks;
  for (const DumpedThread& thread : threads) {
    stacks.push_back(&thread.stack);
  }
  auto merged = native.merge(stacks);
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i].merged = std::move(merged[i]);
  }
}

}  // namespace

std::vector<StackEntry> DumpedThread::entries() const {
  if (merged) {
    return merged->entries;
  }
  std::vector<StackEntry> entries(stack.frames.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i].frame = i;
  }
  return entries;
}

Result<ProcessDump> dump_process(const InspectedProcess& process,
                                 const DumpOptions& options) {
  const auto tasks = TRY(TaskIds::read(process.pid));
  auto threads = python_threads(process.memory, process.python, tasks);
  if (!threads) {
    return std::unexpected(
        name_process(process.pid, std::move(threads).error()));
  }
  std::ranges::sort(*threads, {}, [&](const PythonThread& thread) {
    return std::tuple(thread.tid != process.pid, thread.interpreter,
                      thread.tid.value_or(0), thread.ident);
  });
  ProcessDump dump;
  dump.pid = process.pid;
  dump.python = process.python.version.text();
  dump.free_threaded = process.python.free_threaded;
  dump.command_line = command_line(process.pid);
  dump.age_s = age_s(process.pid);
  dump.gil = gil_of(process, tasks);
  const auto heap = Heap::open(process.memory, process.python);
  const ThreadNames names =
      heap ? read_thread_names(*heap, process.python) : ThreadNames();
  if (options.native_all) {
    add_threads_without_python(process.pid, *threads);
  }
  Dumper dumper{process, options};
  if (options.native) {
    dumper.native.emplace(process);
  }
  const auto main = read_task_stat(process.pid, process.pid);
  for (const PythonThread& thread : *threads) {
    auto dumped = dumper.thread(thread, main ? main->comm : "");
    if (dumped.name.starts_with(kAgentThreads)) {
      continue;  // of an agent of ours
    }
    const auto name = names.find({thread.interpreter, thread.ident});
    if (name != names.end()) {
      dumped.name = name->second;
    }
    dumped.has_gil = dump.gil && dump.gil->locked && thread.tid &&
                     dump.gil->holder == thread.tid;
    dump.threads.push_back(std::move(dumped));
    if (dumper.native) {
      dumper.native->unwind(dump.threads.back().stack);
    }
  }
  dump.longest_stop = dumper.longest_stop;
  if (dumper.native) {
    merge(*dumper.native, dump.threads);
  }
  return dump;
}

namespace {

DumpedThread Dumper::thread(const PythonThread& thread,
                            const std::string& command) {
  DumpedThread dumped{.tid = thread.tid,
                      .ident = thread.ident,
                      .interpreter = thread.interpreter};
  LookOptions how{.most = options.most_frames, .may_stop = options.may_stop};
  if (native) {
    how.copy = [&](const Attachment* stopped, const TaskSyscall& call) {
      return native->copy(stopped, call);
    };
  }
  auto look = look_at_thread(process.pid, process.memory, process.python,
                             stacks, thread, how);
  if (!look) {
    dumped.error = std::move(look).error();
    return dumped;
  }
  const WaitLook& wait = look->wait;
  if (!wait.name.empty()) {
    dumped.state = describe(wait);
    // A thread that has no name of its own is called as its process.
    dumped.name = thread.tid == process.pid ? "MainThread"
                  : wait.name != command    ? wait.name
                                            : "";
  }
  if (!wait.syscall.empty()) {
    dumped.call =
        DumpedCall{wait.syscall,
                   syscall_arguments(process.pid, process.memory, wait.call)};
    dumped.waiting_s = wait.asleep_s;
  }
  longest_stop = std::max(longest_stop, look->stopped);
  dumped.stack = std::move(look->stack);
  if (options.locals) {
    dumped.locals = locals(dumped.stack);
  }
  return dumped;
}

// With a memory of its own: what another thread's look has read may have
// changed.
std::vector<std::vector<DumpedVariable>> Dumper::locals(
    const PythonStack& stack) {
  std::vector<std::vector<DumpedVariable>> all;
  const auto heap = Heap::open(process.memory, process.python);
  if (!heap) {
    return all;
  }
  for (const PythonFrame& frame : stack.frames) {
    if (all.size() == kMostFramesWithLocals) {
      break;
    }
    auto& variables = all.emplace_back();
    if (const auto read = read_locals(*heap, frame.address, frame.code)) {
      for (const Variable& variable : *read) {
        const auto type = heap->type_of(variable.object);
        variables.push_back({variable.name, type ? (*type)->name : "?",
                             repr(*heap, variable.object, *options.locals)});
      }
    }
  }
  return all;
}

}  // namespace
}  // namespace hangdbg
