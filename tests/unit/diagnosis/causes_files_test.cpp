// The rules of the diagnosis about pipes, terminals and locks on files, on
// processes that are made up.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>

#include <csignal>

#include "tests/unit/support/made_up_cases.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kPipe = 41;
constexpr std::uint64_t kForever = ~0ULL;

// kOne sleeps in that call, whose descriptor is the pipe.
MadeUpProcess& at_pipe(MadeUpSystem& system,
                       long call,
                       std::vector<PythonFrame> frames = own_frames()) {
  auto& one = system.python(kOne);
  one.sleeps_in(call, {5}, std::move(frames));
  one.open_pipe(5, kPipe);
  return one;
}

void writes(MadeUpSystem& system, int pid) {
  system.ends.push_back({.pid = pid, .fd = 1, .inode = kPipe, .writes = true});
}
void reads(MadeUpSystem& system, int pid) {
  system.ends.push_back({.pid = pid, .fd = 1, .inode = kPipe, .reads = true});
}
MadeUpProcess& sleeps(MadeUpSystem& system, int pid) {
  auto& one = system.process(pid);
  one.sleeps_in(SYS_clock_nanosleep, {});
  return one;
}

MadeUpProcess& polls_pipe(MadeUpSystem& system, std::uint64_t time = kForever) {
  static const pollfd polled[] = {{.fd = 5, .events = POLLIN, .revents = 0}};
  auto& one = system.python(kOne);
  one.sleeps_in(SYS_poll, {reinterpret_cast<std::uintptr_t>(polled), 1, time},
                own_frames());
  one.open_pipe(5, kPipe);
  return one;
}

constexpr std::uint64_t kHandlesUsr1 = 1ULL << (SIGUSR1 - 1);
constexpr std::uint64_t kHandlesInt = 1ULL << (SIGINT - 1);

// kOne reads its standard input, which is that pipe.
MadeUpProcess& at_input(MadeUpSystem& system) {
  auto& one = system.python(kOne);
  one.status.ppid = kOther;
  one.sleeps_in(SYS_read, {0}, own_frames());
  one.open_pipe(0, kPipe);
  return one;
}
MadeUpProcess& parent_waits(MadeUpSystem& system) {
  auto& parent = system.python(kOther);
  parent.sleeps_in(SYS_wait4, {kOne}, own_frames());
  system.parents = {{kOther, kOne}};
  return parent;
}

void at_terminal(MadeUpSystem& system,
                 long call,
                 std::vector<PythonFrame> frames = own_frames()) {
  auto& one = system.python(kOne);
  one.sleeps_in(call, {7}, std::move(frames));
  one.files[7] = {.fd = 7, .kind = FileKind::Device, .name = "/dev/pts/3"};
}

ThreadSnapshot& at_file_lock(MadeUpSystem& system, int operation = F_SETLKW) {
  auto& one = system.python(kOne);
  one.files[5] = {.fd = 5, .kind = FileKind::File, .name = "/home/ada/lock"};
  return one.sleeps_in(SYS_fcntl, {5, static_cast<std::uint64_t>(operation)},
                       own_frames());
}
void hold_file_lock(MadeUpSystem& system, int pid) {
  system.locks = {{.number = 1, .pid = pid},
                  {.number = 1, .waits = true, .pid = kOne},
                  {.number = 2, .pid = kThird}};
}

}  // namespace

