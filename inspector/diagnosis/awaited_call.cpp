#include "inspector/diagnosis/awaited_call.h"

#include <algorithm>
#include <string_view>

#include "inspector/waiting_rooms.h"

namespace hangdbg {
namespace {

bool is_in(const PythonFrame& frame, std::string_view folder) {
  return frame.file.find(folder) != std::string::npos;
}

// torch calls it "ALLREDUCE" there.
bool is_over(const GroupBackend& backend) {
  return !backend.enqueued ||
         (backend.completed &&
          backend.completed->number >= backend.enqueued->number);
}

}  // namespace

std::optional<CollectiveCall> awaited_call(const Case& of,
                                           const CaseThread& thread) {
  // What a collective calls of the program, to pickle an object, is its own
  // business.
  const auto& frames = thread.frames();
  const auto inner = std::ranges::find_if(
      frames, [](const PythonFrame& frame) { return is_in(frame, "/torch/"); });
  const bool own = std::any_of(
      frames.begin(), inner,
      [](const PythonFrame& frame) { return !is_library(frame.file); });
  const bool distributed =
      std::any_of(inner, frames.end(), [](const PythonFrame& frame) {
        return is_in(frame, "/torch/distributed/");
      });
  return !own && distributed && of.is_python()
             ? read_collective_call(of.heap(), thread.stack,
                                    of.process_groups())
             : std::nullopt;
}

std::optional<CollectiveCall> pending_call(const Case& of,
                                           const CaseThread& thread) {
  if (!thread.python || !thread.sleeps_in("futex") || !of.is_python()) {
    return std::nullopt;
  }
  for (const ProcessGroup& group : of.process_groups().groups) {
    const auto open = std::ranges::find_if_not(group.backends, is_over);
    if (open != group.backends.end()) {
      return CollectiveCall{.function = open->enqueued->name,
                            .group = group.name};
    }
  }
  return std::nullopt;
}

}  // namespace hangdbg
