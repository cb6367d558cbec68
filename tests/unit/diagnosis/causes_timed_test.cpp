// The rules of the diagnosis about polls by waits with a time limit, and about
// waits that only their own process, a terminal or a database could end; on
// processes that are made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis/diagnose.h"
#include "tests/unit/support/made_up_cases.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kSocket = 42;

std::uint64_t soon(std::int64_t seconds = 1) {
  static std::map<std::int64_t, timespec> times;
  timespec& made = times[seconds];
  made = {.tv_sec = seconds, .tv_nsec = 0};  // FUTEX_WAIT: from now
  return reinterpret_cast<std::uintptr_t>(&made);
}

CallText get() {
  return {.callee = "q.get", .text = "q.get(timeout=1)", .arguments = {}};
}
CallText handles() {
  return {.callee = "handle", .text = "handle(item)", .arguments = {"item"}};
}
LoopAround asks_again() {
  LoopAround loop;
  loop.first_line = 11;
  loop.last_line = 12;
  loop.asks_itself = true;
  return loop;
}
void in_loop(MadeUpSystem& system, LoopAround loop, CallText call = get()) {
  system.at(kOne).frame_loops["load"] = {.call = std::move(call),
                                         .loops = {std::move(loop)}};
}

// Queue.get() of the program's own queue; another thread sleeps.
ThreadSnapshot& in_get(MadeUpSystem& system, std::uint64_t until) {
  auto& one = system.python(kOne);
  one.objects[{"get", "self"}] = system.objects.of_class("Queue");
  ThreadSnapshot& thread =
      one.sleeps_in(SYS_futex, {0, FUTEX_WAIT_PRIVATE, 0, until},
                    called({{"threading.py", "wait"}, {"queue.py", "get"}}));
  thread.wait.asleep_s = 0.5;
  return thread;
}
void another_rests(MadeUpSystem& system) {
  system.at(kOne).sleeps_in(SYS_clock_nanosleep, {}, own_frames());
}

ThreadSnapshot& in_select(MadeUpSystem& system, std::uint64_t until) {
  auto& one = system.python(kOne);
  one.files[5] = {.fd = 5, .kind = FileKind::EventFd};
  static const std::uint64_t only = 1ULL << 5;
  ThreadSnapshot& thread = one.sleeps_in(
      SYS_select, {6, reinterpret_cast<std::uintptr_t>(&only), 0, 0, until},
      own_frames());
  return thread;
}

// ---- SimpleQueue

ThreadSnapshot& in_simple_queue(MadeUpSystem& system,
                                const std::string& kind,
                                std::uint64_t until = 0) {
  auto& one = system.python(kOne);
  one.objects[{"load", "self.frames"}] = system.objects.of_class(kind);
  one.frame_loops["load"] = {.call = {.callee = "self.frames.get"}};
  return one.sleeps_in(SYS_futex, {0, FUTEX_WAIT_PRIVATE, 0, until},
                       own_frames());
}

// ---- C libraries

ThreadSnapshot& in_zmq(MadeUpSystem& system, const char* function) {
  auto& one = system.python(kOne);
  ThreadSnapshot& thread = one.sleeps_in(SYS_poll, {0, 1, ~0ULL}, own_frames());
  one.loads("/opt/venv/pyzmq.libs/libzmq-2f02442c.so.5");
  one.is_in(thread, {"poll", function, "recv"}, "libzmq-2f02442c.so.5");
  return thread;
}

// ---- a terminal

ThreadSnapshot& writes_to_terminal(MadeUpSystem& system) {
  auto& one = system.python(kOne);
  one.files[4] = {.fd = 4, .kind = FileKind::Device, .name = "/dev/pts/7"};
  return one.sleeps_in(SYS_write, {4}, own_frames());
}
void serves_terminal(MadeUpProcess& one) {
  one.files[9] = {
      .fd = 9, .kind = FileKind::Device, .name = "/dev/ptmx", .terminal = 7};
}

// ---- PostgreSQL

