// TracedThread on real children: a stop leaves nothing behind in them.
#include "tracee/ptrace/traced_thread.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>

#include <chrono>

#include "tests/unit/support/processes.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr long kRestartNoHand = -514;
constexpr long kRestartRestartBlock = -516;

struct Slept {
  long result = -1;
  std::chrono::nanoseconds time{};
};

void wait_in_pause() {
  for (;;) {
    ::pause();
  }
}

bool waits_in_pause(const Child& child) {
  return sleeps_in(child.pid(), child.pid(), "pause");
}

// The kernel shows the state of a child sooner or later.
template <class Condition>
bool comes_true(const Child& child, const Condition& condition) {
  for (const auto deadline = patience(); !deadline.expired();) {
    const auto status = read_status(child.pid());
    if (status && condition(*status)) {
      return true;
    }
    ::usleep(1000);
  }
  return false;
}

// A detached thread must run for a moment to fall asleep, or to stop, again.
bool is_left_alone(const Child& child, char state) {
  return comes_true(child, [state](const ProcStatus& status) {
    return status.state == state && status.tracer_pid == 0;
  });
}

TEST(TracedThread, ATimedSleepEndsOnTime) {
  constexpr auto kSleep = milliseconds(150);
  Pipe pipe;
  const Child child([&] {
    const timespec time{0, std::chrono::nanoseconds(kSleep).count()};
    const auto start = steady_clock::now();
    const long result = ::syscall(SYS_nanosleep, &time, nullptr);
    send(pipe.write, Slept{result, steady_clock::now() - start});
  });
  ASSERT_TRUE(sleeps_in(child.pid(), child.pid(), "nanosleep"));
  for (int round = 0; round < 3; ++round) {
    auto thread = TracedThread::seize(child.pid());
    ASSERT_TRUE(thread) << thread.error().text();
    EXPECT_FALSE(thread->stopped());
    const auto stopped = thread->interrupt(patience());
    ASSERT_TRUE(stopped) << stopped.error().text();
    EXPECT_TRUE(thread->stopped());
    const auto registers = thread->registers();
    ASSERT_TRUE(registers) << registers.error().text();
    // On a busy machine it may not have run since the last round.
    const bool about_to_restart = registers->raw.rax == SYS_restart_syscall;
    if (registers->in_syscall() && registers->syscall_number() != SYS_write &&
        !about_to_restart) {
      EXPECT_EQ(static_cast<long>(registers->raw.rax), kRestartRestartBlock);
      EXPECT_EQ(resume_point(*registers).rax, SYS_restart_syscall);
    }
    const auto detached = thread->detach();
    ASSERT_TRUE(detached) << detached.error().text();
  }
  const auto slept = receive<Slept>(pipe.read);
  ASSERT_TRUE(slept);
  EXPECT_EQ(slept->result, 0);
  EXPECT_GE(slept->time, kSleep);
  // Restarted from the beginning, it would take the whole time again.
  EXPECT_LT(slept->time, 2 * kSleep);
}

TEST(TracedThread, AnEndlessWaitGoesOn) {
  const Child child(wait_in_pause);
  ASSERT_TRUE(waits_in_pause(child));
  auto thread = TracedThread::seize(child.pid());
  ASSERT_TRUE(thread) << thread.error().text();
  ASSERT_TRUE(thread->interrupt(patience()));
  EXPECT_EQ(read_status(child.pid())->state, 't');
  EXPECT_EQ(read_status(child.pid())->tracer_pid, ::getpid());
  const auto registers = thread->registers();
  ASSERT_TRUE(registers) << registers.error().text();
  EXPECT_TRUE(registers->in_syscall());
  EXPECT_EQ(registers->syscall_number(), SYS_pause);
  EXPECT_EQ(static_cast<long>(registers->raw.rax), kRestartNoHand);
  ASSERT_TRUE(thread->detach());
  EXPECT_TRUE(is_left_alone(child, 'S'));
  EXPECT_TRUE(waits_in_pause(child));
}

TEST(TracedThread, AllStateGoesBackAsItCame) {
  const Child child(wait_in_pause);
  ASSERT_TRUE(waits_in_pause(child));
  auto thread = TracedThread::seize(child.pid());
  ASSERT_TRUE(thread) << thread.error().text();
  ASSERT_TRUE(thread->interrupt(patience()));

  const auto registers = thread->registers();
  const auto extended = thread->extended_state();
  const auto mask = thread->signal_mask();
  ASSERT_TRUE(registers && extended && mask);
  EXPECT_GE(extended->bytes.size(), 576);  // the legacy area and its header
  EXPECT_EQ(*mask, 0);

  auto other = *registers;
  other.raw.rbx = 0x1234;
  ASSERT_TRUE(thread->set_registers(other));
  EXPECT_EQ(thread->registers()->raw.rbx, 0x1234);
  const std::uint64_t usr1 = std::uint64_t{1} << (SIGUSR1 - 1);
  ASSERT_TRUE(thread->set_signal_mask(usr1));
  EXPECT_EQ(read_status(child.pid())->signals_blocked, usr1);

  ASSERT_TRUE(thread->set_registers(*registers));
  ASSERT_TRUE(thread->set_extended_state(*extended));
  ASSERT_TRUE(thread->set_signal_mask(*mask));
  EXPECT_EQ(thread->registers()->raw.rbx, registers->raw.rbx);
  EXPECT_EQ(thread->extended_state()->bytes, extended->bytes);
  ASSERT_TRUE(thread->detach());
  EXPECT_EQ(read_status(child.pid())->signals_blocked, 0);
  EXPECT_TRUE(waits_in_pause(child));
}

