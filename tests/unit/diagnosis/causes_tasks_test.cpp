// The rules of the diagnosis about the tasks of an event loop, about
// descriptors that only their own process, a timer or the kernel makes ready,
// and about terminals that a process serves; on processes that are made up.
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include <string>
#include <utility>
#include <vector>

#include "diagnosis/diagnose.h"
#include "tests/unit/support/made_up_cases.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kSocket = 42;
constexpr std::uint64_t kSoonMs = 900;  // it has a timer

using Functions = std::vector<std::pair<std::string, std::string>>;

AsyncioTask task(std::uint64_t address,
                 const std::string& name,
                 std::vector<PythonFrame> frames,
                 std::vector<Address> waits_for = {}) {
  AsyncioTask made{.address = Address{address},
                   .name = name,
                   .state = "waits",
                   .future = waits_for.empty() ? "Future" : "Task",
                   .waits_for = std::move(waits_for)};
  made.stack.frames = std::move(frames);
  return made;
}
// It sleeps in load() of the program.
AsyncioTask sleeps(std::uint64_t address, const std::string& name) {
  return task(address, name, called({{"asyncio/tasks.py", "sleep"}}));
}

MadeUpProcess& in_loop(MadeUpSystem& system,
                       std::vector<AsyncioTask> tasks,
                       Functions by = {},
                       std::uint64_t millis = kSoonMs) {
  auto& one = system.python(kOne);
  Functions all = {{"selectors.py", "select"},
                   {"asyncio/base_events.py", "_run_once"}};
  all.insert(all.end(), by.begin(), by.end());
  one.sleeps_in(SYS_epoll_wait, {6, 0, 0, millis}, called(all));
  one.files[6] = {.fd = 6, .kind = FileKind::Epoll};
  one.tasks.tasks = std::move(tasks);
  return one;
}
void watches(MadeUpProcess& one, OpenFile file) {
  one.files[6].watches.push_back({.fd = file.fd, .events = 1});
  one.files[file.fd] = std::move(file);
}
void in_rounds(MadeUpProcess& one, LoopAround loop) {
  loop.first_line = 11;
  loop.last_line = 12;
  one.frame_loops["load"] = {.call = {.callee = "asyncio.sleep"},
                             .loops = {std::move(loop)}};
}
CallText exists() {
  return {.callee = "exists", .text = "exists(path)", .arguments = {"path"}};
}
CallText draws() {
  return {.callee = "draw", .text = "draw()"};
}

// A process that sleeps.
MadeUpProcess& child(MadeUpSystem& system) {
  system.parents.insert({kOne, kOther});
  auto& one = system.process(kOther);
  one.status.ppid = kOne;
  one.sleeps_in(SYS_clock_nanosleep, {});
  return one;
}

// Reads what is written to a terminal that it serves.
MadeUpProcess& serves_terminal(MadeUpSystem& system) {
  auto& one = system.python(kOne);
  one.sleeps_in(SYS_read, {9}, own_frames());
  one.files[9] = {
      .fd = 9, .kind = FileKind::Device, .name = "/dev/ptmx", .terminal = 7};
  return one;
}

// A loop that watches the pipe into which kOther could write.
MadeUpProcess& at_pipe(MadeUpSystem& system, std::vector<PythonFrame> frames) {
  constexpr std::uint64_t kPipe = 41;
  auto& one =
      in_loop(system, {task(0x1000, "Task-1", std::move(frames))}, {}, ~0ULL);
  watches(one, {.fd = 7, .kind = FileKind::EventFd});
  watches(
      one,
      {.fd = 8, .kind = FileKind::Pipe, .name = "pipe:[41]", .inode = kPipe});
  system.process(kOther).sleeps_in(SYS_clock_nanosleep, {});
  system.ends = {{.pid = kOther, .fd = 1, .inode = kPipe, .writes = true}};
  return one;
}

