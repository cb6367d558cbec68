#include "client/commands/attach.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <optional>

#include "base/text.h"
#include "client/interrupt.h"
#include "client/only_hung.h"
#include "client/prompt/prompt.h"
#include "client/prompt_options.h"
#include "client/session_output.h"
#include "server/hold.h"
#include "server/hung_thread.h"
#include "server/session.h"

namespace hangdbg {
namespace {

struct Options {
  CommonOptions common;
  TargetOption target;
  PromptOptions prompt;
};

int run(const Options& options);
Result<int> attach(const Options& options, const Palette& err);
Result<std::optional<Stop>> stop_of_waiting(Session& session,
                                            Deadline deadline);
Status show_banner(PromptState& state,
                   const ThreadLooks& before,
                   std::chrono::nanoseconds took);

}  // namespace

void add_attach(CLI::App& app, Run& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand(
      "attach", "A prompt in the hung frame, with pdb's commands");
  add_pid_option(command, options->target);
  add_prompt_options(command, options->prompt);
  add_common_options(command, options->common);
  command.footer(
      "Nothing is stopped: an expression runs beside the program, on a thread "
      "of its own.\n"
      "Without a PID the only process that hangs here is meant, if there is "
      "one.\n"
      "Examples:\n"
      "  hangdbg attach 79655\n"
      "  hangdbg attach 79655 -c w -c 'p self.lock_file_path'");
  command.final_callback(
      [options, &chosen] { chosen = [options] { return run(*options); }; });
}

namespace {

int run(const Options& options) {
  const Palette err(options.common.colour, stderr);
  const auto code = attach(options, err);
  return code ? *code : report(code.error(), err);
}

Result<int> attach(const Options& options, const Palette& err) {
  TRY(options.common.configure_log());
  const std::string& word = options.target.flag.empty()
                                ? options.target.positional
                                : options.target.flag;
  const int pid = word.empty()
                      ? TRY(only_hung_process(options.common.deadline()))
                      : TRY(parse_pid(word));
  const Palette out(options.common.colour, stdout);
  SourceText sources(pid);

  // Before it, since an attach wakes the thread that it borrows.
  const ThreadLooks before = look_at_threads(pid);
  const auto started = Deadline::Clock::now();
  const Deadline deadline = options.common.deadline();
  const auto session =
      TRY(Session::attach(pid, show_on_terminal(err), deadline));
  const auto took = Deadline::Clock::now() - started;

  const Interruptible interruptible(*session);
  const auto stop = TRY(stop_of_waiting(*session, deadline));
  auto thread = TRY(choose_thread(
      *session,
      stop ? fmt::format("{}", stop->tid) : options.prompt.place.thread,
      deadline));
  PromptState state{
      *session,
      sources,
      options.common,
      out,
      err,
      TRY(Place::at(std::move(thread), options.prompt.place.frame))};
  if (stop) {
    state.held.insert(stop->tid);
  }
  TRY(show_banner(state, before, took));
  return options.prompt.commands.empty()
             ? run_prompt(state)
             : run_commands(state, options.prompt.commands);
}

// Of a thread that has called for a debugger (python/hangdbg), if there is one.
Result<std::optional<Stop>> stop_of_waiting(Session& session,
                                            Deadline deadline) {
  if (!TRY(session.hello(deadline)).waits) {
    return std::nullopt;
  }
  TRY(take_waiting(session, deadline));
  return next_stop(session, deadline);
}

Status show_banner(PromptState& state,
                   const ThreadLooks& before,
                   std::chrono::nanoseconds took) {
  Session& session = state.session;
  const auto hello = TRY(session.hello(state.deadline()));
  const bool interactive =
      ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  const ShownThread& thread = state.place.thread();
  const bool stands = state.held.contains(thread.tid);
  fmt::print("attached to {} (python {}) in {} · {}{}\n", hello.pid,
             printable(hello.python), human_duration(took),
             stands ? "it has waited for you" : "nothing is stopped",
             interactive ? " · Ctrl-D detaches" : "");
  std::fflush(stdout);  // the next line may take a moment
  const auto look = before.find(thread.tid);
  const std::string wait =
      stands ? "stands"
             : describe_wait(session, thread.tid,
                             look == before.end() ? std::nullopt
                                                  : std::optional(look->second),
                             state.deadline());
  const auto gil = session.gil();
  fmt::print("Thread {} \"{}\" {} · {}\n", thread.tid, printable(thread.name),
             wait,
             gil && !gil->enabled ? "no GIL"
             : gil && gil->locked ? "GIL held"
                                  : "GIL free");
  show_place(state);
  say_if_read_only(state);
  std::fflush(stdout);
  return {};
}

}  // namespace
}  // namespace hangdbg
