// The rules of the diagnosis about FIFOs, and about ends of pipes that were
// inherited, on processes that are made up.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <filesystem>

#include "diagnosis/diagnose.h"
#include "tests/unit/support/made_up_cases.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kPipe = 41;
constexpr std::uint64_t kErrors = 42;
constexpr std::uint64_t kFifo = 43;
constexpr std::uint64_t kFifoDevice = 7;
constexpr std::uint64_t kForever = ~0ULL;

void has_end(MadeUpSystem& system,
             int pid,
             bool writes,
             std::uint64_t pipe = kPipe,
             int fd = 6) {
  system.ends.push_back({.pid = pid,
                         .fd = fd,
                         .inode = pipe,
                         .device = pipe == kFifo ? kFifoDevice : 0,
                         .reads = !writes,
                         .writes = writes});
}

MadeUpProcess& at_pipe(MadeUpSystem& system, int pid, long call = SYS_read) {
  auto& one = system.python(pid);
  one.sleeps_in(call, {5}, own_frames());
  one.open_pipe(5, kPipe);
  return one;
}
MadeUpProcess& at_fifo(MadeUpSystem& system, long call) {
  auto& one = system.python(kOne);
  one.sleeps_in(call, {5}, own_frames());
  one.open_fifo(5, kFifo, "/tmp/commands");
  return one;
}
MadeUpProcess& sleeps(MadeUpSystem& system, int pid) {
  auto& one = system.process(pid);
  one.sleeps_in(SYS_clock_nanosleep, {});
  return one;
}

// A child that multiprocessing has forked from kOne, with that many plain
// arguments and one of `argument`.
void sleeps_in_target(MadeUpSystem& system, int pid, Address argument = {}) {
  auto& one = system.python(pid);
  one.parent = one.status.ppid = kOne;
  one.sleeps_in(
      SYS_clock_nanosleep, {},
      {frame("/home/ada/train.py", "idle"),
       frame("/usr/lib/python3.11/multiprocessing/process.py", "run")});
  one.objects[{"run", "self._target"}] = system.objects.of_class("function");
  one.reprs[{"run", "self._kwargs"}] = "{}";
  one.objects[{"run", "self._args"}] = system.objects.of_class("tuple");
  if (argument) {
    one.objects[{"run", "self._args[0]"}] = argument;
  }
}

// communicate() of a child, 99999904, whose output and errors are pipes.
void communicates(MadeUpSystem& system) {
  static const pollfd polled[] = {{.fd = 5, .events = POLLIN, .revents = 0},
                                  {.fd = 8, .events = POLLIN, .revents = 0}};
  auto& one = system.python(kOne);
  one.sleeps_in(SYS_poll,
                {reinterpret_cast<std::uintptr_t>(polled), 2, kForever},
                called({{"selectors.py", "select"},
                        {"subprocess.py", "_communicate"},
                        {"subprocess.py", "communicate"}}));
  one.open_pipe(5, kPipe);
  one.open_pipe(8, kErrors);
  one.numbers[{"_communicate", "self.pid"}] = 99999904;
}

}  // namespace

