#include "diagnosis/verdict/hang_verdict.h"

#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/text.h"
#include "inspector/cpython/locks/waiting_rooms.h"

namespace hangdbg {
namespace {

constexpr double kHangVerdictMoment = 1;  // seconds
constexpr double kIdlePercent = 2;        // what polling costs

std::string innermost(const Sight& sight) {
  return sight.frames.empty() ? "" : line_of(sight.frames.front());
}

// In hangdbg.wait() and its like, which are then the innermost frames
// (python/hangdbg).
bool calls_for_us(const Sight& sight) {
  return !sight.frames.empty() &&
         sight.frames.front().function == "_call_for_one" &&
         sight.frames.front().file.ends_with("/hangdbg/__init__.py");
}

// " at selectors.py:468 in select, from train.py:88 in main": where it stands,
// and where the program's own code is.
std::string where(const Sight& sight) {
  if (sight.frames.empty()) {
    return "";
  }
  const PythonFrame& top = sight.frames.front();
  if (calls_for_us(sight)) {
    const auto caller = std::ranges::find_if(
        sight.frames,
        [&](const auto& frame) { return frame.file != top.file; });
    return caller == sight.frames.end() ? "" : " at " + place_of(*caller);
  }
  std::string text = " at " + place_of(top);
  const auto own = std::ranges::find_if(
      sight.frames, [](const auto& frame) { return !is_library(frame.file); });
  if (own != sight.frames.begin() && own != sight.frames.end()) {
    text += ", from " + place_of(*own);
  }
  return text;
}

bool stands_in(const Sight& sight, std::string_view part) {
  return std::ranges::any_of(sight.frames, [part](const PythonFrame& frame) {
    return frame.file.find(part) != frame.file.npos;
  });
}

// read from it, or select from it alone: a prompt, a language server.
bool waits_for_stdin(const TaskSyscall& call) {
  const bool selects = call.number == SYS_select || call.number == SYS_pselect6;
  return (call.number == SYS_read && call.args[0] == 0) ||
         (selects && call.args[0] == 1);
}

// time.sleep before 3.11 selects from no descriptors.
bool waits_for_time(const TaskSyscall& call) {
  return call.number == SYS_nanosleep || call.number == SYS_clock_nanosleep ||
         (call.number == SYS_pselect6 && call.args[0] == 0) ||
         (call.number == SYS_select && call.args[0] == 0);
}

bool waits_for_outside(const Evidence& evidence) {
  const Sight& last = evidence.sights.back();
  const TaskSyscall& call = last.wait.call;
  constexpr std::array<long, 11> kCalls = {
      SYS_epoll_wait,      SYS_epoll_pwait,     SYS_epoll_pwait2, SYS_accept,
      SYS_accept4,         SYS_wait4,           SYS_waitid,       SYS_pause,
      SYS_rt_sigsuspend,   SYS_rt_sigtimedwait,
      SYS_restart_syscall,  // which one, is not told
  };
  return std::ranges::find(kCalls, call.number) != kCalls.end() ||
         waits_for_stdin(call) || evidence.file.starts_with("/dev/tty") ||
         evidence.file.starts_with("/dev/pts/") ||
         stands_in(last, "/subprocess.py") || stands_in(last, "/_pyrepl/") ||
         (evidence.child_of_python && stands_in(last, "/multiprocessing/"));
}

// Whoever polls for a connection or for data serves; for a file he sleeps.
bool polls_for_events(const TaskSyscall& call) {
  constexpr std::array<long, 4> kCalls = {SYS_poll, SYS_ppoll, SYS_select,
                                          SYS_pselect6};
  return std::ranges::find(kCalls, call.number) != kCalls.end() &&
         !waits_for_time(call);
}

// However long it sleeps, and however often it wakes.
bool is_idle(const Evidence& evidence, double hung_after_s) {
  const Sight& last = evidence.sights.back();
  const bool main_waits =
      !last.frames.empty() && is_waiting_room(last.frames.front().file);
  const bool others_move =
      evidence.others_still_s && *evidence.others_still_s < hung_after_s;
  return waits_for_outside(evidence) ||
         (main_waits && (others_move || evidence.others_serve));
}

std::string call_of(const Evidence& evidence) {
  if (calls_for_us(evidence.sights.back())) {
    return "a debugger";
  }
  const WaitLook& wait = evidence.sights.back().wait;
  const std::string call = wait.syscall.empty() ? "the kernel" : wait.syscall;
  return evidence.file.empty()
             ? call
             : fmt::format("{} of {}", call, printable(evidence.file));
}

Verdict asleep(const Evidence& evidence, double hung_after_s) {
  const Sight& last = evidence.sights.back();
  Verdict verdict{"asleep", false, call_of(evidence) + where(last),
                  last.wait.asleep_s};
  // Without frames it runs no Python, or it is not for us to see.
  verdict.hung = last.wait.asleep_s >= hung_after_s && !last.frames.empty() &&
                 !waits_for_time(last.wait.call) &&
                 !is_idle(evidence, hung_after_s);
  return verdict;
}

// In percent, from the first look to the last.
double cpu_of(const std::vector<Sight>& sights) {
  const std::chrono::duration<double> passed =
      sights.back().at - sights.front().at;
  const WaitLook& first = sights.front().wait;
  const WaitLook& last = sights.back().wait;
  const double ran_s =
      last.runs.nanoseconds > 0
          ? static_cast<double>(last.runs.nanoseconds -
                                first.runs.nanoseconds) /
                1e9
          : static_cast<double>(last.cpu_ticks - first.cpu_ticks) /
                static_cast<double>(::sysconf(_SC_CLK_TCK));
  return std::min(100.0, 100 * ran_s / std::max(passed.count(), 1e-9));
}

// The thread that has had the GIL in each look, if it is one and the same.
std::optional<int> lasting_holder(const std::vector<Sight>& sights) {
  const auto holder = sights.front().gil_holder;
  const bool lasts = std::ranges::all_of(
      sights, [&](const Sight& sight) { return sight.gil_holder == holder; });
  return lasts ? holder : std::nullopt;
}

Verdict moves(const Evidence& evidence, double hung_after_s) {
  const auto& sights = evidence.sights;
  const Sight& last = sights.back();
  std::set<std::string> places;
  for (const Sight& sight : sights) {
    places.insert(innermost(sight));
  }
  const bool ran =
      last.wait.runs != sights.front().wait.runs || last.wait.state == 'R';
  if (places.size() == 1 && !ran) {
    return asleep(evidence, hung_after_s);
  }
  const double cpu = cpu_of(sights);
  if (last.frames.empty()) {
    return {"runs", false, fmt::format("nothing, cpu {:.0f} %", cpu)};
  }
  if (places.size() > 1) {
    return {"runs", false,
            fmt::format("nothing: {} places in {} looks, cpu {:.0f} %",
                        places.size(), sights.size(), cpu)};
  }
  const std::string looks = fmt::format(
      "same line in {0} of {0} looks, cpu {1:.0f} %", sights.size(), cpu);
  if (const auto holder = lasting_holder(sights)) {
    return {"asleep", false,
            fmt::format("the GIL, which thread {} has{}: {}", *holder,
                        where(last), looks)};
  }
  if (cpu >= kIdlePercent || sights.size() < kLooks) {
    return {.state = "runs",
            .waits = fmt::format("nothing{}: {}", where(last), looks),
            .one_line = sights.size() >= kLooks};
  }
  return {"loops",
          !evidence.has_children && !polls_for_events(last.wait.call) &&
              !is_idle(evidence, hung_after_s),
          fmt::format("{}{}: {}", call_of(evidence), where(last), looks)};
}

}  // namespace

Verdict judge(const Evidence& evidence, double hung_after_s) {
  const Sight& last = evidence.sights.back();
  switch (last.wait.state) {
    case 'Z':
    case 'X':
      return {"ended", false, "its parent to take notice"};
    case 'T':
      return {"stopped", false, "SIGCONT", last.wait.asleep_s};
    case 't':
      return {"traced", false, "a debugger", last.wait.asleep_s};
    case 'D':
      return {"disk", last.wait.asleep_s >= hung_after_s, call_of(evidence),
              last.wait.asleep_s};
    default:
      return evidence.sights.size() == 1 && !wants_more(last.wait)
                 ? asleep(evidence, hung_after_s)
                 : moves(evidence, hung_after_s);
  }
}

bool wants_more(const WaitLook& wait) {
  return wait.state == 'R' ||
         (wait.state == 'S' && !(wait.asleep_s >= kHangVerdictMoment));
}

}  // namespace hangdbg
