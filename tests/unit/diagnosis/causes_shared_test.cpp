// The rule of the diagnosis about locks that processes share: a made-up thread
// of this process waits for one in memory that its real children share, since
// the kernel is queried for the sharers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <csignal>

#include "diagnosis/diagnose.h"
#include "tests/unit/support/made_up_cases.h"
#include "tests/unit/support/processes.h"

namespace hangdbg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kFirst = 7;  // the ident of the made-up thread
constexpr int kOfLock = 1;           // the most that its semaphore counts

class CausesShared : public testing::Test {
 public:
  CausesShared() {
    semaphore_ = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    handle = Address{reinterpret_cast<std::uintptr_t>(semaphore_)};
  }
  ~CausesShared() override { ::munmap(semaphore_, 4096); }

  // Waits for that object's semaphore, for a limited time or not.
  ThreadSnapshot& waits_for(Address object,
                            std::uint64_t time = 0,
                            std::vector<PythonFrame> frames = own_frames()) {
    auto& one = system.python(pid);
    one.status.ppid = kThird;
    system.objects.give(frames.front(), {{"lock", object}});
    return one.sleeps_in(SYS_futex, {handle.value, FUTEX_WAIT, 0, time},
                         std::move(frames));
  }

  // A child of this process, which has the object `count` times, and as the
  // diagnosis sees it sleeps.
  MadeUpProcess& shared_with(const Child& child) {
    system.parents.emplace(pid, child.pid());
    auto& other = system.process(child.pid());
    other.sleeps_in(SYS_clock_nanosleep, {});
    system.at(pid).parent = child.pid();  // it is one fork's memory
    return other;
  }

  const int pid = ::getpid();
  Address handle;
  MadeUpSystem system;

 private:
  void* semaphore_;
};

// A child that pauses once its memory has that count in the object.
class Holder {
 public:
  Holder(Address object, int count)
      : child_([&] {
          // SemLockObject: handle, last_tid, count
          std::memcpy(reinterpret_cast<void*>(object.value + 16 + 16), &count,
                      sizeof count);
          send(ready_.write, 'x');
          ::pause();
        }) {
    EXPECT_TRUE(receive<char>(ready_.read));
  }
  const Child& child() const { return child_; }

 private:
  Pipe ready_;
  Child child_;
};

TEST_F(CausesShared, ALockOfAnotherProcess) {
  const Address lock = system.objects.semlock(handle, 0, kOfLock);
  waits_for(lock);
  const Holder holder(lock, 1);
  shared_with(holder.child());
  const Cause cause = cause_of(system, pid);
  EXPECT_EQ(cause.id, CauseId::SharedLock);
  EXPECT_EQ(cause.progress, Progress::Blocked);
  EXPECT_EQ(cause.confidence, Confidence::Certain);
  EXPECT_TRUE(cause.blocks_others);
  EXPECT_THAT(cause.blocked_by, ElementsAre(ThreadId{holder.child().pid(),
                                                     holder.child().pid()}));
}

TEST_F(CausesShared, ALockWhoseHolderHasEnded) {
  const Address lock = system.objects.semlock(handle, 0, kOfLock);
  waits_for(lock);
  const Holder holder(lock, 0);
  shared_with(holder.child());
  const Cause cause = cause_of(system, pid);
  EXPECT_EQ(cause.id, CauseId::LockOfDeadProcess);
  EXPECT_EQ(cause.progress, Progress::Stuck);
  EXPECT_THAT(cause.summary, HasSubstr("who had it has ended"));
}

TEST_F(CausesShared, ALockOfWhichNotAllIsTold) {
  const Address lock = system.objects.semlock(handle, 0, kOfLock);
  waits_for(lock);
  const Holder holder(lock, 0);
  shared_with(holder.child());
  system.at(pid).parent = 0;  // not forked: no object is found there
  const Cause cause = cause_of(system, pid);
  EXPECT_EQ(cause.id, CauseId::SharedLock);
  EXPECT_THAT(cause.blocked_by, IsEmpty());
}

TEST_F(CausesShared, ALockThatItHasItself) {
  waits_for(system.objects.semlock(handle, 1, kOfLock, kFirst));
  EXPECT_EQ(cause_of(system, pid).id, CauseId::Deadlock);
  EXPECT_EQ(cause_of(system, pid).progress, Progress::Stuck);
  waits_for(system.objects.semlock(handle, 1, kOfLock, kFirst + 1));
  EXPECT_THAT(cause_of(system, pid).summary,
              HasSubstr("held by a thread that has ended of this process"));
  auto& one = system.at(pid);
  one.sleeps_in(SYS_clock_nanosleep, {}, own_frames());
  EXPECT_THAT(cause_of(system, pid).blocked_by, ElementsAre(one.threads[1].id));
}

TEST_F(CausesShared, WhatIsWaitedForUntilAnotherProcessDoesSomething) {
  waits_for(system.objects.semlock(handle, 0, 1 << 20));
  const Holder holder({handle}, 0);
  auto& other = shared_with(holder.child());
  Cause cause = cause_of(system, pid);
  EXPECT_EQ(cause.id, CauseId::SharedWait);
  EXPECT_EQ(cause.progress, Progress::Blocked);
  EXPECT_EQ(cause.confidence, Confidence::Possible);
  EXPECT_THAT(cause.summary, HasSubstr("acquire() of a Semaphore"));
  EXPECT_THAT(cause.blocked_by, ElementsAre(other.threads.front().id));
  EXPECT_FALSE(diagnose(system, pid, 10)->stalled) << "the other one naps";
  // A waiter for the same cannot end it.
  other.threads.front().wait = system.at(pid).threads.front().wait;
  EXPECT_THAT(cause_of(system, pid).blocked_by, IsEmpty());
  // A thread of that process that computes may.
  other.python().sleeps_in(SYS_read, {}, own_frames()).wait.state = 'R';
  EXPECT_THAT(cause_of(system, pid).blocked_by,
              ElementsAre(other.threads.back().id));
  EXPECT_FALSE(diagnose(system, pid, 10)->stalled) << "it computes";
  system.at(pid).threads.front().ran = true;
  EXPECT_EQ(cause_of(system, pid).progress, Progress::Running);
}

