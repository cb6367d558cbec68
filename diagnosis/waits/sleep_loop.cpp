#include "diagnosis/waits/sleep_loop.h"

#include <fmt/core.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostSleepFrames = 6;  // from the sleeping one outwards

// Library loops that retry a function, with the variable that holds it.
struct Retrier {
  std::string_view function;
  std::string_view file;
  std::string_view tried;
};
constexpr Retrier kRetriers[] = {
    {"__call__", "/tenacity/__init__.py", "fn"},
    {"call", "/tenacity/__init__.py", "fn"},
    {"retry", "/backoff/_sync.py", "target"},
    {"call", "/retrying.py", "fn"},
    {"__retry_internal", "/retry/api.py", "f"},
    {"retry_target", "/google/api_core/retry.py", "target"},
    {"retry_target", "/google/api_core/retry/retry_unary.py", "target"},
};

// A flag by which another thread ends a working loop.
bool is_flag(const CallText& call) {
  return call.callee.ends_with(".is_set");
}

// The function that it tries, by its own name.
std::string tried_by(const ProcessSnapshot& of, const PythonFrame& frame) {
  for (const Retrier& one : kRetriers) {
    if (frame.function != one.function || !frame.file.ends_with(one.file)) {
      continue;
    }
    for (const char* const name : {".__qualname__", ".__name__"}) {
      if (const auto text = of.text(frame, std::string(one.tried) + name)) {
        return *text + "()";
      }
    }
    return std::string(one.tried) + "()";
  }
  return "";
}

std::string asked(const LoopAround& around) {
  for (const CallText& call : around.conditions) {
    if (!call.text.empty()) {
      return call.text;
    }
  }
  return around.conditions.empty() && !around.variables.empty()
             ? around.variables.front()
             : "";
}

enum class LoopKind { Polls, Works, Pauses };

LoopKind kind_of_loop(const LoopAround& around) {
  const bool flags = !around.conditions.empty() &&
                     std::ranges::all_of(around.conditions, is_flag);
  if (!around.conditions.empty() && !(flags && !around.work.empty())) {
    return LoopKind::Polls;
  }
  if (!around.work.empty()) {
    return LoopKind::Works;
  }
  return !around.variables.empty() ? LoopKind::Polls : LoopKind::Pauses;
}

std::string callees_of(const std::vector<CallText>& calls) {
  constexpr std::size_t kMost = 3;
  std::string list;
  std::size_t count = 0;
  for (const CallText& call : calls) {
    if (!call.callee.empty() && count++ < kMost) {
      list += fmt::format("{}`{}`", list.empty() ? "" : ", ", call.callee);
    }
  }
  return printable(list);
}

bool names_sleep(std::string_view text) {
  constexpr std::string_view kSleeps[] = {"sleep", "wait", "select", "poll",
                                          "pause"};
  return std::ranges::any_of(kSleeps, [&](std::string_view one) {
    return text.find(one) != std::string_view::npos;
  });
}

// Whether that call of a C function is how the loop pauses. A callable that it
// was given, as in "func(*args)" or "context.run(func)", is its work, even if
// that sleeps.
bool is_pause(const ProcessSnapshot& of,
              const PythonFrame& frame,
              const CallText& call,
              const LoopAround& around) {
  if (names_sleep(call.callee.substr(call.callee.rfind('.') + 1))) {
    return true;
  }
  return !around.sets_callee &&
         (!around.sets_arguments || names_sleep(of.shown(frame, call.callee)));
}

}  // namespace

// Before 3.11 time.sleep selects from no descriptors.
bool is_timed_sleep(const TaskSyscall& call) {
  return !call.running &&
         (call.number == SYS_nanosleep || call.number == SYS_clock_nanosleep ||
          ((call.number == SYS_select || call.number == SYS_pselect6) &&
           call.args[0] == 0 && call.args[4] != 0) ||
          (call.number == SYS_poll && call.args[1] == 0 &&
           static_cast<std::int32_t>(call.args[2]) >= 0));
}

bool is_sleep_for_ever(const TaskSyscall& call) {
  return !call.running &&
         (((call.number == SYS_select || call.number == SYS_pselect6) &&
           call.args[0] == 0 && call.args[4] == 0) ||
          (call.number == SYS_poll && call.args[1] == 0 &&
           static_cast<std::int32_t>(call.args[2]) < 0));
}

std::string SleepLoop::lines() const {
  return fmt::format(
      "{}:{} in {}", printable(base_name(frame->file)),
      around.first_line == around.last_line
          ? fmt::format("{}", around.first_line)
          : fmt::format("{}-{}", around.first_line, around.last_line),
      printable(frame->function));
}

