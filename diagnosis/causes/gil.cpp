// The GIL: its waiters, and a holder that does not run Python.
#include <fmt/core.h>

#include <algorithm>
#include <thread>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/causes/rules.h"
#include "diagnosis/waits/gil_waits.h"

namespace hangdbg::causes {
namespace {

// How often the holder has changed. Source: CPython's pycore_gil.h, where the
// count lies behind the flag since 3.2.
std::optional<std::uint64_t> switches(const ProcessSnapshot& of) {
  constexpr std::size_t kBehind = 8;
  const auto count =
      of.gil->locked_word
          ? of.memory().read_value<std::uint64_t>(of.gil->locked_word + kBehind)
          : std::unexpected(Error());
  return count ? std::optional(*count) : std::nullopt;
}

// A holder that runs Python releases the GIL some milliseconds after a request.
bool keeps_it_for_long(const ProcessSnapshot& of) {
  constexpr auto kLong = std::chrono::milliseconds(100);
  const auto before = switches(of);
  std::this_thread::sleep_for(kLong);
  return before && switches(of) == before;
}

// It holds the GIL and does not run Python: it sleeps in a call, or all samples
// show one place while others wait.
bool keeps_it(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  if (!of.gil || !of.gil->locked || of.gil->holder_tid != thread.id.tid) {
    return false;
  }
  // The sample of the thread is older than that of the GIL.
  const auto now = of.wait_now(thread.id.tid);
  const auto gil = of.gil_now();
  if (!gil || !gil->locked || gil->holder_tid != thread.id.tid || !now) {
    return false;
  }
  const auto others = std::ranges::count_if(
      of.threads,
      [&](const ThreadSnapshot& one) { return waits_for_gil(of, one); });
  const bool sleeps =
      now->runs == thread.wait.runs && thread.wait.state == 'S' && !thread.ran;
  return sleeps || (others > 0 && thread.looks > 1 &&
                    thread.places.size() == 1 && keeps_it_for_long(of));
}

}  // namespace

Found gil(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  if (waits_for_gil(of, thread)) {
    const ThreadSnapshot* const holder = of.thread(*of.gil->holder_tid);
    return Cause{
        .id = CauseId::Gil,
        .progress = Progress::Blocked,
        .confidence = Confidence::Certain,
        .summary = fmt::format(
            "waits for the GIL, held by {}",
            holder != nullptr ? holder->who()
                              : fmt::format("thread {}", *of.gil->holder_tid)),
        .evidence = {fmt::format("asleep in futex on the GIL's condition at {}",
                                 thread.place())},
        .blocked_by = {{of.pid, *of.gil->holder_tid}}};
  }
  if (!keeps_it(of, thread)) {
    return std::nullopt;
  }
  const auto others = std::ranges::count_if(
      of.threads,
      [&](const ThreadSnapshot& one) { return waits_for_gil(of, one); });
  const std::string awaited =
      fmt::format("{} other {} for the GIL", others,
                  others == 1 ? "thread waits" : "threads wait");
  // What it waits for meanwhile, if another thread holds that.
  if (Cause inner = cause_by_later_rules(gil, of, thread);
      inner.blocks_others || inner.progress == Progress::Stuck) {
    inner.summary = "keeps the GIL, and " + inner.summary;
    inner.evidence.push_back(awaited);
    return inner;
  }
  const auto functions = of.native(thread);
  const std::string in =
      functions.empty()
          ? thread.place()
          : fmt::format("{}, called at {}", functions.front(), thread.place());
  // A long computation makes progress, whatever waits for its end.
  const bool works = thread.wait.syscall.empty();
  Cause cause{
      .id = CauseId::GilHeld,
      .progress = works ? Progress::Running : Progress::Blocked,
      .confidence = Confidence::Likely,
      .summary = works
                     ? fmt::format("runs C code and keeps the GIL, and {}: "
                                   "{}, cpu {:.0f} %",
                                   awaited, in, thread.cpu_percent)
                     : fmt::format("keeps the GIL in C code: {}, asleep in {}",
                                   in, thread.wait.syscall)};
  cause.evidence.push_back(awaited);
  for (const std::string& function : functions) {
    cause.evidence.push_back("in " + function);
    if (cause.evidence.size() > 8) {
      break;
    }
  }
  cause.next.push_back({fmt::format("hangdbg dump {} --native", of.pid),
                        "the C functions that it is in"});
  return cause;
}

}  // namespace hangdbg::causes
