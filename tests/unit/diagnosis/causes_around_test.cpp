// The rules of the diagnosis about a process's host, which may block it:
// cgroups, limits, disks, mounts; and about stopped threads. On processes that
// are made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "diagnosis/diagnose.h"
#include "tests/unit/support/made_up_cases.h"

namespace hangdbg {
namespace {

using testing::Contains;
using testing::HasSubstr;

ThreadSnapshot& sleeps(MadeUpSystem& system) {
  return system.python(kOne).sleeps_in(SYS_clock_nanosleep, {}, own_frames());
}
// In a loop that polls.
ThreadSnapshot& polls(MadeUpSystem& system) {
  ThreadSnapshot& thread = sleeps(system);
  system.at(kOne).frame_loops["load"] = {
      .call = {.callee = "time.sleep"},
      .loops = {
          {.first_line = 11,
           .last_line = 12,
           .conditions = {{.callee = "exists", .text = "exists(path)"}}}}};
  return thread;
}
ThreadSnapshot& computes(MadeUpSystem& system) {
  ThreadSnapshot& thread = sleeps(system);
  thread.wait = {.state = 'R', .call = {.running = true}};
  return thread;
}
ThreadSnapshot& in_state(MadeUpSystem& system,
                         char state,
                         long call = SYS_read) {
  auto& one = system.python(kOne);
  ThreadSnapshot& thread = one.sleeps_in(call, {5}, own_frames());
  thread.wait.state = one.status.state = state;
  return thread;
}

CgroupMemory memory_of_16_mib() {
  return {.folder = "/sys/fs/cgroup/job", .max = 16ULL << 20};
}

void throttle(MadeUpSystem& system, double share) {
  system.surroundings.cgroup.cpu =
      CgroupCpu{.folder = "/sys/fs/cgroup/job", .cpus = 0.02};
  system.surroundings.cgroup.throttling =
      Throttling{.window = std::chrono::milliseconds(200), .share = share};
}
void allow_descriptors(MadeUpSystem& system, std::size_t open) {
  system.surroundings.limits.at_most.open_files = 64;
  system.surroundings.limits.open_files = open;
}
void fill_disk(MadeUpSystem& system, const std::string& use) {
  system.surroundings.file_systems = {
      {.point = "/scratch", .type = "ext4", .use = use, .bytes = 1000}};
}
void allow_threads(MadeUpSystem& system, std::uint64_t current) {
  system.surroundings.cgroup.pids =
      CgroupPids{.folder = "/sys/fs/cgroup/job", .current = current, .max = 3};
}

}  // namespace

const std::vector<MadeUpCase>& around_cases() {
  using enum Progress;
  using enum Confidence;
  static const std::vector<MadeUpCase> kCases = {
      // ---- stopped, frozen, ended
      {"is_stopped", CauseId::Stopped, Stuck, Certain, true,
       "is stopped, by SIGSTOP or Ctrl-Z",
       [](auto& system) { in_state(system, 'T'); }},
      {"wants_its_terminal_in_the_background", CauseId::Stopped, Stuck, Certain,
       true, "it runs in the background, and wanted its terminal",
       [](auto& system) {
         in_state(system, 'T');
         system.at(kOne).files[5] = {.fd = 5, .name = "/dev/pts/3"};
       }},
      {"was_at_a_file_of_another_kind", CauseId::Stopped, Stuck, Certain, true,
       "by SIGSTOP",
       [](auto& system) {
         in_state(system, 'T');
         system.at(kOne).files[5] = {.fd = 5, .name = "/dev/null"};
       }},
      {"is_held_for_a_moment", CauseId::WriterGone, Stuck, Certain, true, "",
       [](auto& system) {  // no debugger holds it in five samples
         in_state(system, 't');
         system.at(kOne).open_pipe(5, 41);
       }},
      {"has_ended", CauseId::Ended, Stuck, Certain, true,
       "has ended, and its parent, process 99999902, has not taken notice",
       [](auto& system) {
         in_state(system, 'Z');
         system.at(kOne).status.ppid = kOther;
       }},
      {"has_just_ended", CauseId::Ended, Running, Certain, false,
       "has just ended",
       [](auto& system) {
         in_state(system, 'Z');
         system.at(kOne).waits_later[kOne] = {.state = 'X'};
       }},
      {"is_frozen", CauseId::Frozen, Stuck, Certain, true,
       "is frozen with its cgroup /job",
       [](auto& system) {
         computes(system);
         system.surroundings.cgroup.frozen =
             Frozen{.path = "/job", .command = "echo THAWED"};
       }},
      // ---- the disk, mounts
      {"is_in_state_d", CauseId::Mount, Blocked, Likely, true,
       "waits for the kernel, in uninterruptible sleep, in read of /proc/x",
       [](auto& system) {
         in_state(system, 'D');
         system.at(kOne).files[5] = {
             .fd = 5, .kind = FileKind::File, .name = "/proc/x"};
       }},
      {"is_in_state_d_for_a_moment", CauseId::Mount, Blocked, Likely, false, "",
       [](auto& system) { in_state(system, 'D').wait.asleep_s = 1.5; }},
      {"writes_to_the_disk", CauseId::Runs, Running, Likely, false,
       "works, and waits for the disk in between",
       [](auto& system) { in_state(system, 'D').ran = true; }},
      {"a_page_fault", CauseId::Mount, Blocked, Likely, true, "a page fault",
       [](auto& system) { in_state(system, 'D').wait.syscall = ""; }},
      // ---- memory
      {"has_no_memory_and_nobody_is_killed", CauseId::MemoryLimit, Stuck,
       Certain, true, "has all its 16 MiB in use, and the OOM killer is off",
       [](auto& system) {
         in_state(system, 'D');
         system.surroundings.cgroup.memory = memory_of_16_mib();
         system.surroundings.cgroup.memory->waits_for_memory = true;
       }},
      {"has_memory_left", CauseId::Mount, Blocked, Likely, true, "",
       [](auto& system) {
         in_state(system, 'D');
         system.surroundings.cgroup.memory = memory_of_16_mib();
       }},
      {"takes_its_own_memory", CauseId::MemoryThrottled, Running, Likely, false,
       "it is slow because its cgroup has all its 16 MiB of memory in use",
       [](auto& system) {
         computes(system);
         system.surroundings.cgroup.memory = memory_of_16_mib();
         system.surroundings.cgroup.memory_reached = 7;
       }},
      {"sleeps_with_little_memory", CauseId::Sleeps, Idle, Certain, false, "",
       [](auto& system) {
         sleeps(system);
         system.surroundings.cgroup.memory = memory_of_16_mib();
         system.surroundings.cgroup.memory_reached = 7;
       }},
      // ---- the CPU
      {"is_throttled", CauseId::CpuThrottled, Running, Likely, false,
       "it is slow because its cgroup lets it have 0.02 CPUs",
       [](auto& system) {
         computes(system);
         throttle(system, 0.9);
       }},
      {"is_throttled_a_little", CauseId::Runs, Running, Likely, false, "runs",
       [](auto& system) {
         computes(system);
         throttle(system, 0.2);
       }},
      {"sleeps_and_is_throttled", CauseId::Sleeps, Idle, Certain, false, "",
       [](auto& system) {
         sleeps(system);
         throttle(system, 0.9);
       }},
      // ---- descriptors, disks, processes: a thread that retries
      {"polls_without_a_descriptor", CauseId::DescriptorsUsedUp, Blocked,
       Likely, true, "has all its 64 descriptors open: it polls",
       [](auto& system) {
         polls(system);
         allow_descriptors(system, 64);
       }},
      {"polls_with_one_descriptor_left", CauseId::Polls, Polling, Certain,
       false, "",
       [](auto& system) {
         polls(system);
         allow_descriptors(system, 63);
       }},
      {"accepts_and_nobody_waits", CauseId::Idle, Idle, Likely, false, "",
       [](auto& system) {
         system.python(kOne).sleeps_in(SYS_accept4, {5}, own_frames());
         allow_descriptors(system, 64);
       }},
      {"sleeps_without_a_descriptor", CauseId::Sleeps, Idle, Certain, false, "",
       [](auto& system) {
         sleeps(system);
         allow_descriptors(system, 64);
       }},
      {"polls_and_its_disk_is_full", CauseId::DiskFull, Blocked, Likely, true,
       "finds no room on /scratch, which is full: it polls",
       [](auto& system) {
         polls(system);
         fill_disk(system, "fd 5, /scratch/log");
       }},
      {"polls_and_another_disk_is_full", CauseId::Polls, Polling, Certain,
       false, "",
       [](auto& system) {
         polls(system);
         fill_disk(system, "");
       }},
      {"polls_and_shared_memory_is_full", CauseId::DiskFull, Blocked, Likely,
       true, "finds no room on /dev/shm",
       [](auto& system) {
         polls(system);
         fill_disk(system, "");
         system.surroundings.file_systems[0].point = "/dev/shm";
       }},
      {"sleeps_and_its_disk_is_full", CauseId::Sleeps, Idle, Certain, false, "",
       [](auto& system) {
         sleeps(system);
         fill_disk(system, "fd 5, /scratch/log");
       }},
      {"polls_and_may_begin_no_thread", CauseId::ProcessLimit, Blocked, Likely,
       true, "its cgroup has all 3 that it may have",
       [](auto& system) {
         polls(system);
         allow_threads(system, 3);
       }},
      {"polls_and_may_begin_a_thread", CauseId::Polls, Polling, Certain, false,
       "",
       [](auto& system) {
         polls(system);
         allow_threads(system, 2);
       }},
      {"polls_and_its_user_has_all_threads", CauseId::ProcessLimit, Blocked,
       Likely, true, "its user has all 5 that he may have",
       [](auto& system) {
         polls(system);
         system.surroundings.limits.at_most.processes = 5;
         system.surroundings.limits.user_threads = 5;
       }},
      // ---- killed processes
      {"its_writer_was_killed", CauseId::WriterGone, Stuck, Certain, true,
       "the kernel has killed process 99 (worker), as there was no memory left",
       [](auto& system) {
         in_state(system, 'S');
         system.at(kOne).open_pipe(5, 41);
         system.surroundings.kernel_events = {
             {.kind = KernelEvent::Kind::KilledForMemory,
              .pid = 99,
              .name = "worker"}};
       }},
      {"its_cgroup_has_killed", CauseId::WriterGone, Stuck, Certain, true,
       "the kernel has killed in its cgroup",
       [](auto& system) {
         in_state(system, 'S');
         system.at(kOne).open_pipe(5, 41);
         system.surroundings.cgroup.memory = memory_of_16_mib();
         system.surroundings.cgroup.memory->oom_kills = 1;
       }},
      {"nobody_was_killed", CauseId::WriterGone, Stuck, Certain, true,
       "no other process has it open",
       [](auto& system) {
         in_state(system, 'S');
         system.at(kOne).open_pipe(5, 41);
         system.surroundings.kernel_events = {
             {.kind = KernelEvent::Kind::GpuError, .pid = 99}};
       }},
  };
  return kCases;
}

INSTANTIATE_MADE_UP(Around, around_cases);

namespace {

// Waiting connections are counted by the descriptors that are really open.
TEST(Causes, NoDescriptorIsLeftToAccept) {
  const int pid = ::getpid();
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  struct stat is {};
  ASSERT_EQ(::fstat(socket.get(), &is), 0);
  for (const bool waits : {true, false}) {
    MadeUpSystem system;
    system.tcp[is.st_ino] = {.state = TcpState::Listen,
                             .unread = waits ? 1U : 0U};
    system.python(pid).sleeps_in(SYS_accept4, {5}, own_frames());
    allow_descriptors(system, 64);
    const Cause cause = cause_of(system, pid);
    EXPECT_EQ(cause.id, waits ? CauseId::DescriptorsUsedUp : CauseId::Idle);
    EXPECT_EQ(cause.progress, waits ? Progress::Stuck : Progress::Idle);
    if (waits) {
      EXPECT_EQ(cause.confidence, Confidence::Certain);
      EXPECT_THAT(cause.summary,
                  HasSubstr("all its 64 descriptors open, so that 1 connection "
                            "is not accepted"));
    }
  }
}

TEST(Causes, WhatToTypeOfOneThatIsStopped) {
  MadeUpSystem system;
  in_state(system, 'T');
  EXPECT_EQ(cause_of(system, kOne).next.front().command, "kill -CONT 99999901");
  system.at(kOne).files[5] = {.fd = 5, .name = "/dev/tty"};
  EXPECT_EQ(cause_of(system, kOne).next.front().command, "fg");
}

TEST(Causes, WhatIsUnusualIsSaidOfWhomeverItKeeps) {
  MadeUpSystem system;
  computes(system);
  throttle(system, 0.9);
  EXPECT_THAT(diagnose(system, kOne, 10)->around,
              Contains(HasSubstr("cgroup: CPU throttled in ")));
}

}  // namespace
}  // namespace hangdbg