MadeUpProcess& backend(MadeUpSystem& system, int pid, std::string title) {
  constexpr int kServer = 99999900;
  auto& one = system.process(pid);
  one.command_line = {std::move(title)};
  one.status.ppid = kServer;
  system.parents.insert({kServer, pid});
  one.open_socket(9, kSocket);
  one.sleeps_in(SYS_recvfrom, {9});
  return one;
}

// ---- gevent

ThreadSnapshot& in_hub(MadeUpSystem& system, std::uint64_t millis = ~0ULL) {
  auto& one = system.python(kOne);
  one.files[6] = {
      .fd = 6, .kind = FileKind::Epoll, .watches = {{.fd = 5, .events = 1}}};
  return one.sleeps_in(SYS_epoll_wait, {6, 0, 0, millis},
                       called({{"site-packages/gevent/hub.py", "run"}}));
}

// ---- a loop of asyncio

ThreadSnapshot& in_event_loop(
    MadeUpSystem& system,
    std::vector<std::pair<std::string, std::string>> by = {}) {
  auto& one = system.python(kOne);
  std::vector<std::pair<std::string, std::string>> all = {
      {"selectors.py", "select"}, {"asyncio/base_events.py", "_run_once"}};
  all.insert(all.end(), by.begin(), by.end());
  return one.sleeps_in(SYS_epoll_wait, {6, 0, 0, ~0ULL}, called(all));
}
void awaits(MadeUpProcess& one, std::vector<PythonFrame> frames) {
  AsyncioTask task{.address = Address{0x7000},
                   .name = "Task-1",
                   .state = "waits",
                   .future = "Future"};
  task.stack.frames = std::move(frames);
  one.tasks.tasks = {std::move(task)};
}

}  // namespace

