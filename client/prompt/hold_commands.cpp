// Taking hold of the thread, and stepping it: hold, release, c, s, n, r, unt,
// j.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "client/prompt/command.h"
#include "client/prompt/prompt.h"
#include "client/prompt/stops.h"
#include "protocol/requests/raise.h"
#include "server/session/hold.h"

namespace hangdbg {
namespace {

Status hold(PromptState& state, std::string_view) {
  const auto tid = state.place.thread().tid;
  if (state.held.contains(tid)) {
    say("thread {} is already suspended\n", tid);
    return {};
  }
  say_others_wait(state);
  TRY(hold_thread(state.session, tid, state.deadline()));
  state.held.insert(tid);
  say("{}\n", state.out.dim(fmt::format(
                  "thread {} is suspended: it runs only what you ask, until "
                  "release; its system call may then return EINTR",
                  tid)));
  return {};
}

// What cannot be done on a thread is no reason to keep it.
template <class Outcome>
Outcome let_go_if_failed(PromptState& state, bool was_held, Outcome outcome) {
  if (outcome || was_held) {
    return outcome;
  }
  const auto tid = state.place.thread().tid;
  [[maybe_unused]] const Status taken = take_stops(state);  // the hold's own
  if (state.held.erase(tid) > 0) {
    state.session.forget_interrupt();
    [[maybe_unused]] const Status gone =
        release_thread(state.session, tid, state.deadline());
    say("{}\n", state.out.dim(fmt::format("thread {} resumed", tid)));
  }
  return outcome;
}

// The thread resumes and is held again.
Status step(PromptState& state, Step how) {
  const auto tid = state.place.thread().tid;
  const bool was_held = state.held.contains(tid);
  if (!was_held) {
    TRY(hold(state, {}));
  }
  TRY(note_stops(state));
  forget_stop(state, tid);
  how.events = true;
  TRY(let_go_if_failed(
      state, was_held,
      step_thread(state.session, tid, std::move(how), state.deadline())));
  state.held.erase(tid);
  state.stepping.insert(tid);
  if (state.together) {
    state.awaited = tid;
    return {};
  }
  return await_stop(state, tid);
}

Status next(PromptState& state, std::string_view) {
  return step(state, {.kind = StepKind::Next});
}

Status step_into(PromptState& state, std::string_view) {
  return step(state, {.kind = StepKind::Into});
}

Status return_from(PromptState& state, std::string_view) {
  return step(state, {.kind = StepKind::Out});
}

Status until(PromptState& state, std::string_view argument) {
  const auto line = argument.empty() ? state.place.frame().line + 1
                                     : parse_number<std::int64_t>(argument);
  if (!line) {
    return fail(ErrorId::Usage,
                fmt::format("not a line number: {}", printable(argument)),
                "unt [line]");
  }
  if (!argument.empty() && *line <= state.place.frame().line) {
    return fail(ErrorId::Usage,
                "\"until\" line number is smaller than current line number");
  }
  return step(state, {.kind = StepKind::Until, .line = *line});
}

// In the frame that is shown; in whatever this thread runs.
Status watch(PromptState& state, std::string_view expression) {
  if (expression.empty()) {
    return fail(ErrorId::Usage, "watch needs an expression", "watch total");
  }
  const auto frame = state.place.depth() - state.place.index();
  return step(state, {.kind = StepKind::Until,
                      .watch = std::string(expression),
                      .frame = static_cast<std::int64_t>(frame)});
}

Status release(PromptState& state, std::string_view) {
  const auto tid = state.place.thread().tid;
  TRY(state.session.entered());
  const bool steps = state.stepping.erase(tid) > 0;
  if (state.held.erase(tid) == 0 && !steps) {
    return fail(ErrorId::Usage, fmt::format("thread {} is not suspended", tid),
                "hold");
  }
  forget_stop(state, tid);
  TRY(release_thread(state.session, tid, state.deadline()));
  say("{}\n", state.out.dim(fmt::format(
                  "thread {} {}", tid,
                  steps ? "continues; its step is given up" : "resumed")));
  return {};
}

// Where there are breakpoints, until a thread reaches one; in `debug`, to its
// end.
Status go_on(PromptState& state, std::string_view) {
  const auto tid = state.place.thread().tid;
  const bool waits = state.breakpoints.any_enabled() || !state.unseen.empty() ||
                     state.debugging[tid] > 0;
  if (state.runs && !waits) {
    state.leaving = true;  // the end of the session lets it go
    return {};
  }
  // It stopped before this was typed: the user has not seen it there yet.
  const bool is_there = std::ranges::count(state.unseen, tid, &Stop::tid) > 0;
  if (!is_there && (!waits || state.held.contains(tid))) {
    TRY(release(state, {}));
  }
  return waits && !state.together ? await_stop(state, std::nullopt) : Status();
}

Status jump(PromptState& state, std::string_view argument) {
  const auto line = parse_number<std::int64_t>(argument);
  if (!line) {
    return fail(ErrorId::Usage, "The 'jump' command requires a line number");
  }
  const auto tid = state.place.thread().tid;
  if (auto jumped = jump_thread(state.session, tid, *line, state.deadline());
      !jumped) {
    if (jumped.error().id == ErrorId::ExpressionFailed) {
      jumped.error().message = "Jump failed: " + jumped.error().message;
    }
    return jumped;
  }
  return await_stop(state, tid);
}

Status debug(PromptState& state, std::string_view code) {
  if (code.empty()) {
    return fail(ErrorId::Usage, "debug needs an expression or a statement",
                "debug compute(3)");
  }
  const auto tid = state.place.thread().tid;
  const bool was_held = state.held.contains(tid);
  if (!was_held) {
    TRY(hold(state, {}));
    TRY(follow(state));
  }
  TRY(note_stops(state));
  forget_stop(state, tid);
  TRY(let_go_if_failed(state, was_held,
                       debug_in_thread(state.session, tid,
                                       {.frame_id = state.place.frame().id,
                                        .expression = std::string(code)},
                                       state.deadline())));
  state.held.erase(tid);
  ++state.debugging[tid];
  return await_stop(state, tid);
}

Status raise(PromptState& state, std::string_view exception) {
  const auto tid = state.place.thread().tid;
  if (exception.empty()) {
    return fail(ErrorId::Usage, "raise needs an exception",
                "raise TimeoutError('enough')");
  }
  const bool was_held = state.held.contains(tid);
  if (!was_held) {
    TRY(hold(state, {}));
    TRY(follow(state));
  }
  TRY(state.session.need("raising", state.deadline()));
  const std::int64_t number = TRY(agents_number(state.session, tid));
  const auto body = TRY(let_go_if_failed(
      state, was_held,
      ask_in_frame<dap::Raise>(state, {number, 0, std::string(exception)})));
  forget_stop(state, tid);
  state.held.erase(tid);
  say("{}\n",
      state.out.dim(fmt::format(
          "thread {} resumed, and raises the exception {}", tid,
          body.when == "now" ? "now"
                             : "when its system call returns: only that of the "
                               "main thread can be interrupted")));
  return {};
}

}  // namespace

std::span<const Command> hold_commands() {
  static const std::array<Command, 11> commands = {
      Command{{"hold"},
              "",
              "Suspend this thread; evaluate on it from now on.",
              hold},
      Command{{"release"}, "", "Resume the thread.", release},
      Command{{"c", "cont", "continue"},
              "",
              "Resume the thread, and wait for a breakpoint if any is set.",
              go_on},
      Command{{"s", "step"},
              "",
              "Run to the next line, in called functions too.",
              step_into,
              Word::Command,
              true},
      Command{{"n", "next"},
              "",
              "Run to the next line of this function.",
              next,
              Word::Command,
              true},
      Command{
          {"r", "return"}, "", "Run until this function returns.", return_from},
      Command{{"unt", "until"},
              "[line]",
              "Run to a later line, or to the given line.",
              until},
      Command{{"watch"},
              "expression",
              "Run until the value of an expression changes, in whatever "
              "function of this thread; or until this function returns.",
              watch},
      Command{{"j", "jump"},
              "line",
              "Jump to another line of this function.",
              jump},
      Command{{"debug"},
              "code",
              "Run code in this thread, and stop at its first line; the thread "
              "returns here afterwards.",
              debug,
              Word::CommandOnExpression},
      Command{{"raise"},
              "exception",
              "Raise an exception in this thread, and resume it.",
              raise},
  };
  return commands;
}

}  // namespace hangdbg
