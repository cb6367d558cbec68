#include "client/views/top/session.h"

#include <fmt/core.h>
#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>

#include "base/deadline.h"
#include "client/terminal/ending_signals.h"
#include "client/views/record/running.h"
#include "client/views/top/screen.h"
#include "client/views/top/waits.h"

namespace hangdbg {
namespace {

// How late a key's answer may be after the last process has ended.
constexpr auto kTopTick = std::chrono::milliseconds(250);
constexpr auto kToEndProgram = std::chrono::seconds(5);

int until_then(const Deadline& deadline, std::chrono::nanoseconds most) {
  return static_cast<int>(
      std::chrono::ceil<std::chrono::milliseconds>(
          std::min<std::chrono::nanoseconds>(most, deadline.left()))
          .count());
}

Fd take_resizes() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGWINCH);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

class TopRun {
 public:
  explicit TopRun(const TopSession& what) : what_(what) {}

  Result<int> run();

 private:
  enum class Came { Nothing, Signal };

  void start();
  void refresh();
  void draw();
  Came wait();
  bool take_keys();  // false: it is to end
  Result<int> end();
  [[noreturn]] void give_up();
  // `hangdbg COMMAND PID`, on the terminal; false: a signal ends us.
  bool run_program(const char* command, bool waits_for_enter);
  std::optional<TopRow> chosen() const;

  const TopSession& what_;
  sigset_t mask_{};  // as hangdbg was started with
  Fd signals_, resizes_;
  std::unique_ptr<TopScreen> screen_;
  std::optional<RunningRecording> running_;
  std::optional<WaitsLooker> waits_;  // its thread: with the signals blocked
  TopHistory history_;
  TopState state_;
  TopTable table_;
  Deadline next_ = Deadline::in({});
};

// ---- a program of our own on this terminal

// Ctrl-C is its alone while it runs. False: a signal came that ends us.
bool await_child(int pid, const Fd& signals) {
  while (true) {
    int status = 0;
    const int ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) {
      return true;
    }
    pollfd awaited{signals.get(), POLLIN, 0};
    ::poll(&awaited, 1, 50);
    signalfd_siginfo came{};
    if (::read(signals.get(), &came, sizeof came) == sizeof came &&
        (came.ssi_signo == SIGTERM || came.ssi_signo == SIGHUP)) {
      // A target recovers by itself, however hangdbg ends.
      ::kill(pid, static_cast<int>(came.ssi_signo));
      const Deadline patience = Deadline::in(kToEndProgram);
      while (::waitpid(pid, &status, WNOHANG) == 0) {
        if (patience.expired()) {
          ::kill(pid, SIGKILL);
        }
        ::poll(nullptr, 0, 5);
      }
      return false;
    }
  }
}

std::optional<int> start_program(std::vector<std::string> words,
                                 const sigset_t& mask) {
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  int pid = 0;
  const int failed = spawn_with_signals("/proc/self/exe", pointers, mask, pid);
  return failed == 0 ? std::optional(pid) : std::nullopt;
}

}  // namespace

SamplingOptions top_sampling(bool idle, bool gil, bool tasks) {
  return {.idle = idle,
          .gil = gil,
          .threads = true,
          .processes = true,
          .tallies = true,
          .tasks = tasks};
}

Result<int> run_top(const TopSession& session) {
  return TopRun(session).run();
}

Result<TopData> sample_once(const TopSession& session) {
  const Fd signals = take_ending_signals();
  RunningRecording running(session.targets, session.children,
                           session.targets.size() == 1, session.recording);
  const Deadline end = Deadline::in(
      std::chrono::duration_cast<Deadline::Clock::duration>(session.delay));
  while (!running.all_ended() && !end.expired() &&
         !ending_signal_came(signals, until_then(end, kTopTick))) {
  }
  TopHistory history;
  history.take(running.recording());
  history.set_waits(waits_of(history.data().pids, Deadline::in(session.delay)));
  running.stop();
  if (auto why_not = running.why_not()) {
    return std::unexpected(*std::move(why_not));
  }
  return history.data();
}

namespace {

Result<int> TopRun::run() {
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mask_);
  signals_ = take_ending_signals();
  resizes_ = take_resizes();
  if (!signals_ || !resizes_) {
    return fail_errno("cannot create a descriptor");
  }
  screen_ = TRY(TopScreen::open(what_.colour));
  waits_.emplace();
  state_.idle = what_.recording.sampling.idle;
  state_.gil = what_.recording.sampling.gil;
  state_.tasks = what_.recording.sampling.tasks;
  start();
  bool goes_on = true;
  while (goes_on && !running_->all_ended()) {
    if (next_.expired()) {
      refresh();
    }
    draw();
    goes_on = wait() == Came::Nothing && take_keys();
  }
  return end();
}

void TopRun::start() {
  if (running_ && !running_->stop()) {
    give_up();
  }
  RecordingOptions how = what_.recording;
  how.sampling = top_sampling(state_.idle, state_.gil, state_.tasks);
  history_ = TopHistory();  // what was opened is in it no more
  state_.before.clear();
  state_.choice.scope = {};
  table_ = {};
  running_.emplace(what_.targets, what_.children, what_.targets.size() == 1,
                   how);
  next_ = Deadline::in(std::min<Deadline::Clock::duration>(
      kTopTick,
      std::chrono::duration_cast<Deadline::Clock::duration>(what_.delay)));
}

