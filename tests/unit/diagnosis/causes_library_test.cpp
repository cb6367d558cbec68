// The rules of the diagnosis about waits inside the standard library for
// another thread: conditions, futures, joins, imports; and about loops that
// wait for work. On processes that are made up.
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>

#include "tests/unit/support/made_up_cases.h"

namespace hangdbg {
namespace {

using Functions = std::vector<std::pair<std::string, std::string>>;

constexpr std::uint64_t kSecond = 8;  // the ident of the second thread
constexpr std::uint64_t kNobodys = 4711;

std::vector<std::uint64_t> futex(std::uint64_t time = 0) {
  return {0, FUTEX_WAIT_BITSET_PRIVATE, 0, time};
}

// It waits in a Condition, inside of what it has called: a method of an object
// of that class.
MadeUpProcess& waits_in(MadeUpSystem& system,
                        const std::string& kind,
                        const std::string& file,
                        const std::string& method,
                        std::uint64_t time = 0) {
  auto& one = system.python(kOne);
  one.sleeps_in(SYS_futex, futex(time),
                called({{"threading.py", "wait"}, {file, method}}));
  one.objects[{method, "self"}] = system.objects.of_class(kind);
  return one;
}
ThreadSnapshot& another_sleeps(MadeUpProcess& one) {
  return one.sleeps_in(SYS_clock_nanosleep, {}, own_frames());
}
void computes(ThreadSnapshot& thread) {
  thread.wait = {.state = 'R', .call = {.running = true}};
}

MadeUpProcess& at_event(MadeUpSystem& system, std::uint64_t time = 0) {
  return waits_in(system, "Event", "threading.py", "wait", time);
}

MadeUpProcess& at_future(MadeUpSystem& system) {
  return waits_in(system, "Future", "concurrent/futures/_base.py", "result");
}
ThreadSnapshot& pool_thread(MadeUpProcess& one, bool busy) {
  return busy ? one.sleeps_in(
                    SYS_clock_nanosleep, {},
                    called({{"concurrent/futures/thread.py", "run"},
                            {"concurrent/futures/thread.py", "_worker"}}))
              : one.sleeps_in(
                    SYS_futex, futex(),
                    called({{"concurrent/futures/thread.py", "_worker"}}));
}
MadeUpProcess& pool_process(MadeUpSystem& system, int pid, bool busy) {
  system.parents.emplace(kOne, pid);
  auto& worker = system.python(pid);
  Functions functions = {{"concurrent/futures/process.py", "_process_worker"}};
  auto frames = called(functions);
  frames.insert(frames.begin(),
                busy ? own_frames().front()
                     : called({{"multiprocessing/queues.py", "get"}}).front());
  ThreadSnapshot& main = worker.sleeps_in(SYS_futex, futex(), frames);
  if (busy) {
    computes(main);
  }
  return worker;
}

MadeUpProcess& joins(MadeUpSystem& system,
                     std::uint64_t ident,
                     const std::vector<std::uint64_t>& args = futex()) {
  auto& one = system.python(kOne);
  one.sleeps_in(SYS_futex, args, called({{"threading.py", "join"}}));
  one.numbers[{"join", "self._ident"}] = static_cast<std::int64_t>(ident);
  one.texts[{"join", "self._name"}] = "worker";
  return one;
}

ThreadSnapshot& a_thread(MadeUpProcess& one) {
  auto frames = own_frames();
  frames.push_back(frame("/usr/lib/python3.11/threading.py", "_bootstrap"));
  return one.sleeps_in(SYS_clock_nanosleep, {}, frames);
}

MadeUpProcess& imports(MadeUpSystem& system,
                       std::optional<std::int64_t> owner) {
  auto& one = system.python(kOne);
  one.sleeps_in(SYS_futex, futex(),
                {frame("<frozen importlib._bootstrap>", "acquire"),
                 frame("/home/ada/train.py", "load")});
  one.texts[{"acquire", "self.name"}] = "slow_module";
  if (owner) {
    one.numbers[{"acquire", "self.owner"}] = *owner;
  }
  another_sleeps(one);
  return one;
}

// Waits for work, in that loop.
void in_loop(MadeUpSystem& system, long call, const Functions& functions) {
  system.python(kOne).sleeps_in(call, {}, called(functions));
}

}  // namespace

const std::vector<MadeUpCase>& library_wait_cases() {
  using enum Progress;
  using enum Confidence;
  static const std::vector<MadeUpCase> kCases = {
      // ---- Event, Condition, Semaphore, Barrier, queue
      {"an_event_that_nobody_sets", CauseId::NobodyLeft, Stuck, Likely, true,
       "waits in Event.wait for another thread, and no other thread is here",
       [](auto& system) { at_event(system); }},
      {"an_event_for_which_all_wait", CauseId::NobodyLeft, Stuck, Likely, true,
       "all threads that are here wait for the same",
       [](auto& system) {
         auto& one = at_event(system);
         one.sleeps_in(SYS_futex, futex(), one.threads[0].stack.frames);
       }},
      {"an_event_for_which_one_waits_a_while", CauseId::Condition, Blocked,
       Possible, true, "",
       [](auto& system) {
         auto& one = at_event(system);
         one.sleeps_in(SYS_futex, futex(/*time=*/1),
                       one.threads[0].stack.frames);
       }},
      {"an_event_across_fork", CauseId::NobodyLeft, Stuck, Likely, true, "",
       [](auto& system) {
         auto& one = at_event(system);
         one.status.ppid = one.parent = kOther;
       }},
      {"an_event_that_another_may_set", CauseId::Condition, Blocked, Possible,
       true, "waits in Event.wait for another thread",
       [](auto& system) { another_sleeps(at_event(system)); }},
      {"an_event_of_a_thread_at_work", CauseId::Condition, Running, Possible,
       false, "",
       [](auto& system) { computes(another_sleeps(at_event(system))); }},
      {"an_event_of_a_busy_thread", CauseId::Condition, Running, Possible,
       false, "",
       [](auto& system) { another_sleeps(at_event(system)).cpu_percent = 30; }},
      {"an_event_of_a_server", CauseId::Condition, Idle, Possible, false, "",
       [](auto& system) {
         at_event(system).sleeps_in(SYS_epoll_wait, {6, 0, 0, ~0ULL},
                                    called({{"selectors.py", "select"}}));
       }},
      {"an_event_of_a_server_that_looks_twice_a_second", CauseId::Condition,
       Idle, Possible, false, "",
       [](auto& system) {
         at_event(system).sleeps_in(
             SYS_semtimedop, {},
             called({{"selectors.py", "select"},
                     {"socketserver.py", "serve_forever"}}));
       }},
      {"a_queue_of_a_server", CauseId::Condition, Idle, Possible, false, "",
       [](auto& system) {
         waits_in(system, "Queue", "queue.py", "get")
             .sleeps_in(SYS_epoll_wait, {6, 0, 0, ~0ULL},
                        called({{"selectors.py", "select"}}));
       }},
      {"a_semaphore_of_a_server", CauseId::Condition, Blocked, Possible, true,
       "",
       [](auto& system) {
         waits_in(system, "Semaphore", "threading.py", "acquire")
             .sleeps_in(SYS_epoll_wait, {6, 0, 0, ~0ULL},
                        called({{"selectors.py", "select"}}));
       }},
      {"an_event_for_a_time", CauseId::Sleeps, Idle, Likely, false,
       "sleeps for a fixed time, or until an Event is set",
       [](auto& system) { at_event(system, /*time=*/1); }},
      {"a_timer", CauseId::Sleeps, Idle, Likely, false,
       "sleeps for a fixed time",
       [](auto& system) {
         auto& one = system.python(kOne);
         one.sleeps_in(SYS_futex, futex(/*time=*/1),
                       called({{"threading.py", "wait"},
                               {"threading.py", "wait"},
                               {"threading.py", "run"}}));
         one.objects[{"run", "self.interval"}] =
             system.objects.of_class("float");
       }},
      {"a_condition_for_a_time", CauseId::Condition, Blocked, Possible, true,
       "",
       [](auto& system) {
         waits_in(system, "Condition", "threading.py", "wait_for", /*time=*/1);
       }},
      {"a_condition_of_an_unknown_class", CauseId::NobodyLeft, Stuck, Likely,
       true, "waits in Condition.wait for another thread",
       [](auto& system) {
         system.python(kOne).sleeps_in(SYS_futex, futex(),
                                       called({{"threading.py", "wait"}}));
       }},
      {"a_semaphore", CauseId::Condition, Blocked, Possible, true,
       "Semaphore.acquire for another thread: its value is 0",
       [](auto& system) {
         auto& one = waits_in(system, "Semaphore", "threading.py", "acquire");
         one.numbers[{"acquire", "self._value"}] = 0;
         one.numbers[{"acquire", "_value"}] = 0;
         another_sleeps(one);
       }},
      {"a_barrier", CauseId::Condition, Blocked, Possible, true,
       "Barrier._wait for another thread: 2 of 3 have come",
       [](auto& system) {
         auto& one = waits_in(system, "Barrier", "threading.py", "_wait");
         one.numbers[{"_wait", "_count"}] = 2;
         one.numbers[{"_wait", "_parties"}] = 3;
         one.numbers[{"_wait", "self._count"}] = 2;
         one.numbers[{"_wait", "self._parties"}] = 3;
         another_sleeps(one);
       }},
      {"a_queue_whose_tasks_are_not_done", CauseId::Condition, Blocked,
       Possible, true,
       "Queue.join for another thread: 1 tasks of the queue are not done",
       [](auto& system) {
         auto& one = waits_in(system, "Queue", "queue.py", "join");
         one.numbers[{"join", "self.unfinished_tasks"}] = 1;
         another_sleeps(one);
       }},
      {"goes_on_and_waits_again", CauseId::Condition, Running, Possible, false,
       "", [](auto& system) { at_event(system).threads[0].ran = true; }},
      // ---- a Future of a pool
      {"a_future", CauseId::NobodyLeft, Stuck, Likely, true,
       "waits for the result of a Future (result), and no other thread is here",
       [](auto& system) { at_future(system); }},
      {"a_future_beside_a_thread_that_reads", CauseId::Future, Blocked,
       Possible, true, "waits for the result of a Future (result)",
       [](auto& system) {
         at_future(system).sleeps_in(SYS_read, {5}, own_frames());
       }},
      {"a_future_of_busy_threads", CauseId::Future, Blocked, Likely, false, "",
       [](auto& system) {
         auto& one = at_future(system);
         pool_thread(one, true);
         pool_thread(one, true);
       }},
      {"a_future_of_a_pool_with_a_thread_at_rest", CauseId::Future, Blocked,
       Possible, true, "",
       [](auto& system) {
         auto& one = at_future(system);
         pool_thread(one, true);
         pool_thread(one, false);
       }},
      {"a_future_that_one_of_two_threads_runs", CauseId::Future, Blocked,
       Likely, false, "",
       [](auto& system) {
         auto& one = at_future(system);
         one.objects[{"run", "self.future"}] = one.objects[{"result", "self"}];
         pool_thread(one, true);
         pool_thread(one, false);
       }},
      {"several_futures_of_a_pool_with_a_thread_at_rest", CauseId::Future,
       Blocked, Possible, false, "waits for the result of a Future (wait)",
       [](auto& system) {
         auto& one =
             waits_in(system, "Event", "concurrent/futures/_base.py", "wait");
         pool_thread(one, true);
         pool_thread(one, false);
       }},
      {"a_future_beside_a_queue_at_rest", CauseId::Future, Blocked, Likely,
       false, "",
       [](auto& system) {
         auto& one = at_future(system);
         pool_thread(one, true);
         one.sleeps_in(SYS_futex, futex(),
                       called({{"threading.py", "wait"},
                               {"multiprocessing/queues.py", "_feed"}}));
       }},
      {"a_future_of_itself", CauseId::Future, Blocked, Likely, true, "",
       [](auto& system) {
         auto& one = at_future(system);
         one.threads[0].stack.frames =
             called({{"threading.py", "wait"},
                     {"concurrent/futures/_base.py", "result"}});
         one.threads[0].stack.frames.push_back(
             frame("/usr/lib/python3.11/concurrent/futures/thread.py", "run"));
       }},
      {"a_future_of_processes", CauseId::Future, Blocked, Likely, false, "",
       [](auto& system) {
         at_future(system);
         pool_process(system, kOther, true);
         pool_process(system, kThird, false);
       }},
      {"a_future_of_processes_at_rest", CauseId::Future, Blocked, Possible,
       true, "",
       [](auto& system) {
         at_future(system);
         pool_process(system, kOther, false);
       }},
      // ---- join
      {"a_thread_that_sleeps", CauseId::Join, Blocked, Certain, false,
       "waits for the end of thread 99999902",
       [](auto& system) { another_sleeps(joins(system, kSecond)); }},
      {"joins_for_a_time", CauseId::Join, Blocked, Certain, false,
       "(for a limited time)",
       [](auto& system) {
         another_sleeps(joins(system, kSecond, futex(/*time=*/1)));
       }},
      {"joins_what_is_not_here", CauseId::Join, Blocked, Certain, true,
       "waits for the end of thread \"worker\"",
       [](auto& system) { joins(system, kNobodys); }},
      {"joins_at_exit", CauseId::ExitJoin, Blocked, Certain, false,
       "has come to its end, and waits for the end of thread 99999902",
       [](auto& system) {
         auto& one = system.python(kOne);
         one.sleeps_in(
             SYS_futex, futex(),
             {frame("/usr/lib/python3.11/threading.py", "_shutdown")});
         a_thread(one);
       }},
      {"joins_no_daemon_at_exit", CauseId::ExitJoin, Blocked, Certain, true,
       "waits for the end of a thread",
       [](auto& system) {
         auto& one = system.python(kOne);
         one.sleeps_in(
             SYS_futex, futex(),
             {frame("/usr/lib/python3.11/threading.py", "_shutdown")});
         a_thread(one);
         one.reprs[{"_bootstrap", "self._daemonic"}] = "True";
       }},
      {"a_pool_at_exit", CauseId::ExitJoin, Blocked, Certain, false,
       "has come to its end, and waits for the end of thread",
       [](auto& system) {
         auto& one = joins(system, kSecond);
         one.threads[0].stack.frames = {
             frame("/usr/lib/python3.11/threading.py", "join"),
             frame("/usr/lib/python3.11/concurrent/futures/thread.py",
                   "_python_exit")};
         another_sleeps(one);
       }},
      // ---- imports
      {"an_import", CauseId::ImportLock, Blocked, Certain, true,
       "waits until thread 99999902 has imported module 'slow_module'",
       [](auto& system) { imports(system, kSecond); }},
      {"an_import_at_work", CauseId::ImportLock, Blocked, Certain, false, "",
       [](auto& system) { computes(imports(system, kSecond).threads[1]); }},
      {"an_import_of_nobody", CauseId::ImportLock, Stuck, Certain, true,
       "by a thread that is not here",
       [](auto& system) { imports(system, kNobodys); }},
      {"an_import_that_is_just_over", CauseId::Unknown, Unknown, Possible, true,
       "", [](auto& system) { imports(system, {}); }},
      // ---- waits for work
      {"a_pool_of_threads_at_rest", CauseId::Idle, Idle, Certain, false,
       "waits for work",
       [](auto& system) { pool_thread(system.python(kOne), false); }},
      {"a_worker_at_its_queue", CauseId::Idle, Idle, Certain, false,
       "waits for work",
       [](auto& system) {
         in_loop(system, SYS_read,
                 {{"multiprocessing/connection.py", "_recv"},
                  {"multiprocessing/queues.py", "get"},
                  {"multiprocessing/pool.py", "worker"}});
       }},
      {"a_worker_whose_task_sleeps_by_select", CauseId::Sleeps, Idle, Certain,
       false, "sleeps for a fixed time",
       [](auto& system) {
         system.python(kOne).sleeps_in(
             SYS_select, {0, 0, 0, 0, 0x1000},
             called({{"multiprocessing/pool.py", "worker"}}));
       }},
      {"a_worker_that_hands_over_its_result", CauseId::PipeFull, Blocked,
       Certain, true, "",
       [](auto& system) {
         auto& one = system.python(kOne);
         one.sleeps_in(SYS_write, {5},
                       called({{"multiprocessing/connection.py", "_send"},
                               {"multiprocessing/queues.py", "put"},
                               {"multiprocessing/pool.py", "worker"}}));
         one.open_pipe(5, 41);
       }},
      {"a_worker_at_work", CauseId::Sleeps, Idle, Certain, false, "",
       [](auto& system) {
         auto frames = called({{"multiprocessing/pool.py", "worker"}});
         frames.insert(frames.begin(), own_frames().front());
         system.python(kOne).sleeps_in(SYS_clock_nanosleep, {}, frames);
       }},
  };
  return kCases;
}

INSTANTIATE_MADE_UP(Library, library_wait_cases);

namespace {

// Each loop of a library in which a thread waits for work.
TEST(Causes, LoopsThatWaitForWork) {
  const std::pair<const char*, const char*> kLoops[] = {
      {"concurrent/futures/thread.py", "_worker"},
      {"concurrent/futures/process.py", "_process_worker"},
      {"concurrent/futures/process.py", "wait_result_broken_or_wakeup"},
      {"multiprocessing/pool.py", "worker"},
      {"multiprocessing/pool.py", "_handle_tasks"},
      {"multiprocessing/pool.py", "_handle_results"},
      {"multiprocessing/pool.py", "_handle_workers"},
      {"multiprocessing/pool.py", "_wait_for_updates"},
      {"multiprocessing/queues.py", "_feed"},
      {"logging/handlers.py", "_monitor"},
      {"site-packages/torch/utils/data/_utils/worker.py", "_worker_loop"},
      {"site-packages/torch/utils/data/_utils/pin_memory.py", "do_one_step"},
      {"site-packages/torch/utils/data/_utils/pin_memory.py",
       "_pin_memory_loop"},
      {"socketserver.py", "serve_forever"},
      {"multiprocessing/managers.py", "serve_forever"},
      {"multiprocessing/forkserver.py", "main"},
      {"multiprocessing/resource_tracker.py", "main"},
      {"site-packages/tqdm/_monitor.py", "run"}};
  for (const auto& [file, function] : kLoops) {
    MadeUpSystem system;
    in_loop(system, SYS_futex, {{"threading.py", "wait"}, {file, function}});
    EXPECT_EQ(cause_of(system, kOne).id, CauseId::Idle) << function;
    EXPECT_EQ(cause_of(system, kOne).progress, Progress::Idle) << function;
    // The program's code that it calls is work.
    in_loop(system, SYS_semtimedop,
            {{"json/decoder.py", "decode"}, {file, function}});
    EXPECT_EQ(cause_of(system, kOne).id, CauseId::Unknown) << function;
  }
}

}  // namespace
}  // namespace hangdbg