const std::vector<MadeUpCase>& timed_cases() {
  using enum Progress;
  using enum Confidence;
  static const std::vector<MadeUpCase> kCases = {
      {"asks_a_queue_again", CauseId::Polls, Polling, Likely, false,
       "polls `q.get(timeout=1)` at train.py:11-12 in load, and waits in "
       "Queue.get for another thread",
       [](auto& system) {
         in_get(system, soon());
         in_loop(system, asks_again());
         another_rests(system);
       }},
      {"asks_a_queue_once", CauseId::Condition, Blocked, Possible, false,
       "waits in Queue.get for another thread",
       [](auto& system) {
         in_get(system, soon());
         another_rests(system);
       }},
      {"asks_a_queue_without_a_limit", CauseId::Condition, Blocked, Possible,
       false, "waits in Queue.get",
       [](auto& system) {
         in_get(system, 0);
         in_loop(system, asks_again());
         another_rests(system);
       }},
      {"asks_a_queue_once_an_hour", CauseId::Condition, Blocked, Possible,
       false, "waits in Queue.get",
       [](auto& system) {
         in_get(system, soon(3600));
         in_loop(system, asks_again());
         another_rests(system);
       }},
      {"works_on_what_it_gets", CauseId::Condition, Blocked, Possible, false,
       "waits in Queue.get",
       [](auto& system) {
         LoopAround loop = asks_again();
         loop.work = {handles()};
         in_get(system, soon());
         in_loop(system, loop);
         another_rests(system);
       }},
      {"a_library_asks_again", CauseId::Condition, Blocked, Possible, false,
       "waits in Queue.get",
       [](auto& system) {
         ThreadSnapshot& thread = in_get(system, soon());
         thread.stack.frames.back().file =
             "/usr/lib/python3/site-packages/some/queues.py";
         in_loop(system, asks_again());
         another_rests(system);
       }},
      {"selects_again", CauseId::Polls, Polling, Likely, false,
       "polls `select.select(a, b, c, 1)` at train.py:11-12",
       [](auto& system) {
         in_select(system, soon());
         in_loop(
             system, asks_again(),
             {.callee = "select.select", .text = "select.select(a, b, c, 1)"});
       }},
      {"waits_for_a_queue_of_c", CauseId::NobodyLeft, Stuck, Likely, true,
       "waits in SimpleQueue.get for another thread, and no other",
       [](auto& system) { in_simple_queue(system, "_queue.SimpleQueue"); }},
      {"waits_for_a_queue_of_c_beside_another", CauseId::Condition, Blocked,
       Possible, true, "waits in SimpleQueue.get for another thread",
       [](auto& system) {
         in_simple_queue(system, "_queue.SimpleQueue");
         another_rests(system);
       }},
      {"waits_for_a_queue_of_c_for_a_time", CauseId::Condition, Blocked,
       Possible, true, "waits in SimpleQueue.get for another thread",
       [](auto& system) {
         in_simple_queue(system, "_queue.SimpleQueue", soon());
       }},
      {"calls_get_of_something_else", CauseId::NobodyLeft, Stuck, Likely, true,
       "waits for another thread, and no other thread is here",
       [](auto& system) { in_simple_queue(system, "Box"); }},
      {"waits_for_a_message_in_c", CauseId::Idle, Idle, Likely, false,
       "waits for a message of a ZeroMQ socket",
       [](auto& system) { in_zmq(system, "zmq_msg_recv"); }},
      {"may_not_send_in_c", CauseId::PeerSilent, Blocked, Possible, true,
       "waits until its ZeroMQ socket may send",
       [](auto& system) { in_zmq(system, "zmq_msg_send"); }},
      {"calls_a_function_of_no_row", CauseId::Idle, Idle, Likely, false,
       "waits for events", [](auto& system) { in_zmq(system, "zmq_ctx_set"); }},
      {"writes_to_a_terminal_of_its_own", CauseId::PeerDoesNotRead, Blocked,
       Likely, true, "takes no more: this process itself serves it",
       [](auto& system) {
         writes_to_terminal(system);
         serves_terminal(system.at(kOne));
       }},
      {"writes_to_a_terminal_of_its_parent", CauseId::PeerDoesNotRead, Blocked,
       Likely, false, "which serves it, does not read",
       [](auto& system) {
         writes_to_terminal(system);
         system.at(kOne).status.ppid = kOther;
         auto& parent = system.process(kOther);
         parent.sleeps_in(SYS_clock_nanosleep, {});
         serves_terminal(parent);
       }},
      {"waits_for_a_lock_of_a_database", CauseId::Condition, Blocked, Likely,
       true, "waits for a lock of its database, to UPDATE, which process",
       [](auto& system) {
         backend(system, kOne,
                 "postgres: ada shop 127.0.0.1(4) UPDATE waiting");
         backend(system, kOther,
                 "postgres: ada shop 127.0.0.1(5) idle in transaction");
       }},
      {"waits_for_a_lock_of_one_of_two", CauseId::Condition, Blocked, Possible,
       true, "waits for a lock of its database, to UPDATE",
       [](auto& system) {
         backend(system, kOne, "postgres: ada shop [local] UPDATE waiting");
         backend(system, kOther,
                 "postgres: ada shop [local] idle in transaction");
         backend(system, kThird,
                 "postgres: ada shop [local] idle in transaction");
       }},
      {"a_database_at_rest", CauseId::Idle, Idle, Likely, false, "",
       [](auto& system) {
         backend(system, kOne, "postgres: ada shop [local] idle");
       }},
      {"a_hub_that_watches_a_connection", CauseId::Idle, Idle, Likely, false,
       "waits in gevent's hub",
       [](auto& system) {
         in_hub(system);
         system.at(kOne).open_socket(5, kSocket);
       }},
      {"a_hub_that_nobody_can_wake", CauseId::Idle, Unknown, Possible, true,
       "waits in gevent's hub",
       [](auto& system) {
         in_hub(system);
         system.at(kOne).files[5] = {.fd = 5, .kind = FileKind::EventFd};
       }},
      {"a_hub_that_sleeps", CauseId::Idle, Idle, Likely, false,
       "waits in gevent's hub",
       [](auto& system) {
         in_hub(system, /*millis=*/900);
         system.at(kOne).files[5] = {.fd = 5, .kind = FileKind::EventFd};
       }},
      {"awaits_again_for_a_limited_time", CauseId::Polls, Polling, Likely,
       false,
       "runs an event loop whose task Task-1 polls `wait_for(get(), 1)` at "
       "train.py:11-12 in load, for a limited time each",
       [](auto& system) {
         in_event_loop(system);
         auto& one = system.at(kOne);
         one.open_socket(5, kSocket);
         one.files[6] = {.fd = 6,
                         .kind = FileKind::Epoll,
                         .watches = {{.fd = 5, .events = 1}}};
         one.threads.front().wait.call.args[3] = 900;
         awaits(one, called({{"asyncio/queues.py", "get"},
                             {"asyncio/tasks.py", "wait_for"}}));
         in_loop(system, asks_again(),
                 {.callee = "wait_for", .text = "wait_for(get(), 1)"});
       }},
      {"a_loop_for_what_is_no_task", CauseId::FutureUnset, Stuck, Likely, true,
       "until a Future is done, and nobody is left to do it",
       [](auto& system) {
         in_event_loop(system,
                       {{"asyncio/base_events.py", "run_until_complete"}});
       }},
      {"a_loop_at_the_end_of_run", CauseId::FutureUnset, Stuck, Likely, true,
       "has come to the end of asyncio.run(), and runs an event loop until",
       [](auto& system) {
         in_event_loop(system,
                       {{"asyncio/base_events.py", "run_until_complete"},
                        {"asyncio/runners.py", "_cancel_all_tasks"}});
       }},
      {"a_loop_for_ever_without_tasks", CauseId::Idle, Idle, Likely, false, "",
       [](auto& system) {
         in_event_loop(system, {{"asyncio/base_events.py", "run_forever"}});
       }},
  };
  return kCases;
}