void TopRun::refresh() {
  next_ = Deadline::in(
      std::chrono::duration_cast<Deadline::Clock::duration>(what_.delay));
  if (state_.paused) {
    return;
  }
  history_.take(running_->recording());
  if (state_.choice.view == TopView::Threads) {
    waits_->ask(history_.data().pids);
    if (auto found = waits_->take()) {
      history_.set_waits(*std::move(found));
    }
  }
  table_ = top_table(history_.data(), state_.choice);
}

void TopRun::draw() {
  const TopSize size = screen_->size();
  screen_->show(top_frame(history_.data(), table_, what_.title, state_, size));
}

TopRun::Came TopRun::wait() {
  std::array<pollfd, 3> awaited = {pollfd{STDIN_FILENO, POLLIN, 0},
                                   pollfd{signals_.get(), POLLIN, 0},
                                   pollfd{resizes_.get(), POLLIN, 0}};
  ::poll(awaited.data(), awaited.size(), until_then(next_, kTopTick));
  signalfd_siginfo came{};
  while (::read(resizes_.get(), &came, sizeof came) == sizeof came) {
  }
  const bool gone = (awaited[0].revents & (POLLHUP | POLLERR)) != 0;
  return gone || ::read(signals_.get(), &came, sizeof came) == sizeof came
             ? Came::Signal
             : Came::Nothing;
}

bool TopRun::take_keys() {
  while (const auto key = screen_->key()) {
    const std::size_t page = rows_on(screen_->size());
    const TopAction action = state_.key(*key, table_, page);
    switch (action) {
      case TopAction::Quit:
        return false;
      case TopAction::Restart:
        start();
        break;
      case TopAction::Dump:
        if (!run_program("dump", true)) {
          return false;
        }
        break;
      case TopAction::Attach:
        if (!run_program("attach", false)) {
          return false;
        }
        break;
      case TopAction::None:
        if (state_.choice.view == TopView::Threads) {
          waits_->ask(history_.data().pids);
        }
    }
    table_ = top_table(history_.data(), state_.choice);
  }
  return true;
}

// The process of the chosen row, or of what the screen is about, or the only
// one.
std::optional<TopRow> TopRun::chosen() const {
  if (state_.cursor < table_.rows.size() &&
      table_.rows[state_.cursor].pid != 0) {
    return table_.rows[state_.cursor];
  }
  const TopData& data = history_.data();
  const TopScope& scope = state_.choice.scope;
  auto thread = scope.thread;
  if (scope.task) {
    const auto tasks = top_tasks(data);
    const auto task = std::ranges::find(tasks, *scope.task, &TopTaskRow::node);
    thread = task != tasks.end() ? task->thread : std::nullopt;
  }
  if (thread) {
    return TopRow{.pid = data.threads[*thread].pid,
                  .tid = data.threads[*thread].tid};
  }
  return data.pids.size() == 1 ? std::optional(TopRow{.pid = data.pids[0]})
                               : std::nullopt;
}

// Nothing is sampled meanwhile: one thread cannot be stopped by two.
bool TopRun::run_program(const char* command, bool waits_for_enter) {
  const auto row = chosen();
  if (!row) {
    state_.note = "which process? 4 lists them";
    return true;
  }
  std::vector<std::string> words = {"hangdbg", command,
                                    fmt::format("{}", row->pid)};
  if (!waits_for_enter && row->tid != 0) {
    words.push_back("--thread");
    words.push_back(fmt::format("{}", row->tid));
  }
  if (!running_->stop()) {
    give_up();
  }
  screen_->leave();
  bool goes_on = true;
  if (const auto pid = start_program(words, mask_)) {
    goes_on = await_child(*pid, signals_);
    if (goes_on && waits_for_enter) {
      say("\nEnter goes back to top.");
      flush_output(stdout);
      std::array<char, 256> typed;
      std::array<pollfd, 2> awaited = {pollfd{STDIN_FILENO, POLLIN, 0},
                                       pollfd{signals_.get(), POLLIN, 0}};
      ::poll(awaited.data(), awaited.size(), -1);
      goes_on = awaited[1].revents == 0;
      if (goes_on) {
        (void)!::read(STDIN_FILENO, typed.data(), typed.size());
      }
    }
  } else {
    state_.note = "hangdbg cannot be started";
  }
  if (goes_on) {
    screen_->come_back();
    start();
  }
  return goes_on;
}

Result<int> TopRun::end() {
  const bool all_ended = running_->all_ended();
  const bool held_up = !running_->stop();
  screen_.reset();
  if (held_up) {
    give_up();
  }
  if (auto why_not = running_->why_not()) {
    return std::unexpected(*std::move(why_not));
  }
  if (all_ended) {
    say(stderr, "hangdbg: {} {} exited\n", what_.title,
        what_.targets.size() == 1 ? "has" : "have");
  }
  return 0;
}

// A thread of ours may hold what a destructor waits for.
void TopRun::give_up() {
  screen_.reset();
  flush_output(stdout);
  ::_exit(0);
}

}  // namespace
}  // namespace hangdbg
