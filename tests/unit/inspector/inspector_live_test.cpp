// The inspector on real interpreters: each one found is hung in a known way,
// and inspected.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "injector/checks/danger.h"
#include "inspector/cpython/runtime/gil.h"
#include "inspector/cpython/runtime/python_process.h"
#include "inspector/cpython/runtime/python_runtime.h"
#include "inspector/native/native_stack.h"
#include "tests/unit/support/interpreters.h"
#include "tests/unit/support/processes.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/ptrace/traced_thread.h"

namespace hangdbg {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

int other_thread(int pid) {
  const auto tasks = list_tasks(pid);
  return tasks && tasks->size() > 1 ? tasks->back() : -1;
}

template <class Work>
long microseconds_of(const Work& work) {
  const auto start = steady_clock::now();
  work();
  return std::chrono::duration_cast<microseconds>(steady_clock::now() - start)
      .count();
}

struct Stopped {
  Result<NativeStack> stack;
  Interruption at;
  Registers registers;
  long cold_us = 0;
  long warm_us = 0;
  bool at_syscall = false;
};

Result<Stopped> stop_and_unwind(int tid, const Look& look) {
  return run_as_tracer([&]() -> Result<Stopped> {
    auto thread = TRY(TracedThread::seize(tid));
    TRY(thread.interrupt(Deadline::in(std::chrono::seconds(5))));
    Stopped stopped;
    stopped.registers = TRY(thread.registers());
    stopped.at.in_syscall = stopped.registers.in_syscall();
    stopped.at.number = stopped.registers.syscall_number();
    stopped.at.futex_op = static_cast<std::uint32_t>(stopped.registers.raw.rsi);
    stopped.at_syscall = follows_syscall(look.memory, stopped.registers.pc());
    const auto deadline = Deadline::in(std::chrono::seconds(5));
    NativeUnwinder unwinder(look.memory, look.modules);
    stopped.cold_us = microseconds_of([&] {
      stopped.stack = unwinder.unwind(stopped.registers.raw, deadline);
    });
    stopped.warm_us = microseconds_of([&] {
      stopped.stack = unwinder.unwind(stopped.registers.raw, deadline);
    });
    TRY(thread.detach());
    return stopped;
  });
}

const PythonThread* thread_of(const std::vector<PythonThread>& threads,
                              int tid) {
  const auto found =
      std::ranges::find(threads, std::optional(tid), &PythonThread::tid);
  return found == threads.end() ? nullptr : &*found;
}

class InspectorLive : public OnEachPython {};

constexpr const char* kHungInALock = R"(
lock, other = threading.Lock(), threading.Lock()
lock.acquire(), other.acquire()
def wait_in_worker():
    say("ready")
    other.acquire()
def wait_in_main():
    lock.acquire()
threading.Thread(target=wait_in_worker, daemon=True).start()
wait_in_main()
)";

