// The rules of the diagnosis about locks of Python and of C code, on processes
// that are made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <csignal>

#include "diagnosis/diagnose.h"
#include "tests/unit/support/made_up_cases.h"

namespace hangdbg {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// The idents of made-up threads.
constexpr std::uint64_t kFirst = 7;
constexpr std::uint64_t kSecond = 8;
constexpr std::uint64_t kNobodys = 4711;

using Lock = MadeUpObjects::MadeUpLock;

// The thread waits for that lock, which its function has as `lock`.
ThreadSnapshot& waits_for(MadeUpProcess& one,
                          MadeUpSystem& system,
                          const Lock& lock,
                          std::vector<PythonFrame> frames = own_frames(),
                          std::uint64_t time = 0) {
  system.objects.give(frames.front(), {{"lock", lock.object}});
  return one.sleeps_in(SYS_futex,
                       {lock.word.value, FUTEX_WAIT_BITSET_PRIVATE, 0, time},
                       std::move(frames));
}

// A thread of the process that is in a `with` of it.
void has(MadeUpProcess& one, const ThreadSnapshot& thread, const Lock& lock) {
  one.held_locks[thread.id.tid] = {
      {.lock = {.object = lock.object, .kind = Kind::Lock, .locked = true},
       .frame = &thread.stack.frames.front()}};
}
// It holds none: nothing is read of its stack.
void has_none(MadeUpProcess& one) {
  for (const ThreadSnapshot& thread : one.threads) {
    one.held_locks.try_emplace(thread.id.tid);
  }
}

MadeUpProcess& alone(MadeUpSystem& system, std::uint64_t time = 0) {
  auto& one = system.python(kOne);
  waits_for(one, system, system.objects.lock(), own_frames(), time);
  has_none(one);
  return one;
}

// Beside another thread, which sleeps and holds the lock.
MadeUpProcess& behind_another(MadeUpSystem& system,
                              std::vector<PythonFrame> frames = own_frames()) {
  auto& one = system.python(kOne);
  const Lock lock = system.objects.lock();
  waits_for(one, system, lock, std::move(frames));
  one.sleeps_in(SYS_clock_nanosleep, {}, own_frames());
  has(one, one.threads[1], lock);
  has_none(one);
  return one;
}

MadeUpProcess& at_rlock_of(MadeUpSystem& system, std::uint64_t owner) {
  auto& one = system.python(kOne);
  waits_for(one, system, system.objects.rlock(owner, 2));
  one.sleeps_in(SYS_clock_nanosleep, {}, own_frames());
  has_none(one);
  return one;
}

MadeUpProcess& forked(MadeUpProcess& one) {
  one.status.ppid = one.parent = kOther;
  return one;
}

// struct __pthread_mutex_s of glibc, held, with waiters.
struct Mutex {
  std::int32_t lock = 2;
  std::uint32_t count = 0;
  std::int32_t owner = 0;
  std::uint32_t users = 1;
  std::int32_t kind = 0;
};

const int kPid = ::getpid();

// Main sleeps, and the other thread waits for the mutex.
MadeUpProcess& at_mutex(MadeUpSystem& system,
                        const Mutex& mutex,
                        int value = 2) {
  static Mutex memory;
  memory = mutex;
  auto& one = system.python(kPid);
  one.sleeps_in(SYS_clock_nanosleep, {}, own_frames());
  one.is_in(
      one.sleeps_in(SYS_futex,
                    {reinterpret_cast<std::uintptr_t>(&memory),
                     FUTEX_WAIT_PRIVATE, static_cast<std::uint64_t>(value)},
                    own_frames()),
      {"pthread_mutex_lock", "work"}, "libwork.so");
  return one;
}

}  // namespace

