#include "inspector/snapshot/shown_thread.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "inspector/cpython/stacks/thread_names.h"
#include "inspector/cpython/stacks/thread_sample.h"
#include "inspector/snapshot/default_thread.h"
#include "tracee/proc/task_ids.h"

namespace hangdbg {
namespace {

struct ThreadFinder {
  const Target& target;
  PythonStackReader stacks{target.memory, target.python};
  std::vector<FoundThread> threads = {};  // main first

  Status list();
  Result<FoundThread> by_default();
  Result<FoundThread> named(const std::string& wanted);
  Result<FoundThread> look(FoundThread thread);
};

std::string innermost_file(const FoundThread& found) {
  return found.stack.frames.empty() ? "" : found.stack.frames.front().file;
}

// As OutOfProcessView's, where there is a live process to ask.
std::string name_of(const ThreadNames& names,
                    const Target& target,
                    const PythonThread& thread) {
  if (target.live_pid()) {
    return name_of(names, target.pid, thread);
  }
  const auto name = names.find({thread.interpreter, thread.ident});
  return name != names.end()        ? name->second
         : thread.tid == target.pid ? "MainThread"
                                    : "";
}

}  // namespace

Result<FoundThread> find_thread(const Target& target,
                                const std::string& wanted) {
  ThreadFinder finder{target};
  TRY(finder.list());
  return wanted.empty() ? finder.by_default() : finder.named(wanted);
}

namespace {

Status ThreadFinder::list() {
  const auto tasks = TRY(target.tasks());
  auto known = python_threads(target.memory, target.python, tasks);
  if (!known) {
    return std::unexpected(name_process(target.pid, std::move(known).error()));
  }
  const auto objects = ObjectReader::open_values(target.memory, target.python);
  const ThreadNames names =
      objects ? read_thread_names(*objects, target.python) : ThreadNames();
  for (const PythonThread& thread : *known) {
    const std::string own =
        target.live_pid() ? kernel_name(target.pid, thread) : "";
    if (!is_agents_name(own)) {
      threads.push_back({thread, name_of(names, target, thread), {}});
    }
  }
  std::ranges::sort(threads, {}, [&](const FoundThread& found) {
    return std::tuple(found.thread.tid != target.pid, found.thread.interpreter,
                      found.thread.tid.value_or(0), found.thread.ident);
  });
  return threads.empty() ? fail(ErrorId::NoSuchThread,
                                fmt::format("no thread of process {} runs "
                                            "Python",
                                            target.pid))
                         : Status{};
}

Result<FoundThread> ThreadFinder::by_default() {
  DefaultThread chosen;
  FoundThread main = TRY(look(threads.front()));
  chosen.next(innermost_file(main));
  std::optional<FoundThread> other;
  for (std::size_t i = 1; i < threads.size() && chosen.wants_more(); ++i) {
    auto one = look(threads[i]);
    chosen.next(one ? innermost_file(*one) : "");
    if (chosen.chosen() == i) {
      other = *std::move(one);
    }
  }
  return chosen.chosen() == 0 ? std::move(main) : *std::move(other);
}

Result<FoundThread> ThreadFinder::named(const std::string& wanted) {
  std::string there;
  for (const FoundThread& found : threads) {
    const std::string number =
        found.thread.tid ? std::to_string(*found.thread.tid) : "?";
    if (wanted == number || (wanted == found.name && !wanted.empty()) ||
        (wanted == "main" && found.thread.tid == target.pid)) {
      return look(found);
    }
    there += fmt::format("{}{} \"{}\"", there.empty() ? "" : ", ", number,
                         printable(found.name));
  }
  return fail(ErrorId::NoSuchThread,
              fmt::format("no Python thread {}", printable(wanted)),
              "there are " + there);
}

Result<FoundThread> ThreadFinder::look(FoundThread found) {
  found.stack = std::move(TRY(target.look(stacks, found.thread, {})).stack);
  auto& frames = found.stack.frames;
  frames.erase(frames.begin(),
               frames.begin() +
                   static_cast<std::ptrdiff_t>(count_frames_of_agent(frames)));
  return found;
}

}  // namespace
}  // namespace hangdbg
