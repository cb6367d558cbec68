// The rules of the diagnosis about waits inside of one process, and after a
// fork: self-deadlock, threads that wait for each other, event loops that
// nothing wakes, pools, libraries with threads of their own. On processes that
// are made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/unit/support/made_up_cases.h"

namespace hangdbg {
namespace {

using testing::Contains;
using testing::HasSubstr;

using Lock = MadeUpObjects::MadeUpLock;
using Functions = std::vector<std::pair<std::string, std::string>>;

std::vector<std::uint64_t> futex(std::uint64_t word = 0,
                                 std::uint64_t time = 0) {
  return {word, FUTEX_WAIT_BITSET_PRIVATE, 0, time};
}

ThreadSnapshot& sleeps(MadeUpProcess& one) {
  return one.sleeps_in(SYS_clock_nanosleep, {}, own_frames());
}

// ---- a signal handler on top of what it has interrupted

// A handler wants the lock; `between` is what it has interrupted, called by a
// function that is in a `with` of the lock.
MadeUpProcess& in_handler(MadeUpSystem& system,
                          std::vector<PythonFrame> between = {}) {
  auto& one = system.python(kOne);
  const Lock lock = system.objects.lock();
  std::vector<PythonFrame> frames = {frame("/home/ada/app.py", "tick", 3)};
  std::ranges::copy(between, std::back_inserter(frames));
  frames.push_back(frame("/home/ada/app.py", "put", 8));
  system.objects.give(frames.front(), {{"lock", lock.object}});
  system.objects.give(frames.back(), {{"lock", lock.object}});
  system.objects.in_with(frames.back(), lock.object);
  one.objects[{"wait", "self._lock"}] = lock.object;
  one.sleeps_in(SYS_futex, futex(lock.word.value), frames);
  return one;
}

PythonFrame condition_wait() {
  return frame("/usr/lib/python3.11/threading.py", "wait", 327);
}

// ---- threads that wait for each other

ThreadSnapshot& waits_in(MadeUpSystem& system,
                         MadeUpProcess& one,
                         const std::string& kind,
                         const std::string& file,
                         const std::string& method,
                         std::uint64_t time = 0) {
  one.objects[{method, "self"}] = system.objects.of_class(kind);
  return one.sleeps_in(SYS_futex, futex(0, time),
                       called({{"threading.py", "wait"}, {file, method}}));
}

MadeUpProcess& two_queues(MadeUpSystem& system, std::uint64_t time = 0) {
  auto& one = system.python(kOne);
  waits_in(system, one, "Queue", "queue.py", "put");
  one.numbers[{"put", "self.maxsize"}] = 4;
  waits_in(system, one, "Queue", "queue.py", "get", time);
  return one;
}

MadeUpProcess& two_locks(MadeUpSystem& system, std::uint64_t time = 0) {
  auto& one = system.python(kOne);
  for (const std::uint64_t its : {std::uint64_t{0}, time}) {
    auto frames = own_frames();
    const Lock lock = system.objects.lock();
    system.objects.give(frames.front(), {{"lock", lock.object}});
    one.sleeps_in(SYS_futex, futex(lock.word.value, its), frames);
  }
  return one;
}

// ---- services

MadeUpProcess& at_event(MadeUpSystem& system, int signal) {
  auto& one = system.python(kOne);
  waits_in(system, one, "Event", "threading.py", "wait");
  one.status.signals_caught = 1ULL << (signal - 1);
  return one;
}

// ---- event loops

ThreadSnapshot& in_loop(MadeUpProcess& one, std::uint64_t millis = ~0ULL) {
  return one.sleeps_in(SYS_epoll_wait, {6, 0, 0, millis},
                       called({{"selectors.py", "select"},
                               {"asyncio/base_events.py", "_run_once"}}));
}

void is_ready(MadeUpSystem& system, MadeUpProcess& one) {
  one.objects[{"_run_once", "self._ready[0]"}] =
      system.objects.of_class("Handle");
}

// A thread waits for what a task of the main thread's loop may give it.
void beside_a_loop(MadeUpSystem& system, std::uint64_t millis = ~0ULL) {
  auto& one = system.python(kOne);
  waits_in(system, one, "Queue", "queue.py", "get");
  in_loop(one, millis);
  one.files[6] = {.fd = 6, .kind = FileKind::Epoll, .watches = {{.fd = 7}}};
  one.files[7] = {.fd = 7, .kind = FileKind::EventFd};
}

// ---- pools

MadeUpProcess& at_pool(MadeUpSystem& system,
                       int overflow,
                       std::uint64_t time = 0) {
  auto& one = system.python(kOne);
  one.sleeps_in(SYS_futex, futex(0, time),
                called({{"threading.py", "wait"},
                        {"site-packages/sqlalchemy/util/queue.py", "get"},
                        {"site-packages/sqlalchemy/pool/impl.py", "_do_get"}}));
  one.objects[{"_do_get", "self"}] = system.objects.of_class("QueuePool");
  one.numbers[{"_do_get", "self._pool.maxsize"}] = 5;
  one.numbers[{"_do_get", "self._max_overflow"}] = overflow;
  return one;
}

// ---- libraries after a fork

MadeUpProcess& in_library(MadeUpSystem& system, const std::string& library) {
  auto& one = system.python(kOne);
  const ThreadSnapshot& thread =
      one.sleeps_in(SYS_futex, futex(), own_frames());
  one.is_in(thread, {"syscall"}, "libc.so.6");
  one.is_in(thread, {"wait_and_reset", "run"}, library);
  one.loads("/usr/lib/python3/site-packages/x/" + library);
  one.loads("/usr/lib/python3.11/lib-dynload/_ssl.so");
  return one;
}

MadeUpProcess& forked(MadeUpProcess& one) {
  one.status.ppid = one.parent = kOther;
  return one;
}

}  // namespace

const std::vector<MadeUpCase>& inside_cases() {
  using enum Progress;
  using enum Confidence;
  static const std::vector<MadeUpCase> kCases = {
      // ---- self-deadlock
      {"a_lock_of_the_interrupted_frame", CauseId::Deadlock, Stuck, Certain,
       true,
       "already held by this thread (Lock is not reentrant), at app.py:8 in "
       "put",
       [](auto& system) { in_handler(system); }},
      {"a_condition_that_does_not_wait_yet", CauseId::Deadlock, Stuck, Certain,
       true, "at app.py:8 in put",
       [](auto& system) { in_handler(system, {condition_wait()}); }},
      {"a_condition_has_let_go_of_its_lock", CauseId::PythonLock, Blocked,
       Possible, true, "its owner is not recorded",
       [](auto& system) {
         auto& one = in_handler(system, {condition_wait()});
         one.objects[{"wait", "waiter"}] = system.objects.lock().object;
         sleeps(one);
       }},
      // ---- threads that wait for each other
      {"queues_that_feed_each_other", CauseId::NobodyLeft, Stuck, Likely, true,
       "waits in Queue.put for another thread: it may have 4 and is full, and "
       "all 2 threads that are here wait for each other",
       [](auto& system) { two_queues(system); }},
      {"queues_of_which_one_asks_again", CauseId::Condition, Blocked, Possible,
       true, "it may have 4 and is full",
       [](auto& system) { two_queues(system, /*time=*/1); }},
      {"queues_beside_another_thread", CauseId::Condition, Blocked, Possible,
       true, "", [](auto& system) { sleeps(two_queues(system)); }},
      {"queues_beside_one_that_has_just_run", CauseId::Condition, Blocked,
       Possible, true, "",
       [](auto& system) { two_queues(system).threads[1].ran = true; }},
      {"locks_without_a_record_crosswise", CauseId::PythonLock, Stuck, Likely,
       true, "nobody is left to release: all 2 threads wait for each other",
       [](auto& system) { two_locks(system); }},
      {"locks_without_a_record_for_a_time", CauseId::PythonLock, Blocked,
       Possible, true, "its owner is not recorded",
       [](auto& system) { two_locks(system, /*time=*/1); }},
      {"a_queue_of_a_thread_and_its_loop", CauseId::NobodyLeft, Stuck, Likely,
       true, "all 2 threads that are here wait for each other",
       [](auto& system) { beside_a_loop(system); }},
      {"a_queue_of_a_thread_and_a_loop_with_a_timer", CauseId::Condition,
       Blocked, Possible, true, "waits in Queue.get for another thread",
       [](auto& system) { beside_a_loop(system, /*millis=*/5000); }},
      {"a_condition_in_turns", CauseId::Condition, Running, Possible, false,
       "waits in Condition.wait for another thread",
       [](auto& system) {
         auto& one = system.python(kOne);
         waits_in(system, one, "Condition", "threading.py", "wait").ran = true;
         sleeps(one);
       }},
      {"the_results_of_map", CauseId::Future, Blocked, Likely, false,
       "waits for the result of a Future (map)",
       [](auto& system) {
         auto& one = system.python(kOne);
         waits_in(system, one, "Condition", "concurrent/futures/_base.py",
                  "result_iterator");
         one.sleeps_in(SYS_clock_nanosleep, {},
                       called({{"concurrent/futures/thread.py", "run"}}));
       }},
      // ---- an Event that a signal sets
      {"an_event_of_a_handler", CauseId::Condition, Idle, Possible, false,
       "waits for an Event, which a handler of SIGTERM could set",
       [](auto& system) { sleeps(at_event(system, SIGTERM)); }},
      {"an_event_of_a_handler_alone", CauseId::Condition, Idle, Possible, false,
       "", [](auto& system) { at_event(system, SIGUSR1); }},
      {"an_event_and_ctrl_c", CauseId::NobodyLeft, Stuck, Likely, true, "",
       [](auto& system) { at_event(system, SIGINT); }},
      // ---- event loops
      {"a_loop_without_work", CauseId::Idle, Idle, Likely, false, "",
       [](auto& system) { in_loop(system.python(kOne)); }},
      {"a_loop_that_wakes_soon", CauseId::Idle, Idle, Likely, false, "",
       [](auto& system) {
         auto& one = system.python(kOne);
         in_loop(one, /*millis=*/100);
         is_ready(system, one);
       }},
      {"a_loop_that_has_just_run", CauseId::Idle, Idle, Likely, false, "",
       [](auto& system) {
         auto& one = system.python(kOne);
         in_loop(one).ran = true;
         is_ready(system, one);
       }},
      // ---- pools of connections
      {"a_pool_that_is_used_up", CauseId::PoolExhausted, Blocked, Likely, true,
       "waits for a connection of SQLAlchemy's pool: 5 of 5 are in use",
       [](auto& system) { at_pool(system, 0); }},
      {"a_pool_with_overflow", CauseId::PoolExhausted, Blocked, Likely, true,
       "5 of 5 and 10 of overflow are in use",
       [](auto& system) { at_pool(system, 10); }},
      {"a_pool_that_is_used_in_turns", CauseId::PoolExhausted, Running, Likely,
       false, "",
       [](auto& system) { at_pool(system, 0).threads[0].ran = true; }},
      // ---- libraries with threads of their own
      {"a_library_after_a_fork", CauseId::ForkThreads, Stuck, Likely, true,
       "waits in polars (polars.abi3.so) for a thread or a lock that stayed "
       "behind when process 99999902 forked it",
       [](auto& system) { forked(in_library(system, "polars.abi3.so")); }},
      {"a_library_of_another_name", CauseId::ForkThreads, Stuck, Likely, true,
       "waits in mine.so for",
       [](auto& system) { forked(in_library(system, "mine.so")); }},
      {"a_library_that_has_a_thread_here", CauseId::ForkThreads, Blocked,
       Possible, true, "",
       [](auto& system) {
         forked(in_library(system, "polars.abi3.so")).sleeps_in(SYS_futex, {});
       }},
      {"a_library_without_a_fork", CauseId::NobodyLeft, Stuck, Likely, true,
       "waits for another thread, and no other thread is here",
       [](auto& system) { in_library(system, "polars.abi3.so"); }},
      {"a_library_with_another_thread", CauseId::Unknown, Unknown, Possible,
       true, "cause unknown",
       [](auto& system) {
         in_library(system, "polars.abi3.so").sleeps_in(SYS_futex, {});
       }},
      {"a_library_and_a_handler", CauseId::Unknown, Unknown, Possible, true,
       "cause unknown",
       [](auto& system) {
         in_library(system, "polars.abi3.so").status.signals_caught =
             1ULL << (SIGTERM - 1);
       }},
      {"python_itself_after_a_fork", CauseId::NobodyLeft, Stuck, Likely, true,
       "",
       [](auto& system) {
         forked(in_library(system, "libpython3.11.so.1.0"));
       }},
      {"a_module_of_the_library_after_a_fork", CauseId::NobodyLeft, Stuck,
       Likely, true, "",
       [](auto& system) { forked(in_library(system, "_ssl.so")); }},
  };
  return kCases;
}

INSTANTIATE_MADE_UP(Inside, inside_cases);

namespace {

// If a thread without Python is here, it may be in the library.
TEST(CausesInside, OnlyWhoIsAloneAfterAForkCannotGoOn) {
  for (const bool alone : {true, false}) {
    MadeUpSystem system;
    auto& one = forked(in_library(system, "polars.abi3.so"));
    if (!alone) {
      one.sleeps_in(SYS_futex, {});
    }
    auto& parent = system.python(kOther);
    const ThreadSnapshot& native = parent.sleeps_in(SYS_futex, {});
    parent.is_in(native, {"worker"}, "polars.abi3.so");
    const Cause cause = cause_of(system, kOne);
    ASSERT_EQ(cause.id, CauseId::ForkThreads);
    std::string all;
    for (const std::string& line : cause.evidence) {
      all += line + "\n";
    }
    EXPECT_EQ(all.contains("here is none"), alone) << all;
    EXPECT_EQ(cause.next.front().why.contains("it cannot go on"), alone);
  }
}

// A process of this test that sleeps, since it is sampled again.
class Sleeper {
 public:
  Sleeper() : pid(::fork()) {
    if (pid == 0) {
      ::pause();
      ::_exit(0);
    }
    while (wait().syscall != "pause") {
      ::usleep(1000);
    }
  }
  ~Sleeper() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  WaitSample wait() const {
    auto now = sample_wait(pid, pid);
    return now ? *now : WaitSample();
  }