const std::vector<MadeUpCase>& lock_cases() {
  using enum Progress;
  using enum Confidence;
  static const std::vector<MadeUpCase> kCases = {
      // ---- a Lock that no thread can release
      {"a_lock_and_no_other_thread", CauseId::PythonLock, Stuck, Certain, true,
       "waits for the Lock `lock`, and no other thread is here",
       [](auto& system) { alone(system); }},
      {"a_handler_may_release_it", CauseId::PythonLock, Stuck, Likely, true, "",
       [](auto& system) {
         alone(system).status.signals_caught = 1ULL << (SIGUSR1 - 1);
       }},
      {"ctrl_c_does_not_release_it", CauseId::PythonLock, Stuck, Certain, true,
       "",
       [](auto& system) {
         alone(system).status.signals_caught = 1ULL << (SIGINT - 1);
       }},
      {"a_thread_of_c_may_release_it", CauseId::PythonLock, Stuck, Likely, true,
       "", [](auto& system) { alone(system).sleeps_in(SYS_futex, {}); }},
      {"a_lock_for_a_limited_time", CauseId::PythonLock, Blocked, Certain, true,
       "", [](auto& system) { alone(system, /*time=*/1); }},
      {"a_lock_across_fork", CauseId::ForkLock, Stuck, Likely, true,
       "perhaps it was held when process 99999902 forked",
       [](auto& system) { forked(alone(system)); }},
      {"a_lock_that_the_parent_has", CauseId::ForkLock, Stuck, Certain, true,
       "by a thread that is only there",
       [](auto& system) {
         auto& one = system.python(kOne);
         const Lock lock = system.objects.lock();
         waits_for(one, system, lock);
         has_none(forked(one));
         auto& parent = system.python(kOther);
         parent.sleeps_in(SYS_clock_nanosleep, {}, own_frames());
         has(parent, parent.threads[0], lock);
       }},
      // ---- a Lock with a holder
      {"a_lock_taken_twice", CauseId::Deadlock, Stuck, Certain, true,
       "already held by this thread (Lock is not reentrant)",
       [](auto& system) {
         auto& one = system.python(kOne);
         const Lock lock = system.objects.lock();
         has(one, waits_for(one, system, lock), lock);
       }},
      {"a_lock_of_another_thread", CauseId::PythonLock, Blocked, Certain, true,
       "waits for the Lock `lock`, held by thread 99999902",
       [](auto& system) { behind_another(system); }},
      {"a_lock_of_a_thread_at_work", CauseId::PythonLock, Blocked, Certain,
       false, "",
       [](auto& system) {
         auto& other = behind_another(system).threads[1];
         other.wait = {.state = 'R', .call = {.running = true}};
       }},
      {"a_lock_in_turns", CauseId::PythonLock, Running, Certain, false, "",
       [](auto& system) { behind_another(system).threads[0].ran = true; }},
      {"a_signal_is_no_turn", CauseId::PythonLock, Blocked, Certain, true, "",
       [](auto& system) {
         auto& one = behind_another(system);
         one.threads[0].ran = true;
         one.threads[0].places = {"train.py:12 in load"};
         one.status.signals_caught = 1ULL << (SIGUSR1 - 1);
       }},
      {"a_lock_without_a_record", CauseId::PythonLock, Blocked, Possible, true,
       "its owner is not recorded",
       [](auto& system) {
         auto& one = alone(system);
         one.sleeps_in(SYS_clock_nanosleep, {}, own_frames());
         has_none(one);
       }},
      {"a_lock_of_logging", CauseId::LoggingLock, Blocked, Certain, true,
       "waits for logging's lock, the Lock `lock`, held by thread",
       [](auto& system) {
         behind_another(system, called({{"logging/__init__.py", "acquire"}}));
       }},
      // ---- RLocks record their owner
      {"an_rlock_of_another_thread", CauseId::PythonLock, Blocked, Certain,
       true, "waits for the RLock `lock`, held by thread 99999902",
       [](auto& system) { at_rlock_of(system, kSecond); }},
      {"an_rlock_of_its_own", CauseId::PythonLock, Blocked, Certain, true,
       "held by process 99999901",
       [](auto& system) { at_rlock_of(system, kFirst); }},
      {"an_rlock_of_an_ended_thread", CauseId::LockOfEndedThread, Stuck,
       Certain, true, "the RLock `lock`, whose owner is no thread",
       [](auto& system) { at_rlock_of(system, kNobodys); }},
      {"an_rlock_across_fork", CauseId::ForkLock, Stuck, Likely, true,
       "perhaps it was held when process 99999902 forked",
       [](auto& system) { forked(at_rlock_of(system, kNobodys)); }},
      {"no_lock_that_its_frames_know", CauseId::NobodyLeft, Stuck, Likely, true,
       "waits for another thread, and no other thread is here",
       [](auto& system) {
         auto& one = system.python(kOne);
         auto frames = own_frames();
         system.objects.give(frames.front(),
                             {{"lock", system.objects.lock().object}});
         one.sleeps_in(
             SYS_futex,
             {system.objects.lock().word.value, FUTEX_WAIT_BITSET_PRIVATE},
             frames);
       }},
  };
  return kCases;
}