TEST_P(InspectorLive, HungInALock) {
  const PythonChild target(path_, kHungInALock);
  const int worker = other_thread(target.pid());
  ASSERT_TRUE(sleeps_in(target.pid(), target.pid(), "futex"));
  ASSERT_TRUE(sleeps_in(target.pid(), worker, "futex"));
  const Look look(target.pid());

  Result<PythonRuntime> python;
  const long find_us =
      microseconds_of([&] { python = find_python(look.memory, look.modules); });
  ASSERT_TRUE(python) << python.error().text();
  // The same without its maps, or by them where the program exports none.
  const auto opened = open_python(target.pid());
  ASSERT_TRUE(opened) << opened.error().text();
  EXPECT_EQ(opened->python.runtime, python->runtime);
  EXPECT_EQ(opened->python.code_type, python->code_type);
  EXPECT_EQ(opened->python.version.text(), python->version.text());
  if (GetParam() != "system") {
    EXPECT_EQ("3." + std::to_string(python->version.minor), GetParam());
  }
  EXPECT_FALSE(python->free_threaded);
  EXPECT_TRUE(python->find(look.memory, "PyGILState_Ensure"));
  if (python->version.at_least(7)) {  // 3.6 is not entered
    EXPECT_TRUE(check_ready(look.memory, *python));
  }

  const auto gil = read_gil(look.memory, *python, look.tasks);
  ASSERT_TRUE(gil) << gil.error().text();
  EXPECT_FALSE(gil->locked);

  const auto threads = python_threads(look.memory, *python, look.tasks);
  ASSERT_TRUE(threads) << threads.error().text();
  EXPECT_EQ(threads->size(), 2);
  const auto* main = thread_of(*threads, target.pid());
  ASSERT_NE(main, nullptr);
  EXPECT_EQ(main->function, "wait_in_main");
  EXPECT_EQ(main->file, "<string>");
  EXPECT_EQ(main->interpreter, 0);
  const auto* second = thread_of(*threads, worker);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->function, "wait_in_worker");
  const auto again = python_threads(look.memory, *python, look.tasks);
  ASSERT_TRUE(again);
  EXPECT_TRUE(thread_of(*again, worker)->same_place(*second));

  Result<DangerousCode> danger;
  const long danger_us = microseconds_of([&] {
    danger = DangerousCode::find(look.memory, look.modules, *python);
  });
  ASSERT_TRUE(danger) << danger.error().text();
  for (const int tid : {target.pid(), worker}) {
    const auto stopped = stop_and_unwind(tid, look);
    ASSERT_TRUE(stopped) << stopped.error().text();
    ASSERT_TRUE(stopped->stack) << stopped->stack.error().text();
    EXPECT_TRUE(stopped->at_syscall);
    EXPECT_TRUE(stopped->stack->complete);
    const auto& frames = stopped->stack->frames;
    EXPECT_GT(frames.size(), 6);
    EXPECT_EQ(frames.front().module, danger->pthread_module());
    EXPECT_TRUE(std::ranges::any_of(frames, [&](const NativeFrame& frame) {
      return frame.module == python->module;
    }));
    const StackVerdict verdict = danger->judge(*stopped->stack, stopped->at);
    EXPECT_TRUE(verdict.safe) << verdict.reason;
    std::printf(
        "python %s: find_python %ld us, dangerous code %ld us, unwinding %zu "
        "frames cold %ld us, warm %ld us\n",
        python->version.text().c_str(), find_us, danger_us, frames.size(),
        stopped->cold_us, stopped->warm_us);
  }
}

// Words on the stack of a sleeping thread besides return addresses may or may
// not look dangerous; a dangerous one must be found for certain.
TEST_P(InspectorLive, DangerousFramesAreSeen) {
  const PythonChild target(path_, kHungInALock);
  ASSERT_TRUE(sleeps_in(target.pid(), target.pid(), "futex"));
  const Look look(target.pid());
  const auto python = find_python(look.memory, look.modules);
  ASSERT_TRUE(python);
  const auto danger = DangerousCode::find(look.memory, look.modules, *python);
  ASSERT_TRUE(danger);
  const auto stopped = stop_and_unwind(target.pid(), look);
  ASSERT_TRUE(stopped);
  const NativeStack good = *stopped->stack;
  const Interruption at = stopped->at;

  const auto libc = std::ranges::find_if(look.modules, [](const Module& m) {
    return m.path.find("libc.so") != m.path.npos ||
           m.path.find("libc-2") != m.path.npos;
  });
  ASSERT_NE(libc, look.modules.end());
  const auto image = ElfImage::read(look.memory, libc->base);
  ASSERT_TRUE(image);
  const auto index = static_cast<std::size_t>(libc - look.modules.begin());
  for (const char* name : {"malloc", "free", "dl_iterate_phdr", "fork"}) {
    const auto symbol = image->find(look.memory, name);
    ASSERT_TRUE(symbol) << name;
    NativeStack bad = good;
    bad.frames.insert(bad.frames.begin() + 1,
                      {symbol->address + 4, good.frames[0].sp, index, false});
    const auto verdict = danger->judge(bad, at);
    EXPECT_FALSE(verdict.safe);
    EXPECT_NE(verdict.reason.find(name), std::string::npos) << verdict.reason;
    EXPECT_TRUE(std::ranges::any_of(danger->ranges(), [&](AddressRange range) {
      return range.contains(symbol->address + 4);
    }));
  }

  const auto qsort = image->find(look.memory, "qsort");
  ASSERT_TRUE(qsort);
  NativeStack middle = good;
  middle.frames.insert(middle.frames.begin() + 5,
                       {qsort->address + 4, good.frames[0].sp, index, false});
  EXPECT_FALSE(danger->judge(middle, at).safe);

  NativeStack cut = good;
  cut.complete = false;
  EXPECT_FALSE(danger->judge(cut, at).safe);

  Interruption low_level = at;
  low_level.futex_op = 128;  // FUTEX_WAIT | FUTEX_PRIVATE_FLAG
  EXPECT_FALSE(DangerousCode::judge_call(low_level).safe);
  NativeStack lock = good;  // as in __lll_lock_wait_private, below qsort
  lock.frames.insert(lock.frames.begin() + 1, middle.frames[5]);
  EXPECT_FALSE(danger->judge(lock, low_level).safe);

  Interruption running;
  EXPECT_FALSE(danger->judge(good, running).safe);  // inside libc, running
}