TEST_F(CausesShared, ByWhatIsCalled) {
  const Address many = system.objects.semlock(handle, 0, 1 << 20);
  const std::string kFile = "multiprocessing/synchronize.py";
  waits_for(many, 0, called({{"multiprocessing/queues.py", "put"}}));
  EXPECT_THAT(cause_of(system, pid).summary,
              HasSubstr("put() of a full queue"));
  waits_for(many, 0, called({{kFile, "wait"}}));
  EXPECT_THAT(cause_of(system, pid).summary,
              HasSubstr("wait() of a Condition"));
  waits_for(many, 0, called({{kFile, "wait"}, {kFile, "wait"}}));
  EXPECT_THAT(cause_of(system, pid).summary, HasSubstr("wait() of an Event"));
  waits_for(many, /*time=*/1, called({{kFile, "wait"}, {kFile, "wait"}}));
  EXPECT_EQ(cause_of(system, pid).id, CauseId::Sleeps);
  EXPECT_EQ(cause_of(system, pid).progress, Progress::Idle);
}

TEST_F(CausesShared, TheRoomInAQueueOfOneIsNoLock) {
  auto frames = called({{"multiprocessing/queues.py", "put"}});
  frames.front().function = "put";
  const Address room = system.objects.semlock(handle, 0, kOfLock);
  const Address bounded = system.objects.of_class("BoundedSemaphore");
  waits_for(bounded, 0, frames);
  auto& one = system.at(pid);
  one.objects[{"put", "lock._semlock"}] = room;
  one.objects[{"put", "lock"}] = bounded;
  EXPECT_EQ(cause_of(system, pid).id, CauseId::NobodyLeft);
  const Holder holder({handle}, 0);
  shared_with(holder.child());
  EXPECT_EQ(cause_of(system, pid).id, CauseId::SharedWait);
}

TEST_F(CausesShared, WhatNobodyIsLeftToDo) {
  const Address event = system.objects.semlock(handle, 0, 1 << 20);
  waits_for(event);
  Cause cause = cause_of(system, pid);
  EXPECT_EQ(cause.id, CauseId::NobodyLeft);
  EXPECT_EQ(cause.progress, Progress::Stuck);
  EXPECT_EQ(cause.confidence, Confidence::Likely);
  EXPECT_THAT(cause.summary, HasSubstr("no other process is left"));
  // One that shares it, and waits for it, too.
  const Holder holder({handle}, 0);
  auto& other = shared_with(holder.child()).python();
  other.threads.clear();
  other.sleeps_in(SYS_futex, {handle.value, FUTEX_WAIT}, own_frames());
  cause = cause_of(system, pid);
  EXPECT_EQ(cause.id, CauseId::NobodyLeft);
  EXPECT_THAT(cause.summary, HasSubstr("all processes that share it wait"));
  other.threads.front().ran = true;
  EXPECT_EQ(cause_of(system, pid).id, CauseId::SharedWait);
  other.threads.front().ran = false;
  // One that has another parent by now, and may end the wait.
  const Holder orphan({handle}, 0);
  system.parents.emplace(1, orphan.child().pid());
  EXPECT_EQ(cause_of(system, pid).id, CauseId::SharedWait);
  system.parents.erase(1);
  // So may a thread here set it, or a handler.
  system.at(pid).status.signals_caught = 1 << 14;
  EXPECT_EQ(cause_of(system, pid).id, CauseId::SharedWait);
}

// Another process may wake it: its wait is not for a thread lost in a fork.
TEST_F(CausesShared, ALibrarysOwnAfterAFork) {
  const ThreadSnapshot& thread =
      waits_for(system.objects.semlock(handle, 0, 1 << 20));
  auto& one = system.at(pid);
  one.parent = kThird;
  one.is_in(thread, {"sem_wait"}, "libc.so.6");
  one.is_in(thread, {"acquire"}, "posix_ipc.so");
  one.loads("/usr/lib/python3/site-packages/posix_ipc.so");
  EXPECT_EQ(cause_of(system, pid).id, CauseId::SharedWait);
}

TEST_F(CausesShared, AnUnknownObject) {
  waits_for(system.objects.of_class("Unknown"));
  const Cause cause = cause_of(system, pid);
  EXPECT_EQ(cause.id, CauseId::SharedLock);
  EXPECT_EQ(cause.confidence, Confidence::Likely);
  EXPECT_EQ(cause.progress, Progress::Blocked);
}

TEST_F(CausesShared, AWorkerAtAQueueWhoseLockDiedWithAnother) {
  auto frames = called({{"multiprocessing/synchronize.py", "__enter__"},
                        {"multiprocessing/queues.py", "get"},
                        {"multiprocessing/pool.py", "worker"}});
  waits_for(system.objects.semlock(handle, 0, kOfLock), 0, frames);
  EXPECT_EQ(cause_of(system, pid).id, CauseId::LockOfDeadProcess);
}

}  // namespace
}  // namespace hangdbg
