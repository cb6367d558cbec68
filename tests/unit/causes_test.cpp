// The rules of the diagnosis, on processes that are made up: which cause, who
// is behind it, whether that is a hang. That real programs hang so is seen by
// tests/integration/test_diagnose*.py.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <filesystem>
#include <fstream>

#include "diagnosis/causes/rules.h"
#include "diagnosis/diagnose.h"
#include "tests/unit/made_up.h"

namespace hangdbg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Of no process that is here.
constexpr int kOne = 99999901;
constexpr int kOther = 99999902;
constexpr std::uint64_t kPipe = 41;
constexpr std::uint64_t kSocket = 42;

PythonFrame frame(const std::string& file,
                  const std::string& function,
                  int line = 12) {
  return {
      .function = function, .qualname = function, .file = file, .line = line};
}

std::vector<PythonFrame> own_frames() {
  return {frame("/home/ada/train.py", "load")};
}

Cause cause_of(MadeUpWorld& world, int pid) {
  const ProcessSnapshot* const of = world.snapshot(pid);
  return hangdbg::cause_of(*of, of->threads.front());
}

// ---- pipes

TEST(Causes, APipeThatNobodyWritesInto) {
  MadeUpWorld world;
  auto& one = world.process(kOne).python();
  one.sleeps_in(SYS_read, {5}, own_frames());
  one.open_pipe(5, kPipe);
  world.ends = {{.pid = kOne, .fd = 5, .inode = kPipe, .reads = true}};
  const Cause cause = cause_of(world, kOne);
  EXPECT_EQ(cause.id, CauseId::WriterGone);
  EXPECT_EQ(cause.progress, Progress::Stuck);
  EXPECT_EQ(cause.confidence, Confidence::Certain);
  EXPECT_TRUE(diagnose(world, kOne, 1000)->hung) << "at once";
}

TEST(Causes, APipeIntoWhichAnotherWrites) {
  MadeUpWorld world;
  auto& one = world.process(kOne).python();
  one.sleeps_in(SYS_read, {5}, own_frames());
  one.open_pipe(5, kPipe);
  world.process(kOther).sleeps_in(SYS_clock_nanosleep, {});
  world.ends = {{.pid = kOther, .fd = 1, .inode = kPipe, .writes = true}};
  const Cause cause = cause_of(world, kOne);
  EXPECT_EQ(cause.id, CauseId::PipeRead);
  EXPECT_THAT(cause.blocked_by, ElementsAre(ThreadId{kOther, kOther}));
}

TEST(Causes, AParentThatWaitsForAChildThatWritesToIt) {
  MadeUpWorld world;
  auto& parent = world.process(kOne).python();
  parent.sleeps_in(SYS_wait4, {static_cast<std::uint64_t>(kOther)},
                   own_frames());
  world.parents = {{kOne, kOther}};
  auto& child = world.process(kOther);
  child.sleeps_in(SYS_write, {1});
  child.open_pipe(1, kPipe);
  world.ends = {{.pid = kOne, .fd = 4, .inode = kPipe, .reads = true},
                {.pid = kOther, .fd = 1, .inode = kPipe, .writes = true}};
  for (const int pid : {kOne, kOther}) {
    const auto found = diagnose(world, pid, 1000);
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_TRUE(found->hung);
    EXPECT_EQ(found->cause.id, CauseId::SubprocessPipe);
    EXPECT_EQ(found->cycle, 2);
    EXPECT_EQ(found->chain.front().id.pid, pid);
  }
}

// ---- sockets

TEST(Causes, AUnixSocketWhoseOtherEndSleeps) {
  MadeUpWorld world;
  auto& one = world.process(kOne).python();
  one.sleeps_in(SYS_recvfrom, {5}, own_frames());
  one.open_socket(5, kSocket);
  world.process(kOther).sleeps_in(SYS_clock_nanosleep, {});
  world.peers[kSocket] = {kOther};
  const Cause cause = cause_of(world, kOne);
  EXPECT_EQ(cause.id, CauseId::PeerSilent);
  EXPECT_EQ(cause.confidence, Confidence::Likely);
  EXPECT_THAT(cause.blocked_by, ElementsAre(ThreadId{kOther, kOther}));
  world.peers[kSocket] = {kOne};
  EXPECT_THAT(cause_of(world, kOne).blocked_by, IsEmpty());
  EXPECT_EQ(cause_of(world, kOne).confidence, Confidence::Possible);
}

