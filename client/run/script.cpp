#include "client/run/script.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cmath>

#include "client/prompt/prompt.h"
#include "client/prompt/stops.h"
#include "client/terminal/broken_pipe.h"
#include "client/terminal/interrupt.h"
#include "client/terminal/render.h"
#include "client/terminal/session_output.h"
#include "server/session/cached_source.h"
#include "server/session/hung_thread.h"
#include "server/session/program.h"
#include "server/session/session.h"

namespace hangdbg {
namespace {

// It waits for us a little longer than we try.
constexpr auto kToAnswer = std::chrono::seconds(2);
// After Ctrl-C; then it hangs.
constexpr auto kToEnd = std::chrono::milliseconds(1000);
constexpr auto kForever = std::chrono::hours(24 * 365);

Result<Program> start(const ScriptOptions& options, std::span<char*> words);
Result<int> follow_to_end(const ScriptOptions& options,
                          Program& program,
                          const Palette& err);
Status open_prompt(const ScriptOptions& options,
                   const Program& program,
                   const Palette& err);
sigset_t our_signals();
bool asks(const ScriptOptions& options);

// Ctrl-C ends what is asked, while a prompt is open.
class SignalsUnblocked {
 public:
  SignalsUnblocked();
  ~SignalsUnblocked();
  SignalsUnblocked(const SignalsUnblocked&) = delete;
  SignalsUnblocked& operator=(const SignalsUnblocked&) = delete;
};

}  // namespace

Result<int> run_script(const ScriptOptions& options,
                       std::span<char*> words,
                       const Palette& err) {
  TRY(options.common.configure_log());
  const sigset_t ours = our_signals();
  ::sigprocmask(SIG_BLOCK, &ours, nullptr);
  auto program = TRY(start(options, words));
  return follow_to_end(options, program, err);
}

namespace {

Result<Program> start(const ScriptOptions& options, std::span<char*> words) {
  const Program::Start how{
      .python = options.python,
      .module = options.module,
      .words = {words.begin(), words.end()},
      .calls_us = asks(options),
      .post_mortem = asks(options) && options.post_mortem,
      .entry = asks(options) && options.stop,
      .patience = std::chrono::seconds(
                      static_cast<int>(std::ceil(options.common.timeout_s))) +
                  kToAnswer};
  return Program::start(how, [] {
    const sigset_t ours = our_signals();
    ::sigprocmask(SIG_UNBLOCK, &ours, nullptr);
    restore_broken_pipes();
    return true;
  });
}

// Ctrl-C is the program's: the terminal sends it to both.
Result<int> follow_to_end(const ScriptOptions& options,
                          Program& program,
                          const Palette& err) {
  const sigset_t ours = our_signals();
  const Fd signals(::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
  enum { Runs, Interrupted, Told } hangs = Runs;
  while (true) {
    if (const auto code = program.ended()) {
      return *code;
    }
    pollfd waits[] = {{program.pidfd(), POLLIN, 0}, {signals.get(), POLLIN, 0}};
    const int ready = ::poll(waits, std::size(waits),
                             hangs == Interrupted ? kToEnd.count() : -1);
    if (ready == 0 && asks(options)) {
      say(stderr, "\n{}\n", err.dim("hangdbg: Ctrl-C again opens a prompt"));
      hangs = Told;
    }
    bool opens = false;
    signalfd_siginfo came{};
    while (::read(signals.get(), &came, sizeof came) == sizeof came) {
      const bool called = came.ssi_signo == SIGUSR1 &&
                          static_cast<int>(came.ssi_pid) == program.pid();
      const bool interrupts = came.ssi_signo == SIGINT;
      opens |= called || (interrupts && hangs == Told);
      hangs = called ? Runs : interrupts && hangs == Runs ? Interrupted : hangs;
      if (came.ssi_signo == SIGTERM) {
        ::kill(program.pid(), SIGTERM);
      }
    }
    if (opens) {
      const Status opened = open_prompt(options, program, err);
      if (!opened && !program.ended()) {
        (void)report(opened.error(), err);
      }
      hangs = Runs;
    }
  }
}

// At the thread that has called us; else where it hangs.
Status open_prompt(const ScriptOptions& options,
                   const Program& program,
                   const Palette& err) {
  const Palette out(options.common.colour, stdout);
  SourceText sources(program.pid());
  const Deadline deadline = options.common.deadline();
  const auto session =
      TRY(Session::attach(program.pid(), show_on_terminal(err), deadline));
  use_cached_sources(sources, *session);
  const Interruptible interruptible(*session);
  const SignalsUnblocked unblocked;
  Interruptible::take();  // what was typed to come here
  std::optional<Stop> stop;
  if (TRY(session->hello(deadline)).waits) {
    TRY(take_waiting(*session, deadline));
    stop = TRY(next_stop(*session, Deadline::in(kForever)));
  }
  auto thread = TRY(choose_thread(
      *session, stop ? fmt::format("{}", stop->tid) : "", deadline));
  PromptState state{*session, sources, options.common,
                    out,      err,     TRY(Place::at(std::move(thread)))};
  state.runs = true;
  if (stop) {
    state.held.insert(stop->tid);
  } else {
    say("\n");  // behind the terminal's ^C
  }
  show_place(state);
  say_if_read_only(state);
  flush_output(stdout);
  if (options.commands.empty()) {
    run_prompt(state);
  } else {
    run_commands(state, options.commands);
  }
  return {};
}

SignalsUnblocked::SignalsUnblocked() {
  sigset_t interrupt;
  ::sigemptyset(&interrupt);
  ::sigaddset(&interrupt, SIGINT);
  ::sigprocmask(SIG_UNBLOCK, &interrupt, nullptr);
}

SignalsUnblocked::~SignalsUnblocked() {
  const sigset_t ours = our_signals();
  ::sigprocmask(SIG_BLOCK, &ours, nullptr);
}

bool asks(const ScriptOptions& options) {
  return !options.commands.empty() ||
         (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1);
}

sigset_t our_signals() {
  sigset_t ours;
  ::sigemptyset(&ours);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) {
    ::sigaddset(&ours, number);
  }
  return ours;
}

}  // namespace
}  // namespace hangdbg
