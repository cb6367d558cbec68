#include "client/prompt/stops.h"

#include <fmt/core.h>
#include <unistd.h>

#include "base/text.h"
#include "client/prompt/display.h"
#include "server/hold.h"
#include "tracee/proc_tasks.h"

namespace hangdbg {
namespace {

constexpr auto kForever = std::chrono::hours(24 * 365);
// Whether a thread that is waited for has ended.
constexpr auto kLookAgain = std::chrono::milliseconds(200);

Status arrive(PromptState& state, Stop stop);
bool ends_debug(const Stop& stop);
void note_end_of_debug(PromptState& state, const Stop& stop);
std::string reason(const PromptState& state, const Stop& stop);

}  // namespace

Status note_stops(PromptState& state) {
  while (const auto stop = TRY(next_stop(state.session, Deadline::in({})))) {
    note_end_of_debug(state, *stop);
    if (state.held.insert(stop->tid).second) {
      state.unseen.push_back(*stop);
      fmt::print("{}\n", state.out.dim(fmt::format(
                             "thread {} stands: {} (thread {} goes there)",
                             stop->tid, reason(state, *stop), stop->tid)));
    }
  }
  return {};
}

void forget_stop(PromptState& state, std::int64_t tid) {
  std::erase_if(state.unseen,
                [tid](const Stop& stop) { return stop.tid == tid; });
}

Status await_stop(PromptState& state, std::optional<std::int64_t> tid) {
  const bool patient =
      ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  const Deadline deadline = patient ? Deadline::in(kForever) : state.deadline();
  if (!tid && !state.unseen.empty()) {
    return arrive(state, state.unseen.front());
  }
  while (!deadline.expired()) {
    const auto stop =
        TRY(next_stop(state.session, deadline.capped(kLookAgain)));
    if (!stop) {
      if (tid) {
        TRY(read_task_stat(state.session.target().pid, static_cast<int>(*tid)));
      }
      continue;
    }
    note_end_of_debug(state, *stop);
    state.held.insert(stop->tid);
    if (!tid || stop->tid == *tid) {
      return arrive(state, *stop);
    }
    fmt::print("{}\n",
               state.out.dim(fmt::format("thread {} stands: {}", stop->tid,
                                         reason(state, *stop))));
  }
  return fail(ErrorId::TimedOut,
              tid ? fmt::format("thread {} has not come to its next line; it "
                                "goes on, and stops there",
                                *tid)
                  : "no thread has come to a breakpoint",
              tid ? "w" : "c");
}

namespace {

Status arrive(PromptState& state, Stop stop) {
  forget_stop(state, stop.tid);
  const auto before = state.place.thread().tid;
  auto thread = TRY(choose_thread(state.session, fmt::format("{}", stop.tid),
                                  state.deadline()));
  state.place = TRY(Place::at(std::move(thread)));
  const PromptBreakpoint* const hit = state.breakpoints.hit_by(stop.why);
  if (hit == nullptr || !hit->silent) {
    if (hit != nullptr || stop.tid != before || ends_debug(stop)) {
      fmt::print("{}\n", state.out.dim(fmt::format(
                             "thread {} \"{}\" stands: {}", stop.tid,
                             printable(state.place.thread().name),
                             reason(state, stop))));
    }
    show_place(state);
  }
  if (hit != nullptr) {
    state.pending.insert(state.pending.end(), hit->commands.begin(),
                         hit->commands.end());
  }
  state.breakpoints.forget_if_temporary(stop.why);
  return show_displays(state);
}

// By agent/debugged.py: no other step says how it ended.
bool ends_debug(const Stop& stop) {
  return stop.why.reason == "step" && stop.why.text;
}

void note_end_of_debug(PromptState& state, const Stop& stop) {
  if (ends_debug(stop)) {
    --state.debugging[stop.tid];
  }
}

std::string reason(const PromptState& state, const Stop& stop) {
  if (const auto* const hit = state.breakpoints.hit_by(stop.why)) {
    return fmt::format("breakpoint {}", hit->number);
  }
  return printable(
      stop.why.text.value_or(stop.why.description.value_or(stop.why.reason)));
}

}  // namespace
}  // namespace hangdbg