TEST(Causes, WhoExchangesMessagesIsNotInADeadlock) {
  MadeUpWorld world;
  for (const int pid : {kOne, kOther}) {
    auto& one = world.process(pid).python();
    auto& thread = one.sleeps_in(SYS_recvfrom, {5}, own_frames());
    thread.ran = true;
    one.open_socket(5, kSocket + static_cast<std::uint64_t>(pid));
    one.open_pipe(7, kPipe);
  }
  world.peers[kSocket + kOne] = {kOther};
  world.peers[kSocket + kOther] = {kOne};
  EXPECT_FALSE(diagnose(world, kOne, 10)->hung);
  world.process(kOne).python().sleeps_in(SYS_read, {7}, own_frames()).ran =
      true;
  EXPECT_FALSE(diagnose(world, kOne, 10)->hung);
}

// N workers that were forked with each other's ends still open.
TEST(Causes, AnyHolderOfTheOtherEndMaySend) {
  constexpr int kParent = 99999903;
  MadeUpWorld world;
  for (const int pid : {kOne, kOther}) {
    auto& one = world.process(pid).python();
    one.sleeps_in(SYS_recvfrom, {5}, own_frames());
    one.open_socket(5, kSocket + static_cast<std::uint64_t>(pid));
  }
  auto& parent = world.process(kParent).python();
  parent.sleeps_in(SYS_read, {}, own_frames()).wait.state = 'R';
  parent.threads.front().wait.call.running = true;
  world.peers[kSocket + kOne] = {kParent, kOther};
  world.peers[kSocket + kOther] = {kParent, kOne};
  EXPECT_FALSE(diagnose(world, kOne, 10)->hung) << "the parent works";
}

TEST(Causes, APeerThatCannotBeSeen) {
  MadeUpWorld world;
  auto& one = world.process(kOne).python();
  one.sleeps_in(SYS_recvfrom, {5}, own_frames());
  one.open_socket(5, kSocket);
  world.peers[kSocket] = {};
  EXPECT_FALSE(diagnose(world, kOne, 10)->hung);
  EXPECT_THAT(cause_of(world, kOne).summary, HasSubstr("not to be seen"));
}

TEST(Causes, AnEventLoopThatWakesItselfIsIdle) {
  MadeUpWorld world;
  auto& one = world.process(kOne).python();
  one.sleeps_in(SYS_epoll_wait, {6, 0, 0, ~0ULL},
                {frame("/usr/lib/python3.11/selectors.py", "select")});
  one.open_socket(5, kSocket);
  one.files[6] = {.fd = 6, .watches = {{.fd = 5, .events = 1}}};
  world.peers[kSocket] = {kOne};
  const Cause cause = cause_of(world, kOne);
  EXPECT_EQ(cause.progress, Progress::Idle) << cause.summary;
  EXPECT_FALSE(diagnose(world, kOne, 10)->hung);
}

TEST(Causes, ATcpPeer) {
  MadeUpWorld world;
  auto& one = world.process(kOne).python();
  one.sleeps_in(SYS_recvfrom, {5}, own_frames());
  one.open_socket(5, kSocket);
  world.tcp[kSocket] = {.state = TcpState::SynSent};
  EXPECT_EQ(cause_of(world, kOne).id, CauseId::PeerUnreachable);
  world.tcp[kSocket].state = TcpState::Established;
  EXPECT_EQ(cause_of(world, kOne).id, CauseId::PeerSilent);
  world.tcp[kSocket].unacknowledged = 10;
  EXPECT_EQ(cause_of(world, kOne).id, CauseId::PeerDoesNotRead);
  world.tcp[kSocket].retransmits = 3;
  EXPECT_EQ(cause_of(world, kOne).id, CauseId::PeerUnreachable);
}

