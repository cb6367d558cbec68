#include "inspector/snapshot/process_dump.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <tuple>
#include <utility>

#include "base/spawn_up_to.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/runtime/gil.h"
#include "inspector/cpython/stacks/python_locals.h"
#include "inspector/cpython/stacks/thread_names.h"
#include "inspector/cpython/stacks/thread_sample.h"
#include "inspector/snapshot/native_dump.h"
#include "inspector/snapshot/python_activity.h"
#include "tracee/proc/task_ids.h"
#include "tracee/proc/wait_sample.h"
#include "tracee/syscalls/syscall_text.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostFramesWithLocals = 1000;
constexpr int kWalks = 3;  // over the list of threads
// A thread of ours costs as much as a look or two.
constexpr std::size_t kThreadsForOne = 16;

struct Dumper {
  const Target& target;
  const DumpOptions& options;
  PythonStackReader stacks{target.memory, target.python};
  std::optional<NativeDump> native = {};  // if it is asked for

  DumpedThread thread(const PythonThread& thread,
                      const std::string& command,
                      bool has_gil);
  DumpedThread look(const PythonThread& thread,
                    const std::string& command,
                    bool has_gil);
  void see_objects(const PythonThread& thread, DumpedThread& dumped);
  std::vector<std::vector<DumpedVariable>> locals(const ObjectReader& objects,
                                                  const PythonStack& stack);
  AsyncioTasks tasks(const std::vector<PythonThread>& threads);
  Greenlets greenlets(const std::vector<PythonThread>& threads);
};

std::optional<DumpedGil> gil_of(const Target& target, const TaskIds& tasks) {
  const auto gil = read_gil(target.memory, target.python, tasks);
  return gil && gil->enabled
             ? std::optional(DumpedGil{gil->locked, gil->holder_tid})
             : std::nullopt;
}

// They are threading's, in its dict: what a dump costs is theirs by half.
ThreadNames greenlet_names(const Target& target, const DumpOptions& options) {
  if (!options.names) {
    return {};
  }
  const auto objects = ObjectReader::open_values(target.memory, target.python);
  return objects ? read_thread_names(*objects, target.python) : ThreadNames();
}

// A thread that ends while its list is walked may end the walk. The list's last
// is main, as a rule: without it, it is walked again.
Result<std::vector<PythonThread>> all_threads(const Target& target,
                                              const TaskIds& tasks) {
  Result<std::vector<PythonThread>> threads;
  for (int tried = 0; tried < kWalks; ++tried) {
    threads =
        python_threads(target.memory, target.python, tasks, /*places=*/false);
    if (!threads || std::ranges::find(*threads, target.pid,
                                      &PythonThread::tid) != threads->end()) {
      break;
    }
  }
  return threads;
}

void add_threads_without_python(const Target& target,
                                std::vector<PythonThread>& threads) {
  const auto tids = target.threads();
  for (const int tid : tids ? *tids : std::vector<int>()) {
    if (std::ranges::find(threads, tid, &PythonThread::tid) == threads.end()) {
      threads.push_back({.tid = tid});
    }
  }
}

