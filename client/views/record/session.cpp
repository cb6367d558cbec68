#include "client/views/record/session.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "base/fd.h"
#include "base/path_error.h"
#include "client/terminal/ending_signals.h"
#include "client/views/record/running.h"

namespace hangdbg {
namespace {

constexpr auto kProgressEvery = std::chrono::milliseconds(500);
constexpr int kBySignal = 128;

// Lets a process of ours start the command and wait for it: a tracer of its own
// child may be given its end in place of a stop, and the other way round.
struct StartedCommand {
  int parent = 0;  // ends as the command does
  int pid = 0;
};

// What went wrong, or the pid.
struct StartReport {
  int failed = 0;
  int pid = 0;
};

// All signals that end programs are blocked in it: it lives as long as the
// command does, and has its exit code, or 128 and the signal.
[[noreturn]] void be_parent(std::span<char*> command,
                            const sigset_t& mask,
                            int tell) {
  StartReport report;
  report.failed =
      spawn_with_signals(command.front(), command, mask, report.pid);
  (void)!::write(tell, &report, sizeof report);
  ::close(tell);
  int status = 0;
  while (report.failed == 0 && ::waitpid(report.pid, &status, 0) < 0 &&
         errno == EINTR) {
  }
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status)
                            : kBySignal + WTERMSIG(status));
}

// Before there are threads. The error is of the command.
Result<StartedCommand> start_command(std::span<char*> command,
                                     const sigset_t& mask) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail_errno("cannot create a pipe");
  }
  const Fd from(ends[0]);
  Fd to(ends[1]);
  const int parent = ::fork();
  if (parent < 0) {
    return fail_errno("cannot create a process");
  }
  if (parent == 0) {
    be_parent(command, mask, to.get());
  }
  to.reset();
  StartReport report;
  if (::read(from.get(), &report, sizeof report) != sizeof report) {
    return fail(ErrorId::System, "no process of ours can be started");
  }
  if (report.failed != 0) {
    ::waitpid(parent, nullptr, 0);
    return cannot_run(command.front(), report.failed);
  }
  return StartedCommand{parent, report.pid};
}

class RecordRun {
 public:
  RecordRun(const RecordSession& what, const RecordingOptions& options)
      : what_(what), options_(options) {}

  Result<int> run(const std::function<int(Recording&)>& finish);

 private:
  void watch();
  void show_progress();
  void reap();

  const RecordSession& what_;
  const RecordingOptions& options_;
  std::optional<RunningRecording> running_;
  Fd signals_;
  StartedCommand command_;
  std::optional<int> command_code_;
  bool shows_progress_ = false;
};

}  // namespace

Result<int> run_recording(
    const RecordSession& session,
    const RecordingOptions& options,
    const std::function<int(Recording& recording)>& finish) {
  return RecordRun(session, options).run(finish);
}

namespace {

Result<int> RecordRun::run(const std::function<int(Recording&)>& finish) {
  sigset_t mask;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  signals_ = take_ending_signals();
  if (!signals_) {
    return fail_errno("cannot create a descriptor");
  }
  std::vector<RecordedTarget> targets = what_.targets;
  if (!what_.command.empty()) {
    command_ = TRY(start_command(what_.command, mask));
    targets.push_back({.pid = command_.pid});
  }
  running_.emplace(targets, what_.children,
                   what_.command.empty() && targets.size() == 1, options_);
  watch();
  const bool held_up = !running_->stop();
  if (shows_progress_) {
    say(stderr, "\r\x1b[K");
  }
  if (auto why_not = running_->why_not()) {
    return std::unexpected(*std::move(why_not));
  }
  int code = finish(running_->recording());
  if (code == 0 && command_code_) {
    code = *command_code_;
  }
  if (held_up) {
    flush_output(stdout);
    ::_exit(code);
  }
  return code;
}

void RecordRun::watch() {
  const auto end =
      what_.lasts ? std::optional(Deadline::in(
                        std::chrono::duration_cast<Deadline::Clock::duration>(
                            *what_.lasts)))
                  : std::nullopt;
  Deadline progress = Deadline::in(kProgressEvery);
  while (!running_->all_ended() && !(end && end->expired())) {
    auto patience = std::chrono::milliseconds(20);
    if (end) {
      patience = std::min(
          patience, std::chrono::ceil<std::chrono::milliseconds>(end->left()));
    }
    if (ending_signal_came(signals_, static_cast<int>(patience.count()))) {
      break;
    }
    if (what_.progress && progress.expired()) {
      show_progress();
      progress = Deadline::in(kProgressEvery);
    }
  }
  reap();
}

// If it has ended: one that runs on after Ctrl-C is not waited for.
void RecordRun::reap() {
  int status = 0;
  if (command_.parent != 0 &&
      ::waitpid(command_.parent, &status,
                running_->all_ended() ? 0 : WNOHANG) == command_.parent) {
    command_code_ = WEXITSTATUS(status);
  }
}

void RecordRun::show_progress() {
  const RecordingState state = running_->recording().state();
  shows_progress_ = true;
  say(stderr, "\r\x1b[K{:.0f} s · {} process{} · {} samples · Ctrl-C ends",
      std::chrono::duration<double>(state.lasted).count(), state.processes,
      state.processes == 1 ? "" : "es", state.counts.kept);
  flush_output(stderr);
}

}  // namespace
}  // namespace hangdbg