// It watches that many pipes, each of which another process has.
void at_pipes(MadeUpSystem& system, std::vector<int> writers) {
  auto& one = system.python(kOne);
  one.sleeps_in(SYS_epoll_wait, {6, 0, 0, ~0ULL}, own_frames());
  one.files[6] = {.fd = 6, .kind = FileKind::Epoll};
  for (const int pid : writers) {
    const int fd = 10 + pid % 10;
    const auto inode = static_cast<std::uint64_t>(pid);
    watches(one, {.fd = fd, .kind = FileKind::Pipe, .inode = inode});
    system.process(pid).sleeps_in(SYS_clock_nanosleep, {});
    system.ends.push_back(
        {.pid = pid, .fd = 1, .inode = inode, .writes = true});
  }
}

MadeUpProcess& waits_for_kind(MadeUpSystem& system, FileKind kind) {
  auto& one = system.python(kOne);
  one.sleeps_in(SYS_read, {5}, own_frames());
  one.files[5] = {.fd = 5, .kind = kind};
  return one;
}

}  // namespace

const std::vector<MadeUpCase>& task_cases() {
  using enum Progress;
  using enum Confidence;
  static const std::vector<MadeUpCase> kCases = {
      {"a_task_that_polls", CauseId::Polls, Polling, Likely, false,
       "runs an event loop whose task Task-1 polls `exists(path)` at "
       "train.py:11-12 in load, and sleeps in between",
       [](auto& system) {
         in_rounds(in_loop(system, {sleeps(0x1000, "Task-1")}),
                   {.conditions = {exists()}});
       }},
      {"a_task_that_polls_by_a_thread", CauseId::Polls, Polling, Likely, false,
       "whose task Task-1 polls `exists(path)`",
       [](auto& system) {
         auto& one = in_loop(system, {sleeps(0x1000, "Task-1")});
         in_rounds(one, {.conditions = {exists()}});
         one.threads.front().ran = true;
         one.tasks_at_first.emplace();
         one.tasks_at_first->tasks = {task(0x1000, "Task-1", own_frames())};
       }},
      {"a_task_that_works_now_and_then", CauseId::Sleeps, Idle, Likely, false,
       "whose task Task-1 sleeps between rounds of the loop at train.py:11-12",
       [](auto& system) {
         in_rounds(in_loop(system, {sleeps(0x1000, "Task-1")}),
                   {.work = {draws()}});
       }},
      {"a_task_that_sleeps_once", CauseId::Sleeps, Idle, Likely, false,
       "whose task Task-1 sleeps for a fixed time",
       [](auto& system) { in_loop(system, {sleeps(0x1000, "Task-1")}); }},
      {"a_task_behind_one_that_polls", CauseId::Polls, Polling, Likely, false,
       "whose task Task-2 polls `exists(path)`",
       [](auto& system) {
         in_rounds(in_loop(system, {task(0x1000, "Task-1",
                                         {frame("/home/ada/train.py", "main")},
                                         {Address{0x2000}}),
                                    sleeps(0x2000, "Task-2")}),
                   {.conditions = {exists()}});
       }},
      {"a_task_that_may_be_served_by_a_sleeper", CauseId::Sleeps, Idle, Likely,
       false, "whose task Task-2 sleeps",
       [](auto& system) {
         in_loop(system, {task(0x1000, "Task-1", own_frames()),
                          sleeps(0x2000, "Task-2")});
       }},
      {"a_task_behind_a_child", CauseId::Child, Blocked, Certain, false,
       "whose task waits for the end of its child, process 99999902",
       [](auto& system) {
         auto& one = in_loop(
             system,
             {task(0x1000, "Task-1",
                   called({{"asyncio/subprocess.py", "communicate"}}))});
         one.numbers[{"communicate", "self._transport._pid"}] = kOther;
         child(system);
       }},
      {"a_task_at_a_pipe", CauseId::PipeRead, Blocked, Likely, false,
       "waits for what process 99999902 writes into a pipe",
       [](auto& system) { at_pipe(system, own_frames()); }},
      {"a_task_at_the_output_of_a_child_that_has_ended", CauseId::PipeRead,
       Blocked, Certain, true,
       "waits for the end of the output of process 99999903, which has ended: "
       "process 99999902 still has it open",
       [](auto& system) {
         auto& one = at_pipe(
             system, called({{"asyncio/subprocess.py", "communicate"}}));
         one.numbers[{"communicate", "self._transport._pid"}] = kThird;
       }},
      {"a_task_that_serves_grpc", CauseId::Serves, Idle, Likely, false,
       "whose task Task-1 serves gRPC clients, and waits for the server's end",
       [](auto& system) {
         in_loop(system, {task(0x1000, "Task-1",
                               called({{"site-packages/grpc/aio/_server.py",
                                        "wait_for_termination"}}))});
       }},
      {"a_task_behind_a_thread_of_anyio", CauseId::Future, Blocked, Likely,
       false, "whose task Task-1 waits for what a thread does for it",
       [](auto& system) {
         const std::string kFile = "site-packages/anyio/_backends/_asyncio.py";
         auto& one = in_loop(
             system, {task(0x1000, "Task-1",
                           called({{kFile, "run_sync_in_worker_thread"}}))});
         auto frames = own_frames();
         frames.push_back(frame("/usr/lib/python3.11/" + kFile, "run"));
         one.sleeps_in(SYS_clock_nanosleep, {}, frames);
       }},
      {"a_task_that_does_not_end", CauseId::ExitJoin, Blocked, Likely, true,
       "has come to the end of asyncio.run(), and waits for task Task-1",
       [](auto& system) {
         in_loop(system, {sleeps(0x1000, "Task-1")},
                 {{"asyncio/base_events.py", "run_until_complete"},
                  {"asyncio/runners.py", "_cancel_all_tasks"}});
       }},
      {"the_loops_pool_does_not_end", CauseId::ExitJoin, Blocked, Likely, false,
       "waits for the threads of its event loop's pool",
       [](auto& system) {
         auto& one =
             in_loop(system, {task(0x1000, "Task-1",
                                   called({{"asyncio/base_events.py",
                                            "shutdown_default_executor"}}))});
         auto frames = own_frames();
         frames.push_back(
             frame("/usr/lib/python3.11/concurrent/futures/thread.py", "run"));
         one.sleeps_in(SYS_clock_nanosleep, {}, frames);
       }},
      {"a_loop_that_others_may_write_to", CauseId::Condition, Blocked, Possible,
       false, "whose task Task-1 waits for a Future at train.py:12 in load",
       [](auto& system) {
         auto& one = in_loop(system, {task(0x1000, "Task-1", own_frames())});
         for (const int fd : {4, 5}) {
           watches(one, {.fd = fd,
                         .kind = FileKind::Socket,
                         .inode = kSocket + static_cast<std::uint64_t>(fd)});
         }
       }},
      {"a_loop_that_serves", CauseId::Serves, Idle, Likely, false,
       "waits for a connection",
       [](auto& system) {
         auto& one = in_loop(system, {task(0x1000, "Task-1", own_frames())});
         watches(one, {.fd = 5, .kind = FileKind::Socket, .inode = kSocket});
         system.tcp[kSocket] = {.inode = kSocket, .state = TcpState::Listen};
       }},
      {"a_loop_that_serves_and_reads_itself", CauseId::Condition, Blocked,
       Possible, false, "whose task Task-1 waits for a Future at train.py:12",
       [](auto& system) {
         auto& one =
             in_loop(system,
                     {task(0x1000, "Task-1",
                           called({{"asyncio/streams.py", "_wait_for_data"},
                                   {"asyncio/streams.py", "read"}}))},
                     {{"asyncio/base_events.py", "run_until_complete"}});
         one.objects[{"run_until_complete", "future"}] = Address{0x1000};
         watches(one, {.fd = 5, .kind = FileKind::Socket, .inode = kSocket});
         system.tcp[kSocket] = {.inode = kSocket, .state = TcpState::Listen};
       }},
      {"a_loop_that_drains_into_a_pipe", CauseId::PipeFull, Blocked, Certain,
       true, "whose task Task-1 writes into a pipe that is full: process 9999",
       [](auto& system) {
         auto& one = at_pipe(system, called({{"asyncio/streams.py", "drain"}}));
         one.files[6].watches.back().events = EPOLLIN | EPOLLOUT;
         system.ends = {{.pid = kOther, .fd = 0, .inode = 41, .reads = true},
                        {.pid = kOne, .fd = 8, .inode = 41, .writes = true}};
       }},
      // ---- descriptors of the kernel's own
      {"an_eventfd_of_nobody", CauseId::NobodyLeft, Stuck, Likely, true,
       "waits until something is added to its eventfd, and no other thread",
       [](auto& system) { waits_for_kind(system, FileKind::EventFd); }},
      {"an_eventfd_that_a_child_may_have", CauseId::Condition, Blocked,
       Possible, true, "waits until something is added to its eventfd",
       [](auto& system) {
         waits_for_kind(system, FileKind::EventFd);
         system.parents.emplace(kOne, kOther);
       }},
      {"an_epoll_set_of_nothing", CauseId::NobodyLeft, Stuck, Likely, true,
       "waits for events, and watches no descriptor, and no other thread",
       [](auto& system) { at_pipes(system, {}); }},
      {"any_of_two_pipes", CauseId::PipeRead, Blocked, Possible, false,
       "waits until one of 2 processes writes into a pipe or ends",
       [](auto& system) {
         at_pipes(system, {kOther, kThird});
       }},
      {"a_timer_by_descriptor", CauseId::Idle, Idle, Likely, false,
       "waits for a timer (timerfd)",
       [](auto& system) { waits_for_kind(system, FileKind::TimerFd); }},
      {"a_timer_that_is_not_armed", CauseId::NobodyLeft, Stuck, Likely, true,
       "waits for its timer (timerfd), which is not armed, and no other thread",
       [](auto& system) {
         waits_for_kind(system, FileKind::TimerFd).files[5].disarmed = true;
       }},
      {"a_signal_by_descriptor", CauseId::Idle, Idle, Likely, false,
       "waits for a signal (signalfd)",
       [](auto& system) { waits_for_kind(system, FileKind::SignalFd); }},
      {"changes_of_files", CauseId::Idle, Idle, Likely, false,
       "waits for changes of the files that it watches (inotify)",
       [](auto& system) { waits_for_kind(system, FileKind::Inotify); }},
      // ---- terminals that it serves
      {"a_terminal_with_nobody_on_it", CauseId::PeerSilent, Blocked, Likely,
       true, "waits for what is written to the terminal /dev/pts/7",
       [](auto& system) { serves_terminal(system); }},
      {"a_terminal_of_its_child", CauseId::PeerSilent, Blocked, Likely, false,
       "waits for what process 99999902",
       [](auto& system) {
         serves_terminal(system);
         child(system).files[0] = {
             .fd = 0, .kind = FileKind::Device, .name = "/dev/pts/7"};
       }},
      {"a_terminal_of_another", CauseId::PeerSilent, Blocked, Likely, true,
       "waits for what is written to the terminal /dev/pts/7",
       [](auto& system) {
         serves_terminal(system);
         child(system).files[0] = {
             .fd = 0, .kind = FileKind::Device, .name = "/dev/pts/8"};
       }},
  };
  return kCases;
}

INSTANTIATE_MADE_UP(Tasks, task_cases);

// anyio.run() has the name of the function in which anyio's threads work.
TEST(CausesOfTasks, ALoopIsNoThreadThatWorksForIt) {
  const std::string file = "site-packages/anyio/_backends/_asyncio.py";
  MadeUpSystem system;
  auto& one = in_loop(
      system,
      {task(0x1000, "Task-1", called({{file, "run_sync_in_worker_thread"}}))},
      {{file, "run"}});
  one.sleeps_in(SYS_semtimedop, {}, called({{file, "run"}}));
  const auto found = diagnose(system, kOne, /*hung_after_s=*/10);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cycle, 0U);
  EXPECT_EQ(found->chain.size(), 2U);
}

}  // namespace hangdbg