const std::vector<MadeUpCase>& pipe_cases() {
  using enum Progress;
  using enum Confidence;
  static const std::vector<MadeUpCase> kCases = {
      // ---- FIFOs
      {"a_full_fifo", CauseId::PipeFull, Blocked, Certain, true,
       "writes into the FIFO /tmp/commands that is full: process 99999902",
       [](auto& system) {
         at_fifo(system, SYS_write);
         sleeps(system, kOther);
         has_end(system, kOther, /*writes=*/false, kFifo);
       }},
      {"a_full_fifo_that_anybody_may_read", CauseId::PipeFull, Blocked, Certain,
       true, "that no other process reads",
       [](auto& system) {
         at_fifo(system, SYS_write);
         has_end(system, kOne, /*writes=*/false, kFifo);
       }},
      {"a_full_fifo_without_a_path", CauseId::PipeFull, Stuck, Certain, true,
       "that no other process reads",
       [](auto& system) {
         at_fifo(system, SYS_write).files.at(5).deleted = true;
         has_end(system, kOne, /*writes=*/false, kFifo);
       }},
      {"a_fifo_for_commands", CauseId::PipeRead, Idle, Likely, false,
       "waits for who opens the FIFO /tmp/commands to write into it",
       [](auto& system) {
         at_fifo(system, SYS_read);
         has_end(system, kOne, /*writes=*/true, kFifo);
       }},
      {"a_fifo_of_another", CauseId::PipeRead, Blocked, Likely, false,
       "waits for what process 99999902 writes into the FIFO /tmp/commands",
       [](auto& system) {
         at_fifo(system, SYS_read);
         sleeps(system, kOther);
         has_end(system, kOther, /*writes=*/true, kFifo);
         // The pipe of that number is another one.
         system.ends.push_back(
             {.pid = kThird, .fd = 1, .inode = kFifo, .writes = true});
       }},
      // ---- ends that were inherited
      {"an_idle_child_has_inherited_it", CauseId::PipeRead, Blocked, Likely,
       true,
       "waits for a pipe whose write end is open only in itself and in process "
       "99999902, which inherited it",
       [](auto& system) {
         at_pipe(system, kOne);
         sleeps_in_target(system, kOther);
         has_end(system, kOne, /*writes=*/true);
         has_end(system, kOther, /*writes=*/true);
       }},
      {"a_child_was_passed_something", CauseId::PipeRead, Blocked, Likely,
       false, "waits for what process 99999902 writes into a pipe",
       [](auto& system) {
         at_pipe(system, kOne);
         sleeps_in_target(system, kOther,
                          system.objects.of_class("Connection"));
         has_end(system, kOne, /*writes=*/true);
         has_end(system, kOther, /*writes=*/true);
       }},
      {"it_was_not_of_its_parent", CauseId::PipeRead, Blocked, Likely, false,
       "waits for what process 99999902 writes into a pipe",
       [](auto& system) {
         at_pipe(system, kOne);
         sleeps_in_target(system, kOther);
         has_end(system, kOther, /*writes=*/true);
       }},
      {"all_who_have_it_read", CauseId::WriterGone, Stuck, Certain, true,
       "all who have its write end open read from it, process 99999902",
       [](auto& system) {
         for (const int pid : {kOne, kOther}) {
           at_pipe(system, pid);
           has_end(system, pid, /*writes=*/true);
         }
       }},
      {"one_of_them_has_another_thread", CauseId::PipeRead, Blocked, Possible,
       true, "",
       [](auto& system) {
         for (const int pid : {kOne, kOther}) {
           at_pipe(system, pid);
           has_end(system, pid, /*writes=*/true);
         }
         system.at(kOther).sleeps_in(SYS_clock_nanosleep, {});
       }},
      // ---- communicate()
      {"a_grandchild_has_the_output", CauseId::PipeRead, Blocked, Certain, true,
       "waits for the end of the output of process 99999904, which has ended: "
       "process 99999902 still has it open",
       [](auto& system) {
         communicates(system);
         sleeps(system, kOther);
         has_end(system, kOther, /*writes=*/true, kPipe, 1);
         has_end(system, kOther, /*writes=*/true, kErrors, 2);
         system.parents = {{1, kOther}, {1, kOne}};
       }},
      {"what_a_shell_has_left_has_the_output", CauseId::PipeRead, Blocked,
       Likely, true, "waits for what process 99999902 writes into a pipe",
       [](auto& system) {
         at_pipe(system, kOne);
         sleeps(system, kOther);
         has_end(system, kOther, /*writes=*/true, kPipe, 1);
         sleeps(system, 99999904).status.state = 'Z';
         system.parents = {{1, kOther}, {kOne, 99999904}};
       }},
      {"a_child_that_sleeps_has_its_output", CauseId::PipeRead, Blocked, Likely,
       false, "waits for what process 99999904 writes into a pipe",
       [](auto& system) {
         communicates(system);
         sleeps(system, 99999904);
         has_end(system, 99999904, /*writes=*/true, kPipe, 1);
         has_end(system, 99999904, /*writes=*/true, kErrors, 2);
         system.parents = {{kOne, 99999904}};
       }},
  };
  return kCases;
}

INSTANTIATE_MADE_UP(Pipes, pipe_cases);

namespace {

TEST(Causes, OpensAFifo) {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("fifo." + std::to_string(::getpid()));
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  struct stat file {};
  ASSERT_EQ(::stat(path.c_str(), &file), 0);
  const auto opens = [&](MadeUpSystem& system, std::uint64_t flags) {
    const int pid = ::getpid();  // the file is searched in its root
    system.python(pid).sleeps_in(
        SYS_openat,
        {static_cast<std::uint64_t>(AT_FDCWD),
         reinterpret_cast<std::uintptr_t>(path.c_str()), flags},
        own_frames());
    return cause_of(system, pid);
  };
  MadeUpSystem nobody;
  const Cause cause = opens(nobody, O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(cause.id, CauseId::FifoOpen);
  EXPECT_EQ(cause.progress, Progress::Blocked);
  EXPECT_EQ(cause.confidence, Confidence::Certain);
  EXPECT_THAT(cause.summary,
              testing::HasSubstr("opens the FIFO " + path +
                                 " to read it, and nobody has it open to "
                                 "write"));
  EXPECT_THAT(opens(nobody, O_WRONLY).summary,
              testing::HasSubstr("to write to it, and nobody has it open to "
                                 "read"));
  MadeUpSystem some;
  some.all_pipes = false;
  EXPECT_EQ(opens(some, O_RDONLY).confidence, Confidence::Likely);
  MadeUpSystem writer;
  writer.ends = {{.pid = kOther,
                  .fd = 3,
                  .inode = file.st_ino,
                  .device = file.st_dev,
                  .writes = true}};
  EXPECT_EQ(opens(writer, O_RDONLY).id, CauseId::Unknown);
  EXPECT_EQ(opens(writer, O_WRONLY).id, CauseId::FifoOpen);
  std::filesystem::remove(path);
  EXPECT_EQ(opens(nobody, O_RDONLY).id, CauseId::Unknown) << "it is gone";
}

}  // namespace
}  // namespace hangdbg