TEST(TracedThread, ItsDestructorLetsGo) {
  const Child child(wait_in_pause);
  ASSERT_TRUE(waits_in_pause(child));
  {
    auto thread = TracedThread::seize(child.pid());
    ASSERT_TRUE(thread) << thread.error().text();
    ASSERT_TRUE(thread->interrupt(patience()));
    const TracedThread moved = *std::move(thread);
    EXPECT_TRUE(moved.stopped());
  }
  EXPECT_TRUE(is_left_alone(child, 'S'));
}

TEST(RunAsTracer, ItsEndReleasesWhatWasNeverStopped) {
  const Child child(wait_in_pause);
  ASSERT_TRUE(waits_in_pause(child));
  const bool seized = run_as_tracer([&] {
    return TracedThread::seize(child.pid()).has_value() &&
           read_status(child.pid())->tracer_pid == ::gettid();
  });
  EXPECT_TRUE(seized);
  EXPECT_TRUE(is_left_alone(child, 'S'));
}

TEST(TracedThread, SeizedTwiceIsTracedAlready) {
  const Child child(wait_in_pause);
  ASSERT_TRUE(waits_in_pause(child));
  const auto first = TracedThread::seize(child.pid());
  ASSERT_TRUE(first) << first.error().text();
  const auto second = TracedThread::seize(child.pid());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().id, ErrorId::TracedAlready);
  EXPECT_NE(second.error().hint, "");
}

TEST(TracedThread, OfNobody) {
  const auto thread = TracedThread::seize(dead_pid());
  ASSERT_FALSE(thread);
  EXPECT_EQ(thread.error().id, ErrorId::NoSuchThread);
}

TEST(TracedThread, ADeathIsAnError) {
  const Child child(wait_in_pause);
  ASSERT_TRUE(waits_in_pause(child));
  auto thread = TracedThread::seize(child.pid());
  ASSERT_TRUE(thread) << thread.error().text();
  ::kill(child.pid(), SIGKILL);
  ASSERT_TRUE(ends_before(child.pid(), patience()));
  const auto stopped = thread->interrupt(patience());
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().id, ErrorId::TargetDied);
}

TEST(TracedThread, SignalsThatComeFirstArePassedOn) {
  static int told = -1;
  Pipe pipe;
  const Child child([&] {
    told = pipe.write.get();
    ::signal(SIGUSR1, [](int signal) {
      if (::write(told, &signal, sizeof signal) < 0) {
        ::_exit(1);
      }
    });
    wait_in_pause();
  });
  ASSERT_TRUE(waits_in_pause(child));
  auto thread = TracedThread::seize(child.pid());
  ASSERT_TRUE(thread) << thread.error().text();
  ::kill(child.pid(), SIGUSR1);
  // Now it is stopped before the signal's delivery.
  ASSERT_TRUE(comes_true(
      child, [](const ProcStatus& status) { return status.state == 't'; }));
  const auto stopped = thread->interrupt(patience());
  ASSERT_TRUE(stopped) << stopped.error().text();
  ASSERT_TRUE(thread->detach());
  EXPECT_EQ(receive<int>(pipe.read), SIGUSR1);
  EXPECT_TRUE(waits_in_pause(child));
}

TEST(TracedThread, AStoppedProcessStaysStopped) {
  const Child child(wait_in_pause);
  ASSERT_TRUE(waits_in_pause(child));
  ::kill(child.pid(), SIGSTOP);
  int raw = 0;
  ASSERT_EQ(::waitpid(child.pid(), &raw, WUNTRACED), child.pid());
  auto thread = TracedThread::seize(child.pid());
  ASSERT_TRUE(thread) << thread.error().text();
  const auto stopped = thread->interrupt(patience());
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().id, ErrorId::Stopped);
  ASSERT_TRUE(thread->detach());
  EXPECT_TRUE(is_left_alone(child, 'T'));
  ::kill(child.pid(), SIGCONT);
  EXPECT_TRUE(waits_in_pause(child));
}

}  // namespace
}  // namespace hangdbg
