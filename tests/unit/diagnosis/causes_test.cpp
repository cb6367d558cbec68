// The diagnosis on processes that are made up: each row of causes_*_test.cpp,
// and wait chains between several. tests/integration/verdicts/test_diagnose*.py
// checks real programs.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <filesystem>
#include <fstream>

#include "diagnosis/diagnose.h"
#include "tests/unit/support/made_up_cases.h"

namespace hangdbg {

std::vector<MadeUpCase> made_up_cases() {
  std::vector<MadeUpCase> all;
  for (const auto* const of :
       {&file_cases(), &pipe_cases(), &polled_cases(), &socket_cases(),
        &peer_cases(), &lock_cases(), &library_wait_cases(), &process_cases(),
        &native_cases(), &around_cases(), &time_cases(), &timed_cases(),
        &inside_cases(), &sampled_cases()}) {
    all.insert(all.end(), of->begin(), of->end());
  }
  return all;
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kPipe = 41;
constexpr std::uint64_t kSocket = 42;

TEST_P(MadeUpCauses, IsNamed) {
  const MadeUpCase& expected = GetParam();
  MadeUpSystem system;
  expected.make(system);
  const Cause cause = cause_of(system, kOne);
  EXPECT_EQ(cause_name(cause.id), cause_name(expected.id)) << cause.summary;
  EXPECT_EQ(progress_name(cause.progress), progress_name(expected.progress));
  EXPECT_EQ(confidence_name(cause.confidence),
            confidence_name(expected.confidence));
  EXPECT_THAT(cause.summary, HasSubstr(expected.says));
  EXPECT_FALSE(cause.evidence.empty());
  const auto found = diagnose(system, kOne, 10);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->stalled, expected.stalled) << summary_line(*found);
}

// ---- wait chains

TEST(Causes, AParentThatWaitsForAChildThatWritesToIt) {
  MadeUpSystem system;
  auto& parent = system.process(kOne).python();
  parent.sleeps_in(SYS_wait4, {static_cast<std::uint64_t>(kOther)},
                   own_frames());
  system.parents = {{kOne, kOther}};
  auto& child = system.process(kOther);
  child.sleeps_in(SYS_write, {1});
  child.open_pipe(1, kPipe);
  system.ends = {{.pid = kOne, .fd = 4, .inode = kPipe, .reads = true},
                 {.pid = kOther, .fd = 1, .inode = kPipe, .writes = true}};
  for (const int pid : {kOne, kOther}) {
    const auto found = diagnose(system, pid, 1000);
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_TRUE(found->stalled);
    EXPECT_EQ(found->cause.id, CauseId::SubprocessPipe);
    EXPECT_EQ(found->cycle, 2);
    EXPECT_EQ(found->chain.front().id.pid, pid);
  }
}

TEST(Causes, WhoExchangesMessagesIsNotInADeadlock) {
  MadeUpSystem system;
  for (const int pid : {kOne, kOther}) {
    auto& one = system.process(pid).python();
    auto& thread = one.sleeps_in(SYS_recvfrom, {5}, own_frames());
    thread.ran = true;
    one.open_socket(5, kSocket + static_cast<std::uint64_t>(pid));
    one.open_pipe(7, kPipe);
  }
  system.peers[kSocket + kOne] = {kOther};
  system.peers[kSocket + kOther] = {kOne};
  EXPECT_FALSE(diagnose(system, kOne, 10)->stalled);
  system.process(kOne).python().sleeps_in(SYS_read, {7}, own_frames()).ran =
      true;
  EXPECT_FALSE(diagnose(system, kOne, 10)->stalled);
}

// It has sent something before the other began to wait.
TEST(Causes, WhereOneHasGotOnThereIsNoCircle) {
  MadeUpSystem system;
  for (const int pid : {kOne, kOther}) {
    auto& one = system.process(pid).python();
    one.sleeps_in(SYS_recvfrom, {5}, own_frames()).ran = pid == kOne;
    one.open_socket(5, kSocket + static_cast<std::uint64_t>(pid));
  }
  system.peers[kSocket + kOne] = {kOther};
  system.peers[kSocket + kOther] = {kOne};
  for (const int pid : {kOne, kOther}) {
    const auto found = diagnose(system, pid, 10);
    EXPECT_TRUE(found->turns);
    EXPECT_EQ(found->cycle, 0);
    EXPECT_FALSE(found->stalled);
  }
}

// N workers that were forked with each other's ends still open.
TEST(Causes, AnyHolderOfTheOtherEndMaySend) {
  constexpr int kParent = 99999903;
  MadeUpSystem system;
  for (const int pid : {kOne, kOther}) {
    auto& one = system.process(pid).python();
    one.sleeps_in(SYS_recvfrom, {5}, own_frames());
    one.open_socket(5, kSocket + static_cast<std::uint64_t>(pid));
  }
  auto& parent = system.process(kParent).python();
  parent.sleeps_in(SYS_read, {}, own_frames()).wait.state = 'R';
  parent.threads.front().wait.call.running = true;
  system.peers[kSocket + kOne] = {kParent, kOther};
  system.peers[kSocket + kOther] = {kParent, kOne};
  EXPECT_FALSE(diagnose(system, kOne, 10)->stalled) << "the parent works";
}

TEST(Causes, WhatNoRuleKnows) {
  MadeUpSystem system;
  system.process(kOne).python().sleeps_in(SYS_semtimedop, {}, own_frames());
  const Cause cause = cause_of(system, kOne);
  EXPECT_EQ(cause.id, CauseId::Unknown);
  EXPECT_EQ(cause.confidence, Confidence::Possible);
  EXPECT_THAT(cause.summary, HasSubstr("train.py:12 in load"));
  EXPECT_THAT(cause.evidence.front(), HasSubstr("ruled out"));
}

TEST(Causes, ALockFile) {
  const std::string path =
      std::filesystem::temp_directory_path() / "made_up.lock";
  std::ofstream(path) << "";
  MadeUpSystem system;
  const int pid = ::getpid();  // the file is searched in its root
  auto& one = system.process(pid).python();
  one.sleeps_in(SYS_clock_nanosleep, {},
                {frame("/torch/utils/file_baton.py", "wait")});
  one.texts[{"wait", "self.lock_file_path"}] = path;
  EXPECT_EQ(cause_of(system, pid).id, CauseId::StaleLockFile);
  EXPECT_TRUE(diagnose(system, pid, 1000)->stalled);
  std::ofstream has_it_open(path);
  EXPECT_EQ(cause_of(system, pid).id, CauseId::LockFile);
  std::filesystem::remove(path);
  EXPECT_NE(cause_of(system, pid).id, CauseId::StaleLockFile) << "it is gone";
}

}  // namespace
}  // namespace hangdbg
