// Where: w, u, d, threads, thread.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "base/text.h"
#include "client/prompt/command.h"
#include "client/prompt/prompt.h"
#include "client/prompt/stops.h"
#include "client/terminal/render.h"
#include "injector/checks/preflight.h"
#include "protocol/requests/exceptions.h"
#include "protocol/requests/stack_trace.h"
#include "protocol/requests/threads.h"
#include "server/session/hold.h"
#include "server/session/hung_thread.h"

namespace hangdbg {
namespace {

// Negative: as far as there are frames, as in pdb.
Result<std::size_t> parse_count(std::string_view argument) {
  if (argument.empty()) {
    return 1;
  }
  const auto count = parse_number<std::int32_t>(argument);
  if (!count) {
    return fail(ErrorId::Usage,
                fmt::format("Invalid frame count ({})", printable(argument)));
  }
  return *count < 0 ? std::numeric_limits<std::int32_t>::max()
                    : static_cast<std::size_t>(*count);
}

// The whole stack, the newest frame last, as in pdb; or so many of the newest,
// with a minus of the oldest, with 0 the current one.
Status where(PromptState& state, std::string_view argument) {
  const auto count = parse_number<std::int64_t>(argument);
  if (!argument.empty() && !count) {
    return fail(ErrorId::Usage,
                fmt::format("Invalid count ({})", printable(argument)));
  }
  TRY(follow(state));
  const auto& frames = state.place.thread().stack.stack_frames;
  const std::int64_t all = std::ssize(frames);
  for (std::size_t i = frames.size(); i-- > 0;) {
    const auto nth = static_cast<std::int64_t>(i);  // the newest is 0
    if (count && (*count == 0  ? i != state.place.index()
                  : *count > 0 ? nth >= *count
                               : nth < all + *count)) {
      continue;
    }
    const dap::StackFrame& frame = frames[i];
    const bool here = i == state.place.index();
    const std::string text = place_text(frame);
    say("{} {}\n", here ? state.out.green(">") : " ",
        here ? state.out.bold(text) : text);
    const auto path = frame.source ? frame.source->path.value_or("") : "";
    if (const auto line = state.sources.line(path, frame.line)) {
      say("{} {}\n", here ? state.out.green("->") : "->",
          here ? *line : state.out.dim(*line));
    }
  }
  return {};
}

Status up(PromptState& state, std::string_view argument) {
  const auto count = TRY(parse_count(argument));
  TRY(follow(state));
  TRY(state.place.up(count));
  show_place(state);
  return {};
}

Status down(PromptState& state, std::string_view argument) {
  const auto count = TRY(parse_count(argument));
  TRY(follow(state));
  TRY(state.place.down(count));
  show_place(state);
  return {};
}

// "runs", "in futex": what the kernel says of a thread.
std::string activity(int pid, std::int64_t tid) {
  const auto look = sample_wait(pid, static_cast<int>(tid));
  if (!look) {
    return "";
  }
  if (!look->syscall.empty()) {
    return "in " + look->syscall;
  }
  return look->state == 'R' ? "runs" : fmt::format("state {}", look->state);
}

// The innermost frame; of a thread that cannot be read, why. Errors: what ends
// the whole listing.
Result<std::string> innermost(PromptState& state,
                              std::int64_t tid,
                              Deadline deadline) {
  const auto top = state.session.stack(tid, 1, deadline);
  if (top) {
    return top->stack_frames.empty() ? "has ended"
                                     : place_text(top->stack_frames.front());
  }
  switch (top.error().id) {
    case ErrorId::BadMessage:
      return "has ended";
    case ErrorId::Unreadable:
      return printable(top.error().text());
    default:
      return std::unexpected(top.error());
  }
}

Status threads(PromptState& state, std::string_view) {
  const auto deadline = state.deadline();
  const auto listed = TRY(state.session.threads(deadline));
  const auto gil = state.session.gil();
  std::size_t names = 0;
  std::size_t activities = 0;
  std::vector<std::string> activity_of;
  for (const dap::Thread& thread : listed.threads) {
    activity_of.push_back(activity(state.session.target().pid, thread.id));
    names = std::max(names, printable(thread.name).size());
    activities = std::max(activities, activity_of.back().size());
  }
  for (std::size_t i = 0; i < listed.threads.size(); ++i) {
    const dap::Thread& thread = listed.threads[i];
    const bool here = thread.id == state.place.thread().tid;
    const bool has_gil = gil && gil->holder_tid == thread.id;
    say("{} {:>7} {:<{}}  {:<{}}  {}  {}\n", here ? state.out.green("*") : " ",
        thread.id, printable(thread.name), names, activity_of[i], activities,
        has_gil ? state.out.red("GIL") : "   ",
        TRY(innermost(state, thread.id, deadline)));
  }
  return {};
}

Status thread(PromptState& state, std::string_view argument) {
  if (argument.empty()) {
    const ShownThread& now = state.place.thread();
    say("Thread {} \"{}\"\n", now.tid, printable(now.name));
    return {};
  }
  auto chosen = TRY(
      choose_thread(state.session, std::string(argument), state.deadline()));
  state.place = TRY(Place::at(std::move(chosen)));
  forget_stop(state, state.place.thread().tid);
  show_place(state);
  return {};
}

// As pdb has it: what came first comes first, > marks the one whose functions
// are shown.
Status exceptions(PromptState& state, std::string_view argument) {
  const auto number = parse_number<std::int64_t>(argument);
  if (!argument.empty() && (!number || *number < 0)) {
    return fail(ErrorId::Usage, "exceptions wants a number of its list",
                "exceptions");
  }
  TRY(follow(state));
  const std::int64_t tid = state.place.thread().tid;
  const auto deadline = state.deadline();
  TRY(state.session.need_breakpoints(deadline));
  dap::Exceptions::Arguments wanted;
  wanted.thread_id = TRY(agents_number(state.session, tid));
  wanted.show = number;
  const auto body =
      TRY(state.session.call<dap::Exceptions>(std::move(wanted), deadline));
  if (number) {
    state.place = TRY(Place::at(
        TRY(choose_thread(state.session, fmt::format("{}", tid), deadline))));
    show_place(state);
    return {};
  }
  for (std::size_t i = 0; i < body.exceptions.size(); ++i) {
    const auto& one = body.exceptions[i];
    say("{} {:>3} {:{}}{}\n", one.shown ? state.out.green(">") : " ", i, "",
        one.depth * 2, foreign(one.text));
  }
  return {};
}

}  // namespace

std::span<const Command> stack_commands() {
  static const std::array<Command, 6> commands = {
      Command{{"w", "where", "bt"},
              "[count]",
              "Show the stack of the thread, newest frame last; > marks the "
              "current frame. COUNT: only so many of the newest; negative: of "
              "the oldest; 0: the current one.",
              where},
      Command{
          {"u", "up"},
          "[count]",
          "Move COUNT (default 1) frames up, to callers; -1: to the oldest.",
          up,
          Word::Command,
          true},
      Command{{"d", "down"},
              "[count]",
              "Move COUNT (default 1) frames down; -1: to the newest.",
              down,
              Word::Command,
              true},
      Command{{"threads"},
              "",
              "List Python threads: state, GIL, current frame.",
              threads},
      Command{{"thread"},
              "[tid|name|main]",
              "Switch to a thread; without arguments show the current one.",
              thread},
      Command{{"exceptions"},
              "[number]",
              "List the exception that the thread stopped for, its causes and "
              "members; with a number show the frames of that one.",
              exceptions},
  };
  return commands;
}

}  // namespace hangdbg