INSTANTIATE_MADE_UP(Timed, timed_cases);

namespace {

// A polling thread may stop for another reason: it is proved that what it polls
// for never comes, and not that it hangs.
// poll(2)'s arguments are gone when they are read: it was called again.
TEST(CausesOfTimedWaits, WhatIsPolledIsReadAnew) {
  MadeUpSystem system;
  auto& one = system.python(kOne);
  one.files[5] = {.fd = 5, .kind = FileKind::Inotify};
  ThreadSnapshot& thread =
      one.sleeps_in(SYS_poll, {0x10, 1, 1000}, own_frames());
  EXPECT_THAT(cause_of(system, kOne).summary,
              testing::HasSubstr("0 descriptors"));
  const pollfd now{.fd = 5, .events = POLLIN, .revents = 0};
  WaitSample later = thread.wait;
  later.call.args[0] = reinterpret_cast<std::uintptr_t>(&now);
  later.runs.nanoseconds = 1;
  one.waits_later[thread.id.tid] = later;
  EXPECT_THAT(cause_of(system, kOne).summary, testing::HasSubstr("inotify"));
}

TEST(CausesOfTimedWaits, WhoMayGiveUpIsNotStuck) {
  for (const bool has_other_end : {false, true}) {
    MadeUpSystem system;
    auto& one = system.python(kOne);
    one.objects[{"result", "self"}] = system.objects.of_class("Future");
    one.sleeps_in(SYS_futex, {0, FUTEX_WAIT_PRIVATE, 0, soon()},
                  called({{"threading.py", "wait"},
                          {"concurrent/futures/_base.py", "result"}}));
    LoopAround loop = asks_again();
    if (has_other_end) {
      loop.variables = {"self.stop"};
    }
    in_loop(system, loop,
            {.callee = "f.result", .text = "f.result(timeout=1)"});
    // The only worker of its pool is in a self-deadlock.
    const auto lock = system.objects.lock();
    auto frames = own_frames();
    frames.front().function = "work";
    system.objects.give(frames.front(), {{"lock", lock.object}});
    system.objects.in_with(frames.front(), lock.object);
    frames.push_back(
        frame("/usr/lib/python3.11/concurrent/futures/thread.py", "run"));
    one.sleeps_in(SYS_futex, {lock.word.value, FUTEX_WAIT_BITSET_PRIVATE, 0, 0},
                  frames);
    const auto found = diagnose(system, kOne, 10);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->state, has_other_end ? Progress::Polling : Progress::Stuck)
        << found->cause.summary;
  }
}

}  // namespace
}  // namespace hangdbg
