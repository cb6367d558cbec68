// Where: w, u, d, threads, thread.
#include <fmt/core.h>

#include <array>
#include <ranges>

#include "base/text.h"
#include "client/prompt/command.h"
#include "client/prompt/prompt.h"
#include "protocol/requests/stack_trace.h"
#include "protocol/requests/threads.h"
#include "server/hung_thread.h"

namespace hangdbg {
namespace {

Result<std::size_t> parse_count(std::string_view argument) {
  if (argument.empty()) {
    return 1;
  }
  const auto count = parse_number<std::size_t>(argument);
  if (!count || *count == 0) {
    return fail(ErrorId::Usage,
                fmt::format("Invalid frame count ({})", argument));
  }
  return *count;
}

// The whole stack, the newest frame last, as pdb has it.
Status where(PromptState& state, std::string_view) {
  TRY(follow(state));
  const auto& frames = state.place.thread().stack.stack_frames;
  for (std::size_t i = frames.size(); i-- > 0;) {
    const dap::StackFrame& frame = frames[i];
    const bool here = i == state.place.index();
    const std::string text = place_text(frame);
    fmt::print("{} {}\n", here ? state.out.green(">") : " ",
               here ? state.out.bold(text) : text);
    const auto path = frame.source ? frame.source->path.value_or("") : "";
    if (const auto line = state.sources.line(path, frame.line)) {
      fmt::print("{} {}\n", here ? state.out.green("->") : "->",
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

Status threads(PromptState& state, std::string_view) {
  const auto deadline = state.deadline();
  const auto listed = TRY(state.session.threads(deadline));
  std::size_t width = 0;
  for (const dap::Thread& thread : listed.threads) {
    width = std::max(width, thread.name.size());
  }
  for (const dap::Thread& thread : listed.threads) {
    const auto top = state.session.stack(thread.id, 1, deadline);
    if (!top && top.error().id != ErrorId::BadMessage) {
      return std::unexpected(top.error());
    }
    const bool has_frame = top && !top->stack_frames.empty();
    const bool here = thread.id == state.place.thread().tid;
    fmt::print("{} {:>7} {:<{}}  {}\n", here ? state.out.green("*") : " ",
               thread.id, printable(thread.name), width,
               has_frame ? place_text(top->stack_frames.front()) : "has ended");
  }
  return {};
}

Status thread(PromptState& state, std::string_view argument) {
  if (argument.empty()) {
    const ShownThread& now = state.place.thread();
    fmt::print("Thread {} \"{}\"\n", now.tid, printable(now.name));
    return {};
  }
  auto chosen = TRY(
      choose_thread(state.session, std::string(argument), state.deadline()));
  state.place = TRY(Place::at(std::move(chosen), 0));
  show_place(state);
  return {};
}

}  // namespace

std::span<const Command> stack_commands() {
  static const std::array<Command, 5> commands = {
      Command{{"w", "where", "bt"},
              "",
              "The thread's stack, the newest frame last. > is where you are.",
              where},
      Command{{"u", "up"},
              "[count]",
              "To the caller's frame, or count frames up.",
              up,
              Word::Command,
              true},
      Command{{"d", "down"},
              "[count]",
              "To the called frame, or count frames down.",
              down,
              Word::Command,
              true},
      Command{{"threads"},
              "",
              "The Python threads and where each of them is.",
              threads},
      Command{{"thread"},
              "[tid|name|main]",
              "To another thread, or which one this is.",
              thread},
  };
  return commands;
}

}  // namespace hangdbg
