#include "client/prompt/stops.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/text.h"
#include "client/prompt/attached_ranks.h"
#include "client/prompt/display.h"
#include "client/terminal/interrupt.h"
#include "server/session/hold.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/proc/wait_sample.h"

namespace hangdbg {
namespace {

constexpr auto kForever = std::chrono::hours(24 * 365);
// Whether a thread that is waited for has ended.
constexpr auto kBetweenLooks = std::chrono::milliseconds(200);
// A step that takes longer is explained.
constexpr auto kUsualStep = std::chrono::seconds(1);

Result<std::optional<Stop>> await_unseen(PromptState& state,
                                         std::optional<std::int64_t> tid,
                                         Deadline deadline);
Status await_news(PromptState& state, Deadline deadline);
void say_what_is_awaited(const PromptState& state, std::int64_t tid);
bool terminal_has_gone();
void take_in_stop(PromptState& state, const Stop& stop);
void say_notes(PromptState& state);
std::string show_event(const PromptState& state, const Stop& stop);
Status arrive(PromptState& state, Stop stop);
bool ends_debug(const Stop& stop);
bool is_exception(const Stop& stop);
void note_end_of_debug(PromptState& state, const Stop& stop);
std::string reason(const PromptState& state, const Stop& stop);

}  // namespace

Status take_stops(PromptState& state) {
  while (const auto stop = TRY(next_stop(state.session, Deadline::in({})))) {
    take_in_stop(state, *stop);
  }
  return {};
}

Status note_stops(PromptState& state) {
  if (state.others != nullptr && !state.together) {
    state.others->look();
    for (const AttachedRank* const one : state.others->all()) {
      if (one->state && &*one->state != &state && one->rank) {
        for (const Stop& stop : one->state->unseen) {
          if (state.told.insert({*one->rank, stop.tid}).second) {
            say("{}\n",
                state.out.dim(fmt::format(
                    "rank {} stopped: {} (`rank {}` switches to it)",
                    *one->rank, reason(*one->state, stop), *one->rank)));
          }
        }
      }
    }
  }
  const Status taken = take_stops(state);
  say_notes(state);
  return taken;
}

Status go_to_stop(PromptState& state) {
  if (!state.unseen.empty()) {
    const std::int64_t tid = state.unseen.front().tid;
    state.place = TRY(Place::at(TRY(choose_thread(
        state.session, fmt::format("{}", tid), state.deadline()))));
    state.notes.erase(tid);
    forget_stop(state, tid);
  }
  return {};
}

void say_others_wait(PromptState& state) {
  if (!state.rank || state.others == nullptr ||
      state.others->timer() != nullptr || state.said_others_wait) {
    return;
  }
  state.said_others_wait = true;
  say(stderr, "{}\n",
      state.err.dim(
          fmt::format("other ranks wait while one is suspended, and their "
                      "timeouts are not raised; to raise them: ranks {} b ...",
                      *state.rank)));
}

void forget_stop(PromptState& state, std::int64_t tid) {
  std::erase_if(state.unseen,
                [tid](const Stop& stop) { return stop.tid == tid; });
}

Status await_stop(PromptState& state, std::optional<std::int64_t> tid) {
  const bool patient =
      ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  const Deadline deadline = patient ? Deadline::in(kForever) : state.deadline();
  state.awaited = tid;
  const auto stop = await_unseen(state, tid, deadline);
  state.awaited.reset();
  if (!stop) {
    return std::unexpected(stop.error());
  }
  if (*stop) {
    return arrive(state, **stop);
  }
  return {};
}

namespace {

// Nothing: it is another rank's, where the prompt is to go.
Result<std::optional<Stop>> await_unseen(PromptState& state,
                                         std::optional<std::int64_t> tid,
                                         Deadline deadline) {
  const Deadline usual = Deadline::in(kUsualStep);
  bool is_said = false;
  for (;;) {
    if (state.others != nullptr) {
      state.others->look();
    }
    TRY(take_stops(state));
    for (const Stop& stop : state.unseen) {
      if (!tid || stop.tid == *tid) {
        return stop;
      }
    }
    if (!tid && state.others != nullptr) {
      if (const auto rank = state.others->stopped_elsewhere(state)) {
        state.go_to = rank;
        state.leaving = true;
        return std::nullopt;
      }
    }
    if (deadline.expired()) {
      return fail(ErrorId::TimedOut,
                  tid ? fmt::format("thread {} has not reached its next line; "
                                    "it continues, and stops there",
                                    *tid)
                      : "no thread has reached a breakpoint",
                  tid ? "w" : "c");
    }
    TRY(await_news(state, deadline.capped(kBetweenLooks)));
    if (Interruptible::take()) {
      return fail(ErrorId::Interrupted, "interrupted");
    }
    if (terminal_has_gone()) {
      state.leaving = true;
      return fail(ErrorId::ChannelClosed, "the terminal is closed");
    }
    if (tid) {
      TRY(read_task_stat(state.session.target().pid, static_cast<int>(*tid)));
      if (usual.expired() && !std::exchange(is_said, true)) {
        say_what_is_awaited(state, *tid);
      }
    }
  }
}

Status await_news(PromptState& state, Deadline deadline) {
  if (state.others != nullptr) {
    state.others->await(deadline);
  } else if (const auto stop = TRY(next_stop(state.session, deadline))) {
    take_in_stop(state, *stop);
  }
  return {};
}

// A step over a call that is blocked is as silent as the call.
void say_what_is_awaited(const PromptState& state, std::int64_t tid) {
  const auto wait =
      sample_wait(state.session.target().pid, static_cast<int>(tid));
  const std::string where =
      tid == state.place.thread().tid
          ? " in " + printable(place_text(state.place.frame()))
          : "";
  say(stderr, "{}\n",
      state.err.dim(fmt::format(
          "thread {} has not reached its next line: it {}{}; Ctrl-C stops "
          "waiting, `release` then gives the step up",
          tid,
          wait && !wait->syscall.empty() ? "is blocked in " + wait->syscall
                                         : "runs",
          where)));
}

// Without a controlling terminal there is no SIGHUP. A pipe that has ended is
// no reason: what was typed into it is to be done.
bool terminal_has_gone() {
  struct stat file {};
  pollfd input = {STDIN_FILENO, 0, 0};
  return ::fstat(STDIN_FILENO, &file) == 0 && S_ISCHR(file.st_mode) &&
         ::poll(&input, 1, 0) == 1 && (input.revents & POLLHUP) != 0;
}

void take_in_stop(PromptState& state, const Stop& stop) {
  state.stepping.erase(stop.tid);
  if (stop.goes_on) {
    state.held.erase(stop.tid);
    forget_stop(state, stop.tid);
    state.time_was_up = true;
    state.breakpoints.disable_all();
    state.notes[stop.tid] = fmt::format(
        "thread {} resumed: the time limit expired; the breakpoints of this "
        "process are disabled",
        stop.tid);
    return;
  }
  note_end_of_debug(state, stop);
  // One that jumps is before it, too.
  if (state.held.insert(stop.tid).second || state.awaited == stop.tid) {
    state.unseen.push_back(stop);
    if (state.awaited != stop.tid) {
      state.notes[stop.tid] =
          fmt::format("thread {} stopped: {} (`thread {}` switches to it)",
                      stop.tid, reason(state, stop), stop.tid);
    }
  }
}

void say_notes(PromptState& state) {
  for (const auto& [tid, note] : std::exchange(state.notes, {})) {
    say("{}\n", state.out.dim(note));
  }
}

// "--Call--", "--Return--" or an exception, above the place; behind it what a
// function returns.
std::string show_event(const PromptState& state, const Stop& stop) {
  if (stop.why.reason != "step" || !stop.why.description) {
    return {};
  }
  say("{}\n", state.out.bold(foreign(*stop.why.description)));
  return stop.why.text ? "->" + printable(*stop.why.text) : std::string();
}

Status arrive(PromptState& state, Stop stop) {
  state.notes.erase(stop.tid);
  forget_stop(state, stop.tid);
  const auto before = state.place.thread().tid;
  auto thread = TRY(choose_thread(state.session, fmt::format("{}", stop.tid),
                                  state.deadline()));
  state.place = TRY(Place::at(std::move(thread)));
  const PromptBreakpoint* const hit = state.breakpoints.hit_by(stop.why);
  if (hit == nullptr || !hit->silent) {
    if (hit != nullptr || stop.tid != before || ends_debug(stop) ||
        is_exception(stop)) {
      say("{}\n",
          state.out.dim(fmt::format("thread {} \"{}\" stopped: {}", stop.tid,
                                    printable(state.place.thread().name),
                                    reason(state, stop))));
    }
    show_place(state, show_event(state, stop));
  }
  if (hit != nullptr) {
    state.pending.insert(state.pending.end(), hit->commands.begin(),
                         hit->commands.end());
  }
  state.breakpoints.forget_if_temporary(stop.why);
  say_notes(state);
  return show_displays(state);
}

bool is_exception(const Stop& stop) {
  return stop.why.reason == "exception";
}

// By agent/debugged.py: no other step says how it ended.
bool ends_debug(const Stop& stop) {
  return stop.why.reason == "step" && stop.why.text && !stop.why.description;
}

void note_end_of_debug(PromptState& state, const Stop& stop) {
  if (ends_debug(stop)) {
    --state.debugging[stop.tid];
  }
}

std::string reason(const PromptState& state, const Stop& stop) {
  if (const auto* const hit = state.breakpoints.hit_by(stop.why)) {
    return fmt::format("breakpoint {}{}", hit->number,
                       is_exception(stop) && stop.why.description
                           ? ": " + printable(*stop.why.description)
                           : "");
  }
  if (is_exception(stop) && stop.why.description) {
    return printable(*stop.why.description);
  }
  return printable(
      stop.why.text.value_or(stop.why.description.value_or(stop.why.reason)));
}

}  // namespace
}  // namespace hangdbg
