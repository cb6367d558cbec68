#include "client/prompt/place.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {
namespace {

bool same_function(const dap::StackFrame& a, const dap::StackFrame& b) {
  const auto path = [](const dap::StackFrame& frame) {
    return frame.source ? frame.source->path : std::nullopt;
  };
  return a.name == b.name && path(a) == path(b);
}

}  // namespace

Result<Place> Place::at(ShownThread thread, const FrameSelector& frame) {
  Place place;
  place.thread_ = std::move(thread);
  std::vector<FrameName> frames;
  for (const auto& one : place.thread_.stack.stack_frames) {
    frames.push_back({one.name, one.source && one.source->path
                                    ? std::string_view(*one.source->path)
                                    : ""});
  }
  place.index_ =
      TRY(frame.find(frames, fmt::format("thread {} \"{}\"", place.thread_.tid,
                                         printable(place.thread_.name))));
  return place;
}

const dap::StackFrame& Place::frame() const {
  return thread_.stack.stack_frames[index_];
}

Status Place::up(std::size_t count) {
  if (index_ + 1 == depth()) {
    return fail(ErrorId::NoSuchFrame, "Oldest frame");
  }
  index_ = std::min(index_ + count, depth() - 1);
  return {};
}

Status Place::down(std::size_t count) {
  if (index_ == 0) {
    return fail(ErrorId::NoSuchFrame, "Newest frame");
  }
  index_ -= std::min(count, index_);
  return {};
}

Result<bool> Place::refresh(Session& session, Deadline deadline) {
  auto asked = session.stack(thread_.tid, 0, deadline);
  if (!asked && session.alive() &&
      !read_task_stat(session.target().pid, thread_.tid)) {
    return fail(ErrorId::NoSuchThread,
                fmt::format("thread {} \"{}\" has ended", thread_.tid,
                            printable(thread_.name)),
                "threads");
  }
  auto stack = TRY(std::move(asked));
  if (stack.stack_frames.empty()) {
    return fail(
        ErrorId::NoSuchThread,
        fmt::format("thread {} no longer runs Python code", thread_.tid),
        "threads");
  }
  const std::size_t from_outermost = depth() - index_;
  const dap::StackFrame old = frame();
  thread_.stack = std::move(stack);
  if (from_outermost <= depth() &&
      same_function(old,
                    thread_.stack.stack_frames[depth() - from_outermost])) {
    index_ = depth() - from_outermost;
    return true;
  }
  index_ = 0;
  return false;
}

}  // namespace hangdbg