std::optional<SleepLoop> sleep_loop(const ProcessSnapshot& of,
                                    const ThreadSnapshot& thread,
                                    std::size_t sleeper) {
  return sleep_loop(of, thread.frames(), sleeper);
}

std::optional<SleepLoop> sleep_loop(const ProcessSnapshot& of,
                                    const std::vector<PythonFrame>& frames,
                                    std::size_t sleeper) {
  std::optional<SleepLoop> pauses;
  for (std::size_t i = sleeper;
       i < std::min(frames.size(), sleeper + kMostSleepFrames); ++i) {
    const auto read = of.loops(frames[i]);
    if (!read) {
      return pauses;
    }
    for (const LoopAround& around : read->loops) {
      // A callable that the loop was given is its work, and no helper.
      const bool given = around.sets_callee ||
                         (read->call.callee.empty() && around.sets_arguments);
      if (i == 0 ? !is_pause(of, frames[i], read->call, around) : given) {
        return pauses;
      }
      SleepLoop loop{.frame = &frames[i], .around = around};
      const std::string tried = tried_by(of, frames[i]);
      const LoopKind found =
          tried.empty() ? kind_of_loop(around) : LoopKind::Polls;
      if (found == LoopKind::Pauses) {
        if (!pauses) {
          pauses = std::move(loop);
        }
        continue;
      }
      loop.polls = found == LoopKind::Polls;
      loop.tries = !tried.empty();
      loop.certain = loop.polls && (loop.tries || around.work.empty());
      loop.asks = loop.tries ? tried : asked(around);
      return loop;
    }
    // A function that does more than sleep is no helper of the calling loop.
    if (!read->other_calls.empty()) {
      return pauses;
    }
  }
  return pauses;
}

std::optional<SleepLoop> timed_wait_loop(const ProcessSnapshot& of,
                                         const std::vector<PythonFrame>& frames,
                                         std::size_t caller) {
  const auto read =
      caller < frames.size() ? of.loops(frames[caller]) : std::nullopt;
  if (!read || read->loops.empty()) {
    return std::nullopt;
  }
  const LoopAround& around = read->loops.front();
  SleepLoop loop{.frame = &frames[caller], .timed = true, .around = around};
  loop.polls = around.work.empty() &&
               (around.asks_itself || kind_of_loop(around) == LoopKind::Polls);
  loop.certain = around.asks_itself && around.conditions.empty() &&
                 around.variables.empty() && !around.asks_clock;
  loop.asks = asked(around);
  if (around.asks_itself && loop.asks.empty()) {
    loop.asks = read->call.text;
  }
  return loop;
}

void tell_loop(const ProcessSnapshot& of, const SleepLoop& loop, Cause& cause) {
  const std::string lines = loop.lines();
  const LoopAround& around = loop.around;
  if (!loop.polls) {
    cause.summary =
        fmt::format("sleeps between rounds of the loop at {}", lines);
  } else {
    cause.id = CauseId::Polls;
    cause.progress = Progress::Polling;
    cause.confidence = loop.certain ? Confidence::Certain : Confidence::Likely;
    const std::string what =
        loop.asks.empty()
            ? ""
            : fmt::format("{}`{}` ",
                          loop.asks_variable() ? "the variable " : "",
                          printable(loop.asks));
    cause.summary = fmt::format(
        "polls {}at {}, {}", what, lines,
        loop.timed ? "for a limited time each" : "and sleeps in between");
    const std::string callees = callees_of(around.conditions);
    cause.evidence.push_back(
        loop.tries
            ? fmt::format("the loop at {} tries it again and again", lines)
            : fmt::format(
                  "the loop at {} goes on until {} it", lines,
                  loop.asks_variable() ? "a variable that it does not set ends"
                  : callees.empty()    ? "what a call returns ends"
                                       : "what " + callees + " returns ends"));
    cause.next.push_back({fmt::format("hangdbg dump {} --locals=2", of.pid),
                          "what it looks for"});
  }
  constexpr std::size_t kMostValues = 3;
  std::vector<std::string> names = around.variables;
  for (const CallText& call : around.conditions) {
    names.insert(names.end(), call.arguments.begin(), call.arguments.end());
  }
  std::size_t shown = 0;
  for (const std::string& name : names) {
    const std::string value = of.shown(*loop.frame, name);
    if (value != "?" && shown++ < kMostValues) {
      cause.evidence.push_back(fmt::format("{} = {}", printable(name), value));
    }
  }
  if (const std::string work = callees_of(around.work); !work.empty()) {
    cause.evidence.push_back(fmt::format("each round calls {}", work));
  }
}

}  // namespace hangdbg