TEST_P(InspectorLive, GilHeldInACall) {
  const PythonChild target(path_, R"(
def hold():
    say(tid())
    ctypes.PyDLL(None).sleep(1000)
threading.Thread(target=hold, daemon=True).start()
while True:
    pass
)");
  const int holder = target.said_number();
  ASSERT_TRUE(sleeps_in(target.pid(), holder, "clock_nanosleep"));
  ASSERT_TRUE(sleeps_in(target.pid(), target.pid(), "futex"));
  const Look look(target.pid());
  const auto python = find_python(look.memory, look.modules);
  ASSERT_TRUE(python) << python.error().text();
  const auto gil = read_gil(look.memory, *python, look.tasks);
  ASSERT_TRUE(gil) << gil.error().text();
  EXPECT_TRUE(gil->locked);
  EXPECT_EQ(gil->holder_tid, holder);
  if (python->version.at_least(7)) {
    EXPECT_EQ(look.memory.read_value<std::int32_t>(gil->locked_word), 1);
  }

  const auto threads = python_threads(look.memory, *python, look.tasks);
  ASSERT_TRUE(threads) << threads.error().text();
  const auto* thread = thread_of(*threads, holder);
  ASSERT_NE(thread, nullptr);
  EXPECT_EQ(thread->state, gil->holder);
  EXPECT_EQ(thread->function, "hold");

  const auto danger = DangerousCode::find(look.memory, look.modules, *python);
  ASSERT_TRUE(danger);
  // A waiter for the GIL wakes 200 times a second, so a stop may find it
  // between two waits; it is never safe, and mostly for this reason.
  bool said_so = false;
  for (int tried = 0; tried < 50 && !said_so; ++tried) {
    const auto waiter = stop_and_unwind(target.pid(), look);
    ASSERT_TRUE(waiter) << waiter.error().text();
    ASSERT_TRUE(waiter->stack);
    if (waiter->at.in_syscall) {
      const auto verdict = danger->judge(*waiter->stack, waiter->at);
      EXPECT_FALSE(verdict.safe);
      said_so = verdict.reason == "it waits for the GIL";
      EXPECT_TRUE(stack_mentions(
          look.memory, waiter->registers.sp(),
          std::ranges::max(waiter->stack->frames, {}, &NativeFrame::sp).sp,
          danger->ranges()));
    }
  }
  EXPECT_TRUE(said_so);

  const auto sleeper = stop_and_unwind(holder, look);
  ASSERT_TRUE(sleeper && sleeper->stack);
  const auto verdict = danger->judge(*sleeper->stack, sleeper->at);
  EXPECT_TRUE(verdict.safe) << verdict.reason;
}

