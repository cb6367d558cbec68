// Taking hold of the thread: hold, release.
#include <fmt/core.h>

#include <array>

#include "client/prompt/command.h"
#include "client/prompt/prompt.h"
#include "server/hold.h"

namespace hangdbg {
namespace {

Status hold(PromptState& state, std::string_view) {
  const auto tid = state.place.thread().tid;
  if (state.held.contains(tid)) {
    fmt::print("thread {} is held already\n", tid);
    return {};
  }
  TRY(hold_thread(state.session, tid, state.deadline()));
  state.held.insert(tid);
  fmt::print("{}\n",
             state.out.dim(fmt::format(
                 "thread {} is held: it runs what you ask, and nothing else, "
                 "until release; then its call may see EINTR",
                 tid)));
  return {};
}

Status release(PromptState& state, std::string_view) {
  const auto tid = state.place.thread().tid;
  if (state.held.erase(tid) == 0) {
    return fail(ErrorId::Usage, fmt::format("thread {} is not held", tid),
                "hold");
  }
  TRY(release_thread(state.session, tid, state.deadline()));
  fmt::print("{}\n", state.out.dim(fmt::format("thread {} goes on", tid)));
  return {};
}

}  // namespace

std::span<const Command> hold_commands() {
  static const std::array<Command, 2> commands = {
      Command{{"hold"},
              "",
              "Takes hold of this thread: Python runs on it from now on.",
              hold},
      Command{{"release"}, "", "Lets it go on.", release},
  };
  return commands;
}

}  // namespace hangdbg
