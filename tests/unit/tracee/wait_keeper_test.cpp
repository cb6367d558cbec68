// Real children that wait, are stopped by hangdbg, and are sampled again.
#include "tracee/ptrace/wait_keeper.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "tests/unit/support/processes.h"
#include "tracee/proc/scheduler_clock.h"
#include "tracee/proc/wait_sample.h"

namespace hangdbg {
namespace {

namespace fs = std::filesystem;

constexpr double kClocksDiffer = 0.02;  // seconds, of the CPUs' own

class Folder {
 public:
  Folder() {
    char path[] = "/tmp/kept-wait-XXXXXX";
    path_ = ::mkdtemp(path);
    ::setenv("XDG_RUNTIME_DIR", path, 1);
  }
  ~Folder() {
    ::unsetenv("XDG_RUNTIME_DIR");
    fs::remove_all(path_);
  }
  fs::path notes() const { return path_ / "hangdbg"; }

 private:
  fs::path path_;
};

// Waits in read(2) of a pipe, and records when it last resumed.
class Reader {
 public:
  Reader()
      : got_on_(static_cast<std::atomic<double>*>(
            ::mmap(nullptr,
                   sizeof(std::atomic<double>),
                   PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS,
                   -1,
                   0))) {
    got_on_->store(monotonic_s());
    child_.emplace([this] {
      for (char byte = 0; ::read(pipe_.read.get(), &byte, 1) == 1;) {
        got_on_->store(monotonic_s());
      }
    });
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { ::munmap(got_on_, sizeof *got_on_); }

  int pid() const { return child_->pid(); }
  double got_on_s() const { return *got_on_; }
  void wake() { send(pipe_.write, 'x'); }
  bool sleeps() const { return sleeps_in(pid(), pid(), "read"); }
  double asleep_s() const {
    const auto look = sample_wait(pid(), pid());
    return look ? look->asleep_s.value_or(-1) : -1;
  }

 private:
  Pipe pipe_;
  std::atomic<double>* got_on_;
  std::optional<Child> child_;
};

template <class Between>
void visit(int pid, const Between& between) {
  WaitKeeper wait(pid, pid);
  run_as_tracer([&] {
    auto thread = TracedThread::seize(pid);
    if (!thread || !wait.interrupt(*thread, patience())) {
      return false;
    }
    const auto registers = thread->registers();
    if (registers) {
      wait.stopped(*thread, *registers);
    }
    between();
    return wait.let_go(*thread).has_value();
  });
  wait.note();
}

bool comes_to_sleep_for(const Reader& reader, double seconds) {
  for (const auto deadline = patience(); !deadline.expired();) {
    if (reader.asleep_s() >= seconds) {
      return true;
    }
    ::usleep(1000);
  }
  return false;
}

TEST(KeptWait, GoesOnAfterAVisit) {
  const Folder folder;
  Reader reader;
  ASSERT_TRUE(reader.sleeps());
  if (!last_ran_s(::getpid(), ::gettid())) {
    GTEST_SKIP() << "this kernel does not tell when a thread last ran";
  }
  ASSERT_TRUE(comes_to_sleep_for(reader, 0.3));
  // A machine too busy to see it fall asleep leaves no note.
  for (const auto deadline = patience();
       !fs::exists(folder.notes()) && !deadline.expired();) {
    ASSERT_TRUE(comes_to_sleep_for(reader, 0.3));
    visit(reader.pid(), [] {});
  }
  EXPECT_GE(reader.asleep_s(), 0.3);
  visit(reader.pid(), [] {});
  reader.wake();
  ASSERT_TRUE(reader.sleeps());
  const double told = reader.asleep_s();
  EXPECT_LE(told, monotonic_s() - reader.got_on_s() + kClocksDiffer);
}

TEST(KeptWait, IsNeverLongerThanItWas) {
  constexpr int kLooks = 200;
  const Folder folder;
  const auto spin = [] {
    for (;;) {
    }
  };
  const Child busy[] = {Child(spin), Child(spin), Child(spin)};
  Reader readers[4];
  for (const Reader& reader : readers) {
    ASSERT_TRUE(reader.sleeps());
  }
  if (!last_ran_s(::getpid(), ::gettid())) {
    GTEST_SKIP() << "this kernel does not tell when a thread last ran";
  }
  for (int look = 0; look < kLooks; ++look) {
    Reader& reader = readers[look % 4];
    ASSERT_TRUE(comes_to_sleep_for(reader, 0.06));
    std::thread other;
    const int when = (look / 4) % 6;
    if (when == 1) {
      other = std::thread([&] {
        ::usleep(static_cast<useconds_t>(look * 10));
        reader.wake();
      });
    } else if (when == 2) {
      reader.wake();
    }
    visit(reader.pid(), [&] {
      if (when == 3) {
        reader.wake();
      }
    });
    if (when == 4) {
      reader.wake();
    }
    if (other.joinable()) {
      other.join();
    }
    for (int i = 0; i < 20; ++i) {
      const double got_on = reader.got_on_s();
      const double told = reader.asleep_s();
      ASSERT_LE(told, monotonic_s() - got_on + kClocksDiffer)
          << "look " << look << ", woken at " << when;
    }
  }
}

TEST(KeptWait, IsReadAsItIsWritten) {
  KeptWait wait{.started = 12, .boot = "abc", .switches = 34, .began_s = 5.5};
  wait.call.number = 202;
  wait.call.args = {1, 2, 3, 4, 5, ~std::uint64_t{0}};
  wait.call.sp = Address{77};
  wait.call.pc = Address{88};
  const std::string text = text_of(wait);
  EXPECT_EQ(parse_kept_wait(text), wait);
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(parse_kept_wait(text.substr(0, size))) << size;
  }
}

TEST(KeptWait, NothingIsReadWhereOthersMayWrite) {
  const Folder folder;
  const int pid = ::getpid();
  const auto stat = read_task_stat(pid, pid);
  ASSERT_TRUE(stat);
  const auto switches = voluntary_switches(pid, pid);
  ASSERT_TRUE(switches);
  const TaskSyscall call;
  note_wait(pid, {.started = stat->start_ticks,
                  .boot = boot_id(),
                  .call = call,
                  .switches = *switches,
                  .began_s = 1});
  ASSERT_TRUE(fs::exists(folder.notes() / std::to_string(pid)));
  auto asleep = *stat;
  asleep.state = 'S';
  const auto told = [&] { return noted_wait_s(pid, pid, asleep, call); };
  const auto first = told();
  if (voluntary_switches(pid, pid) == switches) {
    EXPECT_EQ(first, 1);
  }
  ::chmod(folder.notes().c_str(), 0777);
  EXPECT_FALSE(told());
}

TEST(KeptWait, NotesOfTheDeadAreRemoved) {
  const Folder folder;
  const int gone = dead_pid();
  note_wait(gone, {.boot = boot_id()});
  const fs::path note = folder.notes() / std::to_string(gone);
  ASSERT_TRUE(fs::exists(note));
  note_wait(::getpid(), {.boot = boot_id()});
  EXPECT_FALSE(fs::exists(note));
}

}  // namespace
}  // namespace hangdbg
