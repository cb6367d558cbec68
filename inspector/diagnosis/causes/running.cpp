// A thread that runs: it works, or goes round in a loop in which nothing
// changes.
#include <fmt/core.h>

#include <map>
#include <thread>

#include "base/text.h"
#include "inspector/diagnosis/causes/causes.h"
#include "inspector/python_locals.h"

namespace hangdbg::causes {
namespace {

constexpr auto kMoment = std::chrono::milliseconds(15);
constexpr int kLooks = 4;

using Values = std::map<std::string, std::string>;

// Of the function that runs and those that have called it: a loop may do its
// work in small functions. With a memory of its own: what was read before may
// have changed.
Values locals_now(const Case& of, const CaseThread& thread) {
  constexpr std::size_t kFrames = 3;
  Values values;
  const auto heap = Heap::open(of.process().memory, of.process().python);
  for (std::size_t i = 0; heap && i < thread.frames().size() && i < kFrames;
       ++i) {
    const PythonFrame& frame = thread.frames()[i];
    const auto variables = read_locals(*heap, frame.address, frame.code);
    for (const Variable& one :
         variables ? *variables : std::vector<Variable>()) {
      values[i == 0 ? one.name : frame.function + "." + one.name] =
          repr(*heap, one.object, {.depth = 1, .items = 3, .text = 40});
    }
  }
  return values;
}

// "i: 3 -> 4, x: (none) -> 1"; empty if there are none.
std::string differences(const Values& before, const Values& now) {
  std::string changes;
  for (const auto& [name, value] : now) {
    const auto old = before.find(name);
    if (old == before.end() || old->second != value) {
      changes += fmt::format(
          "{}{}: {} -> {}", changes.empty() ? "" : ", ", printable(name),
          old == before.end() ? "(none)" : old->second, value);
    }
  }
  return changes;
}

}  // namespace

Found running(const Case& of, const CaseThread& thread) {
  if (thread.wait.state != 'R' && !thread.ran) {
    return std::nullopt;
  }
  Cause cause{.id = "runs",
              .standing = Standing::Works,
              .confidence = Confidence::Likely,
              .sentence = fmt::format("runs, cpu {:.0f} %, at {}",
                                      thread.cpu_percent, thread.place())};
  std::string places;
  for (const std::string& place : thread.places) {
    places += (places.empty() ? "" : "; ") + place;
  }
  cause.evidence.push_back(fmt::format(
      "{} {} in {} looks: {}", thread.places.size(),
      thread.places.size() == 1 ? "place" : "places", thread.looks, places));
  if (thread.frames().empty() || !of.is_python() ||
      (thread.cpu_percent < 50 && thread.wait.state != 'R')) {
    return cause;
  }
  const Values before = locals_now(of, thread);
  std::string changes;
  for (int look = 0; look < kLooks && changes.empty(); ++look) {
    std::this_thread::sleep_for(kMoment);
    const Values now = locals_now(of, thread);
    if (now.empty() || before.empty()) {
      return cause;  // it has none, or they change as they are read
    }
    changes = differences(before, now);
  }
  if (!changes.empty()) {
    cause.evidence.push_back("what changes: " + changes);
    return cause;
  }
  // In C code it may compute for long, with the same variables.
  const auto functions = of.native(thread);
  cause.evidence.push_back("none of its variables has changed meanwhile");
  if (functions.empty()) {
    cause.id = "busy-loop";
    cause.standing = Standing::Waits;
    cause.confidence = Confidence::Likely;
    cause.sentence = fmt::format(
        "goes round in a loop in which nothing changes, cpu {:.0f} %, at {}",
        thread.cpu_percent, thread.place());
    cause.next.push_back({fmt::format("hangdbg attach {}", of.pid),
                          "a prompt in the loop: `hold`, then step"});
  } else {
    cause.evidence.push_back("in " + functions.front());
  }
  return cause;
}

}  // namespace hangdbg::causes