INSTANTIATE_MADE_UP(Locks, lock_cases);

namespace {

// ---- mutexes of C code: their owners' TIDs are searched in a live process,
// which is this one

TEST(Causes, AMutexOfAnotherThread) {
  MadeUpSystem system;
  auto& one = at_mutex(system, {.owner = kPid});
  EXPECT_EQ(cause_of(system, kPid, 1).id, CauseId::Mutex);
  const Cause cause = cause_of(system, kPid, 1);
  EXPECT_EQ(cause.progress, Progress::Blocked);
  EXPECT_EQ(cause.confidence, Confidence::Certain);
  EXPECT_THAT(cause.blocked_by, ElementsAre(ThreadId{kPid, kPid}));
  EXPECT_THAT(cause.summary, HasSubstr("a mutex of C code, held by process"));
  EXPECT_THAT(cause.evidence, Contains("in pthread_mutex_lock (libwork.so)"));
  one.threads[1].ran = true;
  EXPECT_EQ(cause_of(system, kPid, 1).progress, Progress::Running)
      << "in turns";
}

TEST(Causes, AMutexTakenTwice) {
  MadeUpSystem system;
  auto& one = at_mutex(system, {.owner = kPid});
  one.threads[0].wait = one.threads[1].wait;
  const auto found = diagnose(system, kPid, 1000);
  EXPECT_EQ(found->cause.id, CauseId::Deadlock);
  EXPECT_THAT(found->cause.summary,
              HasSubstr("itself: waits for a mutex of C code"));
  EXPECT_TRUE(found->stalled);
}

// Its own frames were read when it already held the lock.
TEST(Causes, AMutexOfAThreadThatHasGoneOn) {
  MadeUpSystem system;
  auto& one = at_mutex(system, {.owner = kPid});
  one.threads[0].wait = one.threads[1].wait;
  one.threads[0].wait.runs = {.times = 1};  // this thread has run more often
  const auto found = diagnose(system, kPid, 1000);
  EXPECT_EQ(found->state, Progress::Running);
  EXPECT_FALSE(found->stalled);
  EXPECT_THAT(found->cause.evidence, Contains(HasSubstr("has gone on")));
}

TEST(Causes, AMutexAndALockCrosswise) {
  MadeUpSystem system;
  auto& one = at_mutex(system, {.owner = kPid});
  const Lock lock = system.objects.lock();
  has(one, one.threads[1], lock);
  system.objects.give(one.threads[0].stack.frames.front(),
                      {{"lock", lock.object}});
  one.threads[0].wait.call = {
      .number = SYS_futex,
      .args = {lock.word.value, FUTEX_WAIT_BITSET_PRIVATE}};
  one.threads[0].wait.syscall = "futex";
  has_none(one);
  const auto found = diagnose(system, kPid, 1000);
  EXPECT_EQ(found->cause.id, CauseId::Deadlock);
  EXPECT_EQ(found->cause.confidence, Confidence::Certain);
  EXPECT_EQ(found->cycle, 2);
}

TEST(Causes, AMutexOfAThreadThatHasEnded) {
  MadeUpSystem system;
  auto& one = at_mutex(system, {.owner = kThird});
  EXPECT_EQ(cause_of(system, kPid, 1).id, CauseId::LockOfEndedThread);
  EXPECT_EQ(cause_of(system, kPid, 1).progress, Progress::Stuck);
  forked(one);
  EXPECT_EQ(cause_of(system, kPid, 1).id, CauseId::ForkLock);
  EXPECT_THAT(cause_of(system, kPid, 1).summary,
              HasSubstr("thread 99999903 of process 99999902 had when"));
}

TEST(Causes, WhatIsNoMutex) {
  const Mutex kNone[] = {
      {.owner = 0}, {.owner = kPid, .users = 0}, {.owner = kPid, .kind = -1}};
  for (const Mutex& one : kNone) {
    MadeUpSystem system;
    at_mutex(system, one);
    EXPECT_EQ(cause_of(system, kPid, 1).id, CauseId::Unknown);
  }
  MadeUpSystem system;
  at_mutex(system, {.owner = kPid}, /*value=*/1);
  EXPECT_EQ(cause_of(system, kPid, 1).id, CauseId::Unknown) << "not held";
}

// ---- in deadlock cycles, ...

// ... and at the root of a chain.
TEST(Causes, ALockOfAThreadThatReadsAPipe) {
  MadeUpSystem system;
  auto& reads = behind_another(system).threads[1];
  reads.wait.call = {.number = SYS_read, .args = {5}};
  reads.wait.syscall = "read";
  system.at(kOne).open_pipe(5, 41);
  const auto found = diagnose(system, kOne, 10);
  EXPECT_TRUE(found->stalled);
  EXPECT_EQ(found->chain.front().cause.id, CauseId::PythonLock);
  EXPECT_EQ(found->cause.id, CauseId::PipeRead);
  EXPECT_EQ(found->cause.confidence, Confidence::Possible);
}

TEST(Causes, LocksCrosswise) {
  for (const bool rlocks : {false, true}) {
    MadeUpSystem system;
    auto& one = system.python(kOne);
    const Lock a =
        rlocks ? system.objects.rlock(kSecond) : system.objects.lock();
    const Lock b =
        rlocks ? system.objects.rlock(kFirst) : system.objects.lock();
    waits_for(one, system, a);
    waits_for(one, system, b);
    if (!rlocks) {
      has(one, one.threads[0], b);
      has(one, one.threads[1], a);
    }
    has_none(one);
    const auto found = diagnose(system, kOne, 1000);
    EXPECT_TRUE(found->stalled);
    EXPECT_EQ(found->cause.id, CauseId::Deadlock);
    EXPECT_EQ(found->cycle, 2);
    EXPECT_EQ(found->cause.confidence, Confidence::Certain);
    EXPECT_THAT(found->cause.summary,
                HasSubstr("2 threads wait for each other"));
  }
}

// One of them may release the lock at its timeout.
TEST(Causes, LocksCrosswiseOneWithATimeLimit) {
  MadeUpSystem system;
  auto& one = system.python(kOne);
  const Lock a = system.objects.lock();
  const Lock b = system.objects.lock();
  waits_for(one, system, a);
  waits_for(one, system, b);
  has(one, one.threads[0], b);
  has(one, one.threads[1], a);
  has_none(one);
  const timespec until{.tv_sec = 1000};
  one.threads[1].wait.call.args[3] = reinterpret_cast<std::uintptr_t>(&until);
  const auto found = diagnose(system, kOne, 1000);
  EXPECT_EQ(found->cause.id, CauseId::Deadlock);
  EXPECT_EQ(found->cycle, 2);
  EXPECT_EQ(found->state, Progress::Blocked);
  EXPECT_THAT(found->cause.evidence,
              Contains(HasSubstr("this wait has a time limit")));
  EXPECT_THAT(summary_line(*found), Not(HasSubstr("hangs")));
}

}  // namespace
}  // namespace hangdbg