const std::vector<MadeUpCase>& file_cases() {
  using enum Progress;
  using enum Confidence;
  static const std::vector<MadeUpCase> kCases = {
      // ---- to read from a pipe
      {"nobody_writes", CauseId::WriterGone, Stuck, Certain, true,
       "a pipe that nobody writes into any more",
       [](auto& system) {
         at_pipe(system, SYS_read);
         reads(system, kOne);
       }},
      {"only_itself_writes", CauseId::WriterGone, Stuck, Certain, true,
       "nobody writes into",
       [](auto& system) {
         at_pipe(system, SYS_read);
         writes(system, kOne);
       }},
      {"ctrl_c_writes_nothing", CauseId::WriterGone, Stuck, Certain, true, "",
       [](auto& system) {
         at_pipe(system, SYS_read).status.signals_caught = kHandlesInt;
         writes(system, kOne);
       }},
      {"a_handler_may_write", CauseId::WriterGone, Stuck, Likely, true, "",
       [](auto& system) {
         at_pipe(system, SYS_read).status.signals_caught = kHandlesUsr1;
         writes(system, kOne);
       }},
      {"a_handler_wakes_a_loop", CauseId::Idle, Idle, Possible, false,
       "into which only it itself can write",
       [](auto& system) {
         polls_pipe(system).status.signals_caught = kHandlesUsr1;
         writes(system, kOne);
       }},
      {"wakes_itself_or_by_time", CauseId::Idle, Idle, Possible, false,
       "into which only it itself can write",
       [](auto& system) {
         polls_pipe(system, 500);
         writes(system, kOne);
       }},
      {"polls_and_nobody_writes", CauseId::WriterGone, Stuck, Certain, true, "",
       [](auto& system) { polls_pipe(system); }},
      {"another_thread_may_write", CauseId::PipeRead, Blocked, Possible, true,
       "",
       [](auto& system) {
         at_pipe(system, SYS_read)
             .sleeps_in(SYS_clock_nanosleep, {}, own_frames());
         writes(system, kOne);
       }},
      {"a_thread_of_a_library_may_write", CauseId::WriterGone, Stuck, Likely,
       true, "",
       [](auto& system) {
         at_pipe(system, SYS_read).sleeps_in(SYS_futex, {});
         writes(system, kOne);
       }},
      {"a_thread_of_a_library_has_no_end_either", CauseId::WriterGone, Stuck,
       Certain, true, "",
       [](auto& system) {
         at_pipe(system, SYS_read).sleeps_in(SYS_futex, {});
       }},
      {"no_thread_writes_into_a_queue", CauseId::WriterGone, Stuck, Certain,
       true, "waits for a queue that nobody writes into",
       [](auto& system) {
         at_pipe(system, SYS_read,
                 called({{"multiprocessing/connection.py", "_recv"}}))
             .sleeps_in(SYS_clock_nanosleep, {}, own_frames());
         writes(system, kOne);
       }},
      {"another_writes", CauseId::PipeRead, Blocked, Likely, false,
       "waits for what process 99999902 writes into a pipe",
       [](auto& system) {
         at_pipe(system, SYS_read);
         sleeps(system, kOther);
         writes(system, kOther);
       }},
      {"a_thread_of_another_may_write", CauseId::PipeRead, Blocked, Possible,
       false, "",
       [](auto& system) {
         at_pipe(system, SYS_read);
         sleeps(system, kOther).sleeps_in(SYS_semtimedop, {});
         writes(system, kOther);
       }},
      {"four_write", CauseId::PipeRead, Blocked, Possible, true, "and 1 more",
       [](auto& system) {
         at_pipe(system, SYS_read);
         for (const int pid : {kOther, kThird, 99999904, 99999905, kOther}) {
           writes(system, pid);
         }
       }},
      {"not_all_pipes_are_seen", CauseId::PipeRead, Blocked, Likely, true,
       "its writers cannot be seen",
       [](auto& system) {
         at_pipe(system, SYS_read);
         system.all_pipes = false;
       }},
      {"gets_what_it_reads", CauseId::Idle, Idle, Likely, false,
       "waits for events on 1 descriptor",
       [](auto& system) {
         at_pipe(system, SYS_read).threads.front().ran = true;
       }},
      // ---- to write into one
      {"a_full_pipe", CauseId::PipeFull, Blocked, Certain, true,
       "a pipe that is full: process 99999902 does not read it",
       [](auto& system) {
         at_pipe(system, SYS_write);
         sleeps(system, kOther);
         reads(system, kOther);
       }},
      {"a_full_pipe_of_a_pool_with_tasks", CauseId::PipeFull, Blocked, Certain,
       false, "a pipe that is full: process 99999902 does not read it",
       [](auto& system) {
         at_pipe(system, SYS_write).threads.front().stack.frames =
             called({{"multiprocessing/connection.py", "_send"},
                     {"multiprocessing/pool.py", "_handle_tasks"}});
         sleeps(system, kOther);
         reads(system, kOther);
       }},
      {"a_full_pipe_of_one_with_threads", CauseId::PipeFull, Blocked, Possible,
       false, "",
       [](auto& system) {
         at_pipe(system, SYS_write);
         sleeps(system, kOther).sleeps_in(SYS_semtimedop, {});
         reads(system, kOther);
       }},
      {"a_full_pipe_to_itself", CauseId::PipeFull, Stuck, Certain, true,
       "no other process reads",
       [](auto& system) {
         at_pipe(system, SYS_write);
         reads(system, kOne);
       }},
      {"another_thread_may_read", CauseId::PipeFull, Blocked, Certain, true,
       "no other process reads",
       [](auto& system) {
         at_pipe(system, SYS_write)
             .sleeps_in(SYS_clock_nanosleep, {}, own_frames());
         reads(system, kOne);
       }},
      {"is_read_now_and_then", CauseId::Idle, Idle, Likely, false, "",
       [](auto& system) {
         at_pipe(system, SYS_write).threads.front().ran = true;
         reads(system, kOne);
       }},
      // ---- terminals, standard input
      {"a_terminal", CauseId::TerminalInput, Idle, Certain, false,
       "waits for input from its terminal, /dev/pts/3",
       [](auto& system) { at_terminal(system, SYS_read); }},
      {"writes_to_a_terminal", CauseId::PeerDoesNotRead, Blocked, Likely, true,
       "writes to the terminal /dev/pts/3, which takes no more",
       [](auto& system) { at_terminal(system, SYS_write); }},
      {"a_prompt_of_pdb", CauseId::TerminalInput, Idle, Certain, false,
       "stands at a prompt of pdb",
       [](auto& system) {
         at_terminal(system, SYS_read,
                     called({{"cmd.py", "cmdloop"}, {"pdb.py", "_cmdloop"}}));
       }},
      {"standard_input", CauseId::TerminalInput, Idle, Certain, false,
       "waits for input from its standard input",
       [](auto& system) { at_input(system); }},
      {"input_of_a_parent_that_waits", CauseId::TerminalInput, Idle, Certain,
       true, "its standard input",
       [](auto& system) {
         at_input(system);
         parent_waits(system);
         writes(system, kOther);
       }},
      {"input_of_another_than_its_parent", CauseId::PipeRead, Blocked, Likely,
       false, "waits for what process 99999903 writes into a pipe",
       [](auto& system) {
         at_input(system);
         system.process(kThird).sleeps_in(SYS_clock_nanosleep, {});
         writes(system, kThird);
       }},
      {"input_of_a_parent_that_reads", CauseId::TerminalInput, Idle, Certain,
       true, "its standard input",
       [](auto& system) {
         at_input(system);
         auto& parent = system.python(kOther);
         parent.sleeps_in(SYS_read, {5}, own_frames());
         parent.open_pipe(5, kPipe + 7);
         writes(system, kOther);
       }},
      {"input_of_a_parent_that_reads_a_terminal", CauseId::TerminalInput, Idle,
       Certain, false, "its standard input",
       [](auto& system) {
         at_input(system);
         auto& parent = system.python(kOther);
         parent.sleeps_in(SYS_read, {5}, own_frames());
         parent.files[5] = {.fd = 5, .name = "/dev/pts/3"};
         writes(system, kOther);
       }},
      {"input_of_a_parent_and_another", CauseId::TerminalInput, Idle, Certain,
       false, "",
       [](auto& system) {
         at_input(system);
         parent_waits(system);
         writes(system, kOther);
         writes(system, kThird);
       }},
      {"input_of_a_parent_with_threads", CauseId::TerminalInput, Idle, Certain,
       false, "",
       [](auto& system) {
         at_input(system);
         parent_waits(system).sleeps_in(SYS_clock_nanosleep, {}, own_frames());
         writes(system, kOther);
       }},
      {"input_of_a_parent_that_sleeps", CauseId::TerminalInput, Idle, Certain,
       false, "",
       [](auto& system) {
         at_input(system);
         sleeps(system, kOther);
         writes(system, kOther);
       }},
      {"input_where_not_all_is_seen", CauseId::TerminalInput, Idle, Certain,
       false, "",
       [](auto& system) {
         at_input(system);
         parent_waits(system);
         writes(system, kOther);
         system.all_pipes = false;
       }},
      // ---- locks on files
      {"a_file_lock", CauseId::FileLock, Blocked, Certain, true,
       "waits for the lock on /home/ada/lock, held by process",
       [](auto& system) {
         at_file_lock(system);
         hold_file_lock(system, ::getpid());  // a live process
         sleeps(system, ::getpid());
       }},
      {"a_file_lock_of_one_at_work", CauseId::FileLock, Blocked, Certain, false,
       "",
       [](auto& system) {
         at_file_lock(system);
         hold_file_lock(system, ::getpid());
         system.process(::getpid()).sleeps_in(SYS_read, {}).wait = {
             .state = 'R', .call = {.running = true}};
       }},
      {"a_file_lock_of_one_that_has_ended", CauseId::FileLock, Blocked, Certain,
       true, "held by process 99999902",
       [](auto& system) {
         at_file_lock(system);
         hold_file_lock(system, kOther);
       }},
      {"a_file_lock_of_another_container", CauseId::FileLock, Blocked, Likely,
       true, "its owner cannot be seen",
       [](auto& system) { at_file_lock(system, F_OFD_SETLKW); }},
      {"a_file_lock_in_turns", CauseId::FileLock, Running, Certain, false, "",
       [](auto& system) {
         at_file_lock(system).ran = true;
         hold_file_lock(system, ::getpid());
         sleeps(system, ::getpid());
       }},
      {"asks_for_no_file_lock", CauseId::Unknown, Unknown, Possible, true, "",
       [](auto& system) { at_file_lock(system, F_SETLK); }},
  };
  return kCases;
}

INSTANTIATE_MADE_UP(Files, file_cases);

}  // namespace hangdbg
