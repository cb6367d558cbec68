#include "server/hung_thread.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <thread>

#include "base/text.h"
#include "injector/preflight.h"
#include "inspector/waiting_rooms.h"

namespace hangdbg {
namespace {

constexpr double kLongAsleep = 1.0;  // seconds
constexpr int kTriesAsleep = 5;
constexpr auto kBetweenTries = std::chrono::milliseconds(2);
constexpr int kLooks = 5;
constexpr auto kBetweenLooks = std::chrono::milliseconds(50);

// The thread's frames; if it comes and goes, those in which it sleeps: in a
// loop that polls for a file, the frame that waits and not, once in a while,
// the one that looks.
Result<ShownThread> read_stack(Session& session,
                               const dap::Thread& thread,
                               Deadline deadline) {
  const int pid = session.target().pid;
  const int tid = static_cast<int>(thread.id);
  ShownThread shown{thread.id, thread.name, {}};
  for (int i = 0; i < kTriesAsleep; ++i) {
    if (i > 0) {
      std::this_thread::sleep_for(kBetweenTries);
    }
    const auto before = look_at_wait(pid, tid);
    shown.stack = TRY(session.stack(thread.id, 0, deadline));
    const auto after = look_at_wait(pid, tid);
    // One that runs all the time has no such frame.
    if (!before || !after || before->state == 'R' ||
        after->runs == before->runs) {
      break;
    }
  }
  return shown;
}

std::string path_of(const dap::StackFrame& frame) {
  return frame.source && frame.source->path ? *frame.source->path : "";
}

// main in Thread.join, a pool or a queue: its innermost frames are the
// library's waiting rooms.
bool merely_waits(const ShownThread& thread) {
  return !thread.stack.stack_frames.empty() &&
         is_waiting_room(path_of(thread.stack.stack_frames.front()));
}

// Its innermost frame is not the library's.
bool in_user_code(const ShownThread& thread) {
  return !thread.stack.stack_frames.empty() &&
         !is_library(path_of(thread.stack.stack_frames.front()));
}

Result<ShownThread> default_thread(Session& session,
                                   const std::vector<dap::Thread>& threads,
                                   Deadline deadline) {
  auto main = TRY(read_stack(session, threads.front(), deadline));
  if (!merely_waits(main)) {
    return main;
  }
  std::optional<ShownThread> other;
  for (std::size_t i = 1; i < threads.size(); ++i) {
    auto candidate = read_stack(session, threads[i], deadline);
    if (!candidate || !in_user_code(*candidate)) {
      continue;
    }
    if (other) {
      return main;
    }
    other = *std::move(candidate);
  }
  return other ? *std::move(other) : std::move(main);
}

Result<ShownThread> choose_here(Session& session,
                                const std::string& wanted,
                                Deadline deadline) {
  const auto listed = TRY(session.threads(deadline));
  const auto& threads = listed.threads;
  if (threads.empty()) {
    return fail(ErrorId::NoSuchThread, "no thread of the target runs Python");
  }
  if (wanted.empty()) {
    return default_thread(session, threads, deadline);
  }
  if (wanted == "main") {
    return read_stack(session, threads.front(), deadline);
  }
  std::string names;
  for (const dap::Thread& thread : threads) {
    if (thread.name == wanted || fmt::format("{}", thread.id) == wanted) {
      return read_stack(session, thread, deadline);
    }
    names += fmt::format("{}{} \"{}\"", names.empty() ? "" : ", ", thread.id,
                         printable(thread.name));
  }
  return fail(ErrorId::NoSuchThread,
              fmt::format("no Python thread {}", printable(wanted)),
              "there are " + names);
}

}  // namespace

Result<ShownThread> choose_thread(Session& session,
                                  const std::string& wanted,
                                  Deadline deadline) {
  if (const auto tid = parse_number<int>(wanted)) {
    TRY(session.follow_thread(*tid, deadline));
    return choose_here(session, wanted, deadline);
  }
  // Names are those of the main interpreter, from which a thread may have
  // entered another.
  TRY(session.enter_main(deadline));
  auto chosen = TRY(choose_here(session, wanted, deadline));
  const int tid = static_cast<int>(chosen.tid);
  if (TRY(session.follow_thread(tid, deadline))) {
    return read_stack(session, {chosen.tid, chosen.name}, deadline);
  }
  return chosen;
}

std::string describe_wait(Session& session,
                          const ShownThread& thread,
                          const std::optional<WaitLook>& before,
                          Deadline deadline) {
  if (before && before->asleep_s && *before->asleep_s > kLongAsleep &&
      !before->syscall.empty()) {
    return fmt::format(
        "asleep in {} since {}", before->syscall,
        human_duration(std::chrono::nanoseconds(
            static_cast<std::int64_t>(*before->asleep_s * 1e9))));
  }
  const int pid = session.target().pid;
  const int tid = static_cast<int>(thread.tid);
  const auto first = look_at_wait(pid, tid);
  const auto started = Deadline::Clock::now();
  std::set<std::string> places;
  bool moved = false;
  for (int i = 0; i < kLooks && !deadline.expired(); ++i) {
    if (i > 0) {
      std::this_thread::sleep_for(kBetweenLooks);
    }
    const auto stack = session.stack(thread.tid, 1, deadline);
    if (!stack || stack->stack_frames.empty()) {
      return "has ended";
    }
    const dap::StackFrame& top = stack->stack_frames.front();
    const std::string path = path_of(top);
    places.insert(
        fmt::format("{}:{}", path.substr(path.rfind('/') + 1), top.line));
  }
  const auto last = look_at_wait(pid, tid);
  if (!first || !last) {
    return "has ended";
  }
  moved = last->runs != first->runs;
  const double seconds =
      std::chrono::duration<double>(Deadline::Clock::now() - started).count();
  const double cpu_seconds =
      static_cast<double>(last->cpu_ticks - first->cpu_ticks) /
      static_cast<double>(::sysconf(_SC_CLK_TCK));
  const int cpu = static_cast<int>(
      std::min(100.0, 100 * cpu_seconds / std::max(seconds, 0.01)));
  const std::string place = printable(*places.begin());
  if (places.size() > 1) {
    return fmt::format("runs ({} places in {} looks), cpu {} %", places.size(),
                       kLooks, cpu);
  }
  if (moved || last->state == 'R') {
    return fmt::format("loops at {}, cpu {} %", place, cpu);
  }
  return fmt::format("asleep in {} at {}",
                     last->syscall.empty() ? "the kernel" : last->syscall,
                     place);
}

}  // namespace hangdbg
