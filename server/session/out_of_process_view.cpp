#include "server/session/out_of_process_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/runtime/gil.h"
#include "inspector/cpython/stacks/thread_names.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/task_ids.h"

namespace hangdbg {
namespace {

constexpr auto kOutOfProcessMoment = std::chrono::milliseconds(100);

std::int64_t ident_of(const PythonThread& thread) {
  return thread.tid.value_or(static_cast<std::int64_t>(thread.ident));
}

// A session's thread of another client may be in Python, and have the GIL.
bool is_thread_of_agent(const AttachTarget& target,
                        const PythonThread& thread) {
  return is_agents_name(kernel_name(target.pid, thread));
}

dap::StackFrame frame_of(const PythonFrame& frame) {
  dap::StackFrame shown;
  shown.name = frame.function;
  shown.source =
      dap::Source{frame.file.substr(frame.file.rfind('/') + 1), frame.file};
  shown.line = frame.line;
  shown.hangdbg = dap::FrameDetail{frame.qualname, "", frame.first_line};
  return shown;
}

}  // namespace

OutOfProcessView::OutOfProcessView(const AttachTarget& target)
    : target_(target), stacks_(target.memory, target.python) {}

dap::Hello::Body OutOfProcessView::hello() const {
  return {target_.python.version.text(), "cpython", target_.pid, target_.pid,
          read_proc_link(target_.pid, "exe").value_or("")};
}

Result<dap::Threads::Body> OutOfProcessView::threads(std::int64_t interpreter) {
  TRY(find_threads(interpreter));
  const auto objects = ObjectReader::open(target_.memory, target_.python);
  const auto names =
      objects ? read_thread_names(*objects, target_.python) : ThreadNames();
  dap::Threads::Body body;
  for (const PythonThread& thread : threads_) {
    const std::string name = name_of(names, target_.pid, thread);
    body.threads.push_back(
        {ident_of(thread),
         name.empty() ? fmt::format("Thread-{}", ident_of(thread)) : name});
  }
  return body;
}

Result<dap::StackTrace::Body> OutOfProcessView::stack(
    const dap::StackTrace::Arguments& wanted,
    std::int64_t interpreter) {
  if (fresh_.expired() || interpreter != interpreter_) {
    TRY(find_threads(interpreter));
  }
  frames_.clear();
  const auto found = std::ranges::find(threads_, wanted.thread_id, ident_of);
  if (found == threads_.end()) {
    return dap::StackTrace::Body{};
  }
  constexpr auto kMost =
      static_cast<std::int64_t>(PythonStackReader::kMostFrames);
  const auto first = std::clamp(wanted.start_frame.value_or(0), 0L, kMost);
  const auto levels = wanted.levels.value_or(0);
  const auto last =
      levels > 0 && levels < kMost - first ? first + levels : kMost;
  auto stack = TRY(stacks_.read(found->state, static_cast<std::size_t>(last)));
  dap::StackTrace::Body body;
  for (PythonFrame& frame : stack.frames | std::views::drop(first)) {
    body.stack_frames.push_back(frame_of(frame));
    frames_.push_back(std::move(frame));
  }
  if (stack.complete) {
    body.total_frames = std::ssize(stack.frames);
  }
  return body;
}

// Those that run Python, main first, without the agent's.
Status OutOfProcessView::find_threads(std::int64_t interpreter) {
  const auto tasks = TRY(TaskIds::read(target_.pid));
  threads_ = TRY(python_threads(target_.memory, target_.python, tasks));
  interpreter_ = interpreter;
  fresh_ = Deadline::in(kOutOfProcessMoment);
  std::erase_if(threads_, [&](const PythonThread& thread) {
    return !thread.frame || thread.interpreter != interpreter ||
           is_thread_of_agent(target_, thread);
  });
  std::ranges::sort(threads_, {}, [&](const PythonThread& thread) {
    return std::pair(thread.tid != target_.pid, ident_of(thread));
  });
  return {};
}

}  // namespace hangdbg
