#include "client/run/script.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cmath>

#include "client/broken_pipe.h"
#include "client/interrupt.h"
#include "client/prompt/prompt.h"
#include "client/prompt/stops.h"
#include "client/session_output.h"
#include "server/hung_thread.h"
#include "server/program.h"
#include "server/session.h"

namespace hangdbg {
namespace {

// It waits for us a little longer than we try.
constexpr auto kToAnswer = std::chrono::seconds(2);

Result<Program> start(const ScriptOptions& options, std::span<char*> words);
Result<int> follow_to_end(const ScriptOptions& options,
                          Program& program,
                          const Palette& err);
Status open_prompt(const ScriptOptions& options,
                   const Program& program,
                   const Palette& err);
sigset_t our_signals();

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
  const bool asks = !options.commands.empty() || (::isatty(STDIN_FILENO) == 1 &&
                                                  ::isatty(STDOUT_FILENO) == 1);
  const Program::Start how{
      .python = options.python,
      .module = options.module,
      .words = words,
      .calls_us = asks,
      .post_mortem = asks && options.post_mortem,
      .patience = std::chrono::seconds(
                      static_cast<int>(std::ceil(options.common.timeout_s))) +
                  kToAnswer};
  return Program::start(how, [] {
    const sigset_t ours = our_signals();
    ::sigprocmask(SIG_UNBLOCK, &ours, nullptr);
    restore_broken_pipes();
  });
}

// Ctrl-C is the program's: the terminal sends it to both.
Result<int> follow_to_end(const ScriptOptions& options,
                          Program& program,
                          const Palette& err) {
  const sigset_t ours = our_signals();
  const Fd signals(::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
  while (true) {
    if (const auto code = program.ended()) {
      return *code;
    }
    pollfd waits[] = {{program.pidfd(), POLLIN, 0}, {signals.get(), POLLIN, 0}};
    ::poll(waits, std::size(waits), -1);
    bool called = false;
    signalfd_siginfo came{};
    while (::read(signals.get(), &came, sizeof came) == sizeof came) {
      called |= came.ssi_signo == SIGUSR1 &&
                static_cast<int>(came.ssi_pid) == program.pid();
      if (came.ssi_signo == SIGTERM) {
        ::kill(program.pid(), SIGTERM);
      }
    }
    if (called) {
      if (const Status opened = open_prompt(options, program, err); !opened) {
        (void)report(opened.error(), err);
      }
    }
  }
}

// Where the thread stands that has called us.
Status open_prompt(const ScriptOptions& options,
                   const Program& program,
                   const Palette& err) {
  const Palette out(options.common.colour, stdout);
  SourceText sources(program.pid());
  const Deadline deadline = options.common.deadline();
  const auto session =
      TRY(Session::attach(program.pid(), show_on_terminal(err), deadline));
  const Interruptible interruptible(*session);
  TRY(take_waiting(*session, deadline));
  const auto stop = TRY(next_stop(*session, deadline));
  if (!stop) {
    return fail(ErrorId::TimedOut, "no thread of it has come to stand");
  }
  auto thread =
      TRY(choose_thread(*session, fmt::format("{}", stop->tid), deadline));
  PromptState state{*session, sources, options.common,
                    out,      err,     TRY(Place::at(std::move(thread), 0))};
  state.runs = true;
  state.held.insert(stop->tid);
  show_place(state);
  std::fflush(stdout);
  if (options.commands.empty()) {
    run_prompt(state);
  } else {
    run_commands(state, options.commands);
  }
  return {};
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
