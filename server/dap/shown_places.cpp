#include "server/dap/shown_places.h"

#include <utility>

namespace hangdbg {
namespace {

constexpr std::size_t kMostTargets = 1'000;
constexpr std::size_t kMostFrames = 10'000;

}  // namespace

void ShownPlaces::note_frames(std::int64_t thread,
                              const dap::StackTrace::Body& stack) {
  if (frames_.size() > kMostFrames) {
    frames_.clear();
  }
  for (const dap::StackFrame& frame : stack.stack_frames) {
    frames_[frame.id] = {thread,
                         frame.source ? frame.source->path.value_or("") : "",
                         frame.line};
  }
}

std::optional<ShownPlaces::Frame> ShownPlaces::frame(
    std::int64_t number) const {
  const auto found = frames_.find(number);
  return found == frames_.end() ? std::nullopt : std::optional(found->second);
}

std::int64_t ShownPlaces::add_goto_target(Line line) {
  if (goto_targets_.size() == kMostTargets) {
    goto_targets_.clear();
  }
  goto_targets_.push_back(std::move(line));
  return std::ssize(goto_targets_);
}

std::optional<ShownPlaces::Line> ShownPlaces::goto_target(
    std::int64_t number) const {
  if (number < 1 || number > std::ssize(goto_targets_)) {
    return std::nullopt;
  }
  return goto_targets_[static_cast<std::size_t>(number - 1)];
}

}  // namespace hangdbg