TEST(Causes, AServerWaitsForWhoConnects) {
  MadeUpWorld world;
  auto& one = world.process(kOne).python();
  one.sleeps_in(SYS_epoll_wait, {6, 0, 0, ~0ULL},
                {frame("/usr/lib/python3.11/selectors.py", "select")});
  one.open_socket(5, kSocket);
  one.files[6] = {.fd = 6, .watches = {{.fd = 5, .events = 1}}};
  world.tcp[kSocket] = {.state = TcpState::Listen};
  EXPECT_EQ(cause_of(world, kOne).id, CauseId::Serves);
}

// ---- children, locks, time

TEST(Causes, AChildThatWorks) {
  MadeUpWorld world;
  auto& one = world.process(kOne).python();
  one.sleeps_in(SYS_wait4, {~0ULL}, own_frames());
  world.parents = {{kOne, kOther}};
  auto& child = world.process(kOther);
  child.sleeps_in(SYS_read, {}).wait.state = 'R';
  child.threads.front().wait.call.running = true;
  const auto found = diagnose(world, kOne, 10);
  EXPECT_FALSE(found->hung) << summary_line(*found);
  EXPECT_EQ(found->chain.front().cause.id, CauseId::Child);
}

TEST(Causes, AChildOfManyThreadsThatIsNoPython) {
  MadeUpWorld world;
  world.process(kOne).python().sleeps_in(SYS_wait4, {~0ULL}, own_frames());
  world.parents = {{kOne, kOther}};
  auto& java = world.process(kOther);
  java.sleeps_in(SYS_semtimedop, {});
  java.sleeps_in(SYS_semtimedop, {});
  EXPECT_FALSE(diagnose(world, kOne, 10)->hung);
}

TEST(Causes, AStoppedProcess) {
  MadeUpWorld world;
  auto& one = world.process(kOne).python();
  one.sleeps_in(SYS_read, {5}, own_frames()).wait.state = 'T';
  one.status.state = 'T';
  EXPECT_EQ(cause_of(world, kOne).id, CauseId::Stopped);
  EXPECT_TRUE(diagnose(world, kOne, 1000)->hung);
}

TEST(Causes, ASleep) {
  MadeUpWorld world;
  world.process(kOne).python().sleeps_in(SYS_clock_nanosleep, {}, own_frames());
  const Cause cause = cause_of(world, kOne);
  EXPECT_EQ(cause.id, CauseId::Sleeps);
  EXPECT_FALSE(diagnose(world, kOne, 10)->hung);
}

TEST(Causes, AWorkerOfAPoolHasNothingToDo) {
  MadeUpWorld world;
  world.process(kOne).python().sleeps_in(
      SYS_futex, {},
      {frame("/usr/lib/python3.11/concurrent/futures/thread.py", "_worker")});
  const Cause cause = cause_of(world, kOne);
  EXPECT_EQ(cause.id, CauseId::Idle);
  EXPECT_EQ(cause.progress, Progress::Idle);
}

TEST(Causes, WhatNoRuleKnows) {
  MadeUpWorld world;
  world.process(kOne).python().sleeps_in(SYS_semtimedop, {}, own_frames());
  const Cause cause = cause_of(world, kOne);
  EXPECT_EQ(cause.id, CauseId::Unknown);
  EXPECT_EQ(cause.confidence, Confidence::Possible);
  EXPECT_THAT(cause.summary, HasSubstr("train.py:12 in load"));
  EXPECT_THAT(cause.evidence.front(), HasSubstr("ruled out"));
}

TEST(Causes, ALockFile) {
  const std::string path =
      std::filesystem::temp_directory_path() / "made_up.lock";
  std::ofstream(path) << "";
  MadeUpWorld world;
  const int pid = ::getpid();  // in whose root the file is looked for
  auto& one = world.process(pid).python();
  one.sleeps_in(SYS_clock_nanosleep, {},
                {frame("/torch/utils/file_baton.py", "wait")});
  one.texts[{"wait", "self.lock_file_path"}] = path;
  EXPECT_EQ(cause_of(world, pid).id, CauseId::StaleLockFile);
  EXPECT_TRUE(diagnose(world, pid, 1000)->hung);
  std::ofstream has_it_open(path);
  EXPECT_EQ(cause_of(world, pid).id, CauseId::LockFile);
  std::filesystem::remove(path);
  EXPECT_NE(cause_of(world, pid).id, CauseId::StaleLockFile) << "it is gone";
}

}  // namespace
}  // namespace hangdbg