// C stacks have one unwinder, and a core file one reader; else as many of us
// look as have enough to do. Left out are the threads of an agent of ours.
std::vector<DumpedThread> dump_threads(Dumper& dumper,
                                       const std::vector<PythonThread>& threads,
                                       const std::optional<DumpedGil>& gil) {
  std::vector<DumpedThread> dumped(threads.size());
  const std::string command = dumper.target.name();
  std::atomic<std::size_t> next = 0;
  const auto work = [&](Dumper& with) {
    for (std::size_t i = 0; (i = next++) < threads.size();) {
      const bool has_gil =
          gil && gil->locked && threads[i].tid && gil->holder == threads[i].tid;
      dumped[i] = with.thread(threads[i], command, has_gil);
    }
  };
  const bool alone = dumper.native || !dumper.target.live_pid();
  std::size_t most = threads.size() / kThreadsForOne;
  if (most > 1) {  // else it need not be asked how many CPUs there are
    most = std::min<std::size_t>(most, std::thread::hardware_concurrency());
  }
  auto helpers = spawn_up_to(alone || most == 0 ? 0 : most - 1, [&] {
    Dumper own{dumper.target, dumper.options};
    work(own);
  });
  work(dumper);
  for (std::thread& helper : helpers) {
    helper.join();
  }
  std::erase_if(dumped, [](const DumpedThread& thread) {
    return is_agents_name(thread.name);
  });
  return dumped;
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

Result<ProcessDump> dump_process(const Target& target,
                                 const DumpOptions& options) {
  const auto tasks = TRY(target.tasks());
  auto threads = all_threads(target, tasks);
  if (!threads) {
    return std::unexpected(
        name_process(target.pid, std::move(threads).error()));
  }
  std::ranges::sort(*threads, {}, [&](const PythonThread& thread) {
    return std::tuple(thread.tid != target.pid, thread.interpreter,
                      thread.tid.value_or(0), thread.ident);
  });
  ProcessDump dump;
  dump.pid = target.pid;
  dump.python = target.python.version.text();
  dump.free_threaded = target.python.free_threaded;
  dump.note = trust_note(target.python);
  dump.command_line = target.command_line();
  dump.age_s = target.age_s();
  dump.gil = gil_of(target, tasks);
  const ThreadNames names = greenlet_names(target, options);
  if (options.native_all) {
    add_threads_without_python(target, *threads);
  }
  Dumper dumper{target, options};
  if (options.native) {
    dumper.native.emplace(target);
  }
  dump.threads = dump_threads(dumper, *threads, dump.gil);
  for (DumpedThread& thread : dump.threads) {
    dump.longest_stop = std::max(dump.longest_stop, thread.stopped);
    const auto name = names.find({thread.interpreter, thread.ident});
    if (name != names.end()) {
      thread.name = name->second;
    }
  }
  if (dumper.native) {
    merge(*dumper.native, dump.threads);
  }
  if (options.tasks) {
    dump.tasks = dumper.tasks(*threads);
    dump.greenlets = dumper.greenlets(*threads);
    dump.longest_stop =
        std::max(dump.longest_stop, dump.greenlets->longest_stop);
  }
  return dump;
}

Result<DumpedThread> dump_thread(const Target& target,
                                 int tid,
                                 const DumpOptions& options) {
  const auto tasks = TRY(target.tasks());
  auto threads = TRY(all_threads(target, tasks));
  if (options.native_all) {
    add_threads_without_python(target, threads);
  }
  const auto found = std::ranges::find(threads, tid, &PythonThread::tid);
  if (found == threads.end()) {
    return fail(ErrorId::NoSuchThread,
                fmt::format("thread {} runs no Python", tid));
  }
  Dumper dumper{target, options};
  if (options.native) {
    dumper.native.emplace(target);
  }
  std::vector<DumpedThread> dumped;
  dumped.push_back(dumper.thread(*found, target.name(), false));
  if (dumper.native) {
    merge(*dumper.native, dumped);
  }
  return std::move(dumped.front());
}

namespace {

// It was running, and was resumed; or it slept, and no longer does.
bool has_run_since(const Target& target,
                   const PythonThread& thread,
                   const ThreadSample& look) {
  if (!target.live_pid() || !thread.tid) {
    return false;
  }
  const auto now = read_task_runs(*target.live_pid(), *thread.tid);
  return look.stopped.count() > 0 || !now || *now != look.wait.runs;
}

DumpedThread Dumper::thread(const PythonThread& thread,
                            const std::string& command,
                            bool has_gil) {
  DumpedThread dumped = look(thread, command, has_gil);
  if (native && !is_agents_name(dumped.name)) {
    native->unwind(dumped.stack);
  }
  return dumped;
}

DumpedThread Dumper::look(const PythonThread& thread,
                          const std::string& command,
                          bool has_gil) {
  DumpedThread dumped{.tid = thread.tid,
                      .ident = thread.ident,
                      .interpreter = thread.interpreter,
                      .has_gil = has_gil};
  SampleOptions how{.most = options.most_frames, .may_stop = options.may_stop};
  if (native) {
    how.copy = [&](const Registers& registers) {
      return native->copy(registers);
    };
  }
  auto look = target.look(stacks, thread, how);
  if (!look) {
    dumped.error = std::move(look).error();
    return dumped;
  }
  const WaitSample& wait = look->wait;
  if (wait.state != '?') {
    dumped.state = describe(wait);
  }
  // A thread that has no name of its own is called as its process.
  dumped.name = thread.tid == target.pid ? "MainThread"
                : wait.name != command   ? wait.name
                                         : "";
  if (!wait.syscall.empty()) {
    dumped.call = DumpedCall{
        wait.syscall,
        syscall_arguments(target.live_pid(), target.memory, wait.call)};
    dumped.waiting_s = wait.asleep_s;
  }
  dumped.stopped = look->stopped;
  dumped.stack = std::move(look->stack);
  if (thread.state) {
    see_objects(thread, dumped);
  }
  if (options.locals) {
    dumped.locals_exact =
        dumped.stack.exact && !has_run_since(target, thread, *look);
  }
  return dumped;
}

// With a memory of its own: what another thread's look has read may have
// changed.
void Dumper::see_objects(const PythonThread& thread, DumpedThread& dumped) {
  if (target.python.unknown && !options.locals) {
    return;
  }
  const auto objects = ObjectReader::open_values(target.memory, target.python);
  if (!objects) {
    return;
  }
  objects->allow_reads();
  if (const auto value = handled_exception(*objects, thread.state)) {
    const auto type = objects->type_of(*value);
    dumped.exception = DumpedVariable{"", type ? (*type)->name : "?",
                                      repr(*objects, *value, {.depth = 1})};
  }
  const auto interpreter =
      objects->pointer(thread.state + target.python.layout.thread_interpreter);
  dumped.collects_garbage =
      dumped.has_gil && interpreter &&
      collects_garbage(*objects, target.python, *interpreter);
  if (options.locals) {
    dumped.locals = locals(*objects, dumped.stack);
  }
}

std::vector<std::vector<DumpedVariable>> Dumper::locals(
    const ObjectReader& objects,
    const PythonStack& stack) {
  std::vector<std::vector<DumpedVariable>> all;
  for (const PythonFrame& frame : stack.frames) {
    if (all.size() == kMostFramesWithLocals) {
      break;
    }
    auto& variables = all.emplace_back();
    if (const auto read = read_locals(objects, frame.address, frame.code)) {
      for (const Variable& variable : *read) {
        const auto type = objects.type_of(variable.object);
        variables.push_back({variable.name, type ? (*type)->name : "?",
                             repr(objects, variable.object, *options.locals)});
      }
    }
  }
  return all;
}

AsyncioTasks Dumper::tasks(const std::vector<PythonThread>& threads) {
  const auto objects = ObjectReader::open(target.memory, target.python);
  return objects ? read_asyncio_tasks(*objects, target.python, target.modules,
                                      target.files, stacks, threads)
                 : AsyncioTasks{.complete = false};
}

Greenlets Dumper::greenlets(const std::vector<PythonThread>& threads) {
  const auto objects = ObjectReader::open(target.memory, target.python);
  return objects ? read_greenlets(target, *objects, stacks, threads,
                                  options.may_stop)
                 : Greenlets{.missing = objects.error().text()};
}

}  // namespace
}  // namespace hangdbg