  const int pid;
};

MadeUpProcess& looped(MadeUpSystem& system, const Sleeper& sleeper) {
  auto& one = system.python(sleeper.pid);
  in_loop(one).wait.runs = sleeper.wait().runs;
  is_ready(system, one);
  return one;
}

TEST(Causes, ALoopThatNobodyHasWoken) {
  const Sleeper sleeper;
  MadeUpSystem system;
  looped(system, sleeper);
  const Cause cause = cause_of(system, sleeper.pid);
  EXPECT_EQ(cause.id, CauseId::LoopNotWoken);
  EXPECT_EQ(cause.progress, Progress::Stuck);
  EXPECT_EQ(cause.confidence, Confidence::Certain);
  EXPECT_THAT(cause.summary,
              HasSubstr("nobody has woken: a callback is ready"));
}

TEST(Causes, ALoopWhoseStopNobodyHasTold) {
  const Sleeper sleeper;
  MadeUpSystem system;
  auto& one = looped(system, sleeper);
  one.objects.clear();
  one.reprs[{"_run_once", "self._stopping"}] = "True";
  const Cause cause = cause_of(system, sleeper.pid);
  EXPECT_EQ(cause.id, CauseId::LoopNotWoken);
  EXPECT_THAT(cause.summary, HasSubstr("stop() was called"));
}

// It has run since it was sampled: it may be awake.
TEST(Causes, ALoopThatIsBeingWoken) {
  const Sleeper sleeper;
  MadeUpSystem system;
  ++looped(system, sleeper).threads[0].wait.runs.nanoseconds;
  EXPECT_EQ(cause_of(system, sleeper.pid).id, CauseId::Idle);
}

TEST(Causes, ALoopThatAnotherThreadMayWake) {
  const Sleeper sleeper;
  MadeUpSystem system;
  sleeps(looped(system, sleeper));
  const Cause cause = cause_of(system, sleeper.pid);
  EXPECT_EQ(cause.id, CauseId::LoopNotWoken);
  EXPECT_EQ(cause.progress, Progress::Blocked);
  EXPECT_EQ(cause.confidence, Confidence::Likely);
}

}  // namespace
}  // namespace hangdbg