TEST_P(InspectorLive, BusyLoopMakesProgress) {
  const PythonChild target(path_, R"(
def spin():
    say("ready")
    i = 0
    while True:
        i += 1
        i -= 1
        i ^= 1
spin()
)");
  const Look look(target.pid());
  const auto python = find_python(look.memory, look.modules);
  ASSERT_TRUE(python);
  bool moved = false;
  std::optional<PythonThread> last;
  const auto deadline = Deadline::in(std::chrono::seconds(10));
  while (!moved && !deadline.expired()) {
    const auto threads = python_threads(look.memory, *python, look.tasks);
    ASSERT_TRUE(threads) << threads.error().text();
    moved = last && !threads->front().same_place(*last);
    last = threads->front();
  }
  EXPECT_TRUE(moved);

  const auto danger = DangerousCode::find(look.memory, look.modules, *python);
  ASSERT_TRUE(danger);
  bool safe = false;
  for (int tried = 0; tried < 100 && !safe; ++tried) {
    const auto stopped = stop_and_unwind(target.pid(), look);
    ASSERT_TRUE(stopped && stopped->stack);
    safe = danger->judge(*stopped->stack, stopped->at).safe;
  }
  EXPECT_TRUE(safe);
}

class ReadinessLive : public InspectorLive {};

TEST_P(ReadinessLive, Finalizing) {
  const PythonChild target(path_, R"(
import time
class Last:
    def __del__(self, say=say, sleep=time.sleep):
        say("ready")
        sleep(1000)
last = Last()
)");
  const Look look(target.pid());
  const auto python = find_python(look.memory, look.modules);
  ASSERT_TRUE(python) << python.error().text();
  const auto ready = check_ready(look.memory, *python);
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().id, ErrorId::Finalizing);
}

TEST_P(InspectorLive, ForkedChild) {
  const PythonChild target(path_, R"(
lock = threading.Lock()
lock.acquire()
import signal
child = os.fork()
if child == 0:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    say(os.getpid())
lock.acquire()
)");
  const int child = target.said_number();
  ASSERT_GT(child, 0);
  ASSERT_TRUE(sleeps_in(child, child, "futex"));
  const Look look(child);
  const auto python = find_python(look.memory, look.modules);
  ASSERT_TRUE(python) << python.error().text();
  const auto threads = python_threads(look.memory, *python, look.tasks);
  ASSERT_TRUE(threads) << threads.error().text();
  ASSERT_EQ(threads->size(), 1);
  EXPECT_EQ(threads->front().tid, child);
}

INSTANTIATE_TEST_SUITE_P(Pythons,
                         InspectorLive,
                         testing::ValuesIn(kSupported),
                         python_name);

// Checked before an injection: never for 3.6.
INSTANTIATE_TEST_SUITE_P(Pythons,
                         ReadinessLive,
                         testing::ValuesIn(kSupported.begin() + 1,
                                           kSupported.end()),
                         python_name);

class TooOld : public InspectorLive {};

TEST_P(TooOld, IsRefusedByName) {
  const PythonChild target(path_,
                           "say('ready'); import time; time.sleep(1000)");
  const Look look(target.pid());
  const auto python = find_python(look.memory, look.modules);
  ASSERT_FALSE(python);
  EXPECT_EQ(python.error().id, ErrorId::UnsupportedPython);
  EXPECT_NE(python.error().message.find(GetParam()), std::string::npos)
      << python.error().message;
  EXPECT_NE(python.error().hint, "");
}

INSTANTIATE_TEST_SUITE_P(Pythons, TooOld, testing::Values("2.7"), python_name);

TEST(FindPython, OfAnotherProgramIsNotPython) {
  pid_t pid = -1;
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd read_end(ends[0]);
  const Fd write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, read_end.get(), 0);
  const char* const arguments[] = {"/bin/cat", nullptr};
  ASSERT_EQ(::posix_spawn(&pid, "/bin/cat", &actions, nullptr,
                          const_cast<char* const*>(arguments), environ),
            0);
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_TRUE(sleeps_in(pid, pid, "read"));
  const LiveMemory memory(pid);
  const auto python = find_python(memory, find_modules(read_maps(pid).value()));
  ASSERT_FALSE(python);
  EXPECT_EQ(python.error().id, ErrorId::NotPython);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

}  // namespace
}  // namespace hangdbg
