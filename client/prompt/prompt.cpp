#include "client/prompt/prompt.h"

#include <fmt/core.h>
#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "client/prompt/aliases.h"
#include "client/prompt/command.h"
#include "client/prompt/other_tongues.h"
#include "client/prompt/run_line.h"
#include "client/prompt/statement.h"
#include "client/prompt/stops.h"
#include "client/terminal/interrupt.h"
#include "client/terminal/pager.h"
#include "client/terminal/python_colours.h"
#include "client/terminal/render.h"
#include "server/session/pdb_line.h"

namespace hangdbg {
namespace {

Result<bool> look_again(PromptState& state);
Status run_command(PromptState& state, const TypedCommand& typed);
bool is_paged(const Command& command);
int with_interrupt(const PromptState& state, int code);

}  // namespace

int run_commands(PromptState& state, const std::vector<std::string>& commands) {
  int code = 0;
  Statement statement;
  for (const std::string& command : commands) {
    if (!state.reader || !state.reader_takes_python) {
      code = run_line(state, command);
    } else if (const auto whole =
                   statement.add(command, Statement::Source::Typed,
                                 Statement::Kind::Python)) {
      code = run_line(state, *whole);
    }
    if (state.leaving || target_is_lost(state) ||
        code == exit_code(ErrorId::Interrupted)) {
      break;
    }
  }
  return code;
}

int run_line(PromptState& state, std::string_view line, bool pasted) {
  if (state.reader) {
    auto reader = std::exchange(state.reader, {});
    if (reader(line.substr(0, line.find_last_not_of(" \r\n") + 1))) {
      state.reader = std::move(reader);
    }
    return 0;
  }
  // What is lost here is told by the next command.
  [[maybe_unused]] const Status told = note_stops(state);
  int code = 0;
  const bool as_code = is_code(line, pasted);
  state.pending.emplace_back(line);
  while (!state.pending.empty()) {
    const auto commands = split_commands(
        expand_alias(state, std::exchange(state.pending.front(), {})));
    state.pending.pop_front();
    for (const std::string& text : commands) {
      code = finish(state, run_command(state, typed_command(text, as_code)));
      if (state.leaving || target_is_lost(state) ||
          code == exit_code(ErrorId::Interrupted)) {
        state.pending.clear();
        break;
      }
    }
  }
  return with_interrupt(state, code);
}

bool is_code(std::string_view line, bool pasted) {
  return pasted || line.starts_with(' ') || line.starts_with('\t');
}

// Code that is pasted holds no thread: "    return v + factor" is not pdb's
// return.
TypedCommand typed_command(std::string_view text, bool is_code) {
  const std::string ours = is_code ? std::string(text) : as_typed_here(text);
  TypedCommand typed = parse_command(ours, word_kind);
  const auto holding = hold_commands();
  const Command* const command = find_command(typed.name);
  const bool holds = std::ranges::any_of(
      holding, [&](const Command& one) { return &one == command; });
  if (holds &&
      (is_code || (command->arguments.empty() && !typed.argument.empty()))) {
    return {"", std::string(trim(ours))};
  }
  return typed;
}

// The exit code.
int finish(PromptState& state, const Status& done) {
  flush_output(stdout);
  // Then the failure has said it.
  state.said_read_only |= !done && done.error().id == ErrorId::GilHeld;
  if (const auto tid = state.place.thread().tid;
      !done && state.held.contains(tid)) {
    state.perhaps_busy.insert(tid);
  }
  const int code = done ? 0 : show_failure(state, done.error());
  say_if_read_only(state);
  return code;
}

// As pdb shows one; the rest is for what pdb cannot have.
int show_failure(const PromptState& state, const Error& error) {
  if (error.id == ErrorId::System) {
    return report(error, state.err);
  }
  say(stderr, "{} {}\n", state.err.red("***"), printable(error.text()));
  if (!error.hint.empty()) {
    say(stderr, "    try: {}\n", printable(error.hint));
  }
  return exit_code(error.id);
}

// No more requests are possible.
bool target_is_lost(const PromptState& state) {
  return !state.session.alive();
}

void show_place(PromptState& state, std::string_view behind) {
  const dap::StackFrame& frame = state.place.frame();
  say("{} {}{}\n", state.out.green(">"), state.out.bold(place_text(frame)),
      behind);
  const auto path = frame.source ? frame.source->path.value_or("") : "";
  if (const auto line = state.sources.line(path, frame.line)) {
    say("{} {}\n", state.out.green("->"),
        state.out.has_colours() ? PythonColours().line(*line) : *line);
  }
  state.list_from.reset();
}

void say_if_read_only(PromptState& state) {
  const bool now = state.session.read_only();
  if (now && !state.said_read_only) {
    const std::string why =
        fmt::format("read-only: {}; stacks and source work, other commands {}",
                    state.session.why_read_only(),
                    state.session.is_outside() ? "do not" : "wait");
    say(stderr, "{}\n", state.err.dim(printable(why)));
  }
  state.said_read_only = now;
}

Status follow(PromptState& state) {
  TRY(look_again(state));
  return {};
}

void run_python_line(PromptState& state, const std::string& text) {
  with_interrupt(state, finish(state, run_command(state, {"", text})));
}

Result<bool> find_frame_again(PromptState& state) {
  state.session.allow_outside(false);
  auto same = look_again(state);
  state.session.allow_outside(true);
  return same;
}

namespace {

Result<bool> look_again(PromptState& state) {
  const bool same = TRY(state.place.refresh(state.session, state.deadline()));
  if (!same) {
    say("{}\n", state.out.dim("the frame has returned; now in"));
    show_place(state);
  }
  return same;
}

Status run_command(PromptState& state, const TypedCommand& typed) {
  log::debug(log::Area::Client, "command \"{}\" with \"{}\"", typed.name,
             typed.argument);
  // Python is what the command "!" runs.
  const Command* const command =
      find_command(typed.name.empty() ? "!" : typed.name);
  if (command == nullptr) {
    return fail(ErrorId::Usage, typed.name + ": not supported in this version",
                "!" + typed.name +
                    " is a pdb command without a counterpart here; help lists "
                    "the commands");
  }
  if (command->arguments.empty() && !typed.argument.empty()) {
    return fail(ErrorId::Usage,
                fmt::format("{} takes no argument: {}", typed.name,
                            printable(typed.argument)),
                fmt::format("{}  or, as Python, !{} {}", typed.name, typed.name,
                            printable(typed.argument)));
  }
  const Paged paged(is_paged(*command));
  return command->run(state, typed.argument);
}

// Ctrl-C may have come when nothing ran that could end of it, or beside another
// failure.
int with_interrupt(const PromptState& state, int code) {
  const bool is_said = code == exit_code(ErrorId::Interrupted);
  return Interruptible::take() && !is_said
             ? show_failure(state, {.id = ErrorId::Interrupted,
                                    .message = "interrupted"})
             : code;
}

// What lets the thread go shows things as they come, and so does what runs
// other commands.
bool is_paged(const Command& command) {
  const auto is_in = [&](std::span<const Command> table) {
    return std::ranges::any_of(
        table, [&](const Command& one) { return &one == &command; });
  };
  return !is_in(hold_commands()) && !is_in(rank_commands());
}

}  // namespace
}  // namespace hangdbg
