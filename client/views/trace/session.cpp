#include "client/views/trace/session.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include "base/fd.h"
#include "client/terminal/ending_signals.h"
#include "client/terminal/render.h"
#include "injector/injection_lock.h"
#include "inspector/cpython/runtime/python_process.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

// How late a line may come, and what the tracer is told.
constexpr auto kTick = std::chrono::milliseconds(20);
// The tracer ends within a tick, unless it is held up.
constexpr auto kToEnd = std::chrono::seconds(2);

std::atomic<bool> wants_stop = false;

class Session {
 public:
  Session(const TraceSession& what, Recorder& recorder, TraceOutput& output)
      : what_(what), recorder_(recorder), output_(output) {}

  Result<TraceEnd> run(TraceView& view);

 private:
  void trace();
  Status attach(SyscallTracer& tracer) const;
  // Until the tracer has ended. Whether Ctrl-C came.
  Result<bool> watch();
  bool is_held_up();
  [[noreturn]] void give_up(bool interrupted);
  bool wait(bool all_written);
  Result<bool> write_all(bool interrupted);

  const TraceSession& what_;
  Recorder& recorder_;
  TraceOutput& output_;
  Fd signals_;
  Fd over_;
  std::mutex mutex_;
  SyscallTracer* tracer_ = nullptr;  // while there is one
  Status attached_;
  std::atomic<bool> has_attached_ = false;
  std::atomic<bool> has_ended_ = false;
};

}  // namespace

Result<TraceEnd> run_trace(const TraceSession& session,
                           Recorder& recorder,
                           TraceView& view,
                           TraceOutput& output) {
  return Session(session, recorder, output).run(view);
}

void stop_trace() {
  wants_stop = true;
}

namespace {

Result<TraceEnd> Session::run(TraceView& view) {
  wants_stop = false;
  signals_ = take_ending_signals();
  over_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!signals_ || !over_) {
    return fail_errno("cannot create a descriptor");
  }
  std::thread thread([this] { trace(); });
  const auto interrupted = watch();
  thread.join();
  TRY(attached_);
  TRY(interrupted);
  recorder_.tell_rest();
  view.end();
  const bool again = TRY(write_all(*interrupted));
  return *interrupted || again ? TraceEnd::Interrupted : TraceEnd::Done;
}

// On the tracer's thread.
void Session::trace() {
  SyscallTracer tracer(recorder_, what_.children);
  {
    const std::lock_guard lock(mutex_);
    tracer_ = &tracer;
  }
  attached_ = attach(tracer);
  has_attached_ = attached_.has_value();
  if (attached_) {
    tracer.run();
  }
  const std::lock_guard held(mutex_);
  tracer_ = nullptr;
  has_ended_ = true;
  const std::uint64_t one = 1;
  (void)!::write(over_.get(), &one, sizeof one);
}

// An agent that is put into the process just now is not held up half-way.
Status Session::attach(SyscallTracer& tracer) const {
  if (what_.prepare) {
    TRY(what_.prepare());
  }
  TRY(read_proc_file(what_.pid, "cmdline"));  // its memory answers
  const Fd lock = TRY(lock_injections(what_.pid, what_.attach_by));
  return tracer.attach(what_.pid, what_.attach_by);
}

Result<bool> Session::watch() {
  bool interrupted = false;
  bool told = false;
  std::optional<Deadline> end;
  std::optional<Deadline> patience;
  Result<bool> more = false;
  while (!has_ended_) {
    interrupted |= wait(!more || !*more);
    if (has_attached_ && !told) {
      told = true;
      if (what_.on_attached) {
        what_.on_attached();
      }
      if (what_.lasts) {
        end = Deadline::in(*what_.lasts);
      }
    }
    const bool late = !told && what_.attach_by.expired();
    const bool enough =
        wants_stop || interrupted || !more || late || (end && end->expired());
    if (enough && !patience) {
      patience = Deadline::in(kToEnd);
    }
    if (patience && patience->expired()) {
      give_up(interrupted);
    }
    if (is_held_up()) {
      give_up(interrupted);
    }
    {
      const std::lock_guard lock(mutex_);
      if (tracer_ != nullptr) {
        enough ? tracer_->stop() : tracer_->look();
      }
    }
    recorder_.tell_waiting();
    if (more) {
      more = output_.write();
    }
  }
  TRY(more);
  return interrupted;
}

// At a stop, so that the target stays stopped: by memory that does not answer.
bool Session::is_held_up() {
  const std::lock_guard lock(mutex_);
  return tracer_ != nullptr && tracer_->busy_for() > kToEnd;
}

// By _exit: the tracer's thread may hold what a destructor waits for.
void Session::give_up(bool interrupted) {
  (void)output_.write();
  if (!interrupted) {
    report(not_read_in_time(what_.pid), Palette(ColourChoice::Auto, stderr));
  }
  ::_exit(exit_code(interrupted ? ErrorId::Interrupted : ErrorId::TimedOut));
}

// For a tick at most; whether a signal came that ends us.
bool Session::wait(bool all_written) {
  std::array<pollfd, 3> awaited = {pollfd{signals_.get(), POLLIN, 0},
                                   pollfd{over_.get(), POLLIN, 0},
                                   pollfd{output_.fd(), POLLOUT, 0}};
  ::poll(awaited.data(), all_written ? 2 : 3,
         static_cast<int>(kTick / std::chrono::milliseconds(1)));
  return ending_signal_came(signals_, 0);
}

// Nothing is traced any more: the reader may take his time. Ctrl-C ends that.
// One that came before does, once a terminal has taken nothing for a while: it
// is not read any more. A pager is, later.
Result<bool> Session::write_all(bool interrupted) {
  const bool may_end = interrupted && ::isatty(output_.fd()) == 1;
  std::size_t written = output_.written();
  Deadline patience = Deadline::in(kToEnd);
  while (TRY(output_.write())) {
    if (output_.written() != written) {
      written = output_.written();
      patience = Deadline::in(kToEnd);
    }
    if (wait(false) || (may_end && patience.expired())) {
      return true;
    }
  }
  return false;
}

}  // namespace
}  // namespace hangdbg
