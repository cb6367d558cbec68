#include "server/session/hung_thread.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <set>

#include "base/text.h"
#include "injector/checks/preflight.h"
#include "inspector/snapshot/default_thread.h"
#include "server/coroutines/co_try.h"
#include "server/session/session_loop.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

constexpr double kLongAsleep = 1.0;  // seconds
constexpr int kTriesAsleep = 5;
constexpr auto kHungThreadBetweenTries = std::chrono::milliseconds(2);
constexpr int kLooksAtLine = 5;
constexpr auto kHungThreadBetweenSamples = std::chrono::milliseconds(50);

asio::awaitable<void> sleep_for(Deadline::Clock::duration time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
}

// The thread's frames; if it comes and goes, those in which it sleeps: in a
// loop that polls for a file, the frame that waits and not, once in a while,
// the one that looks.
AgentSession::Awaitable<ShownThread> read_stack(AgentSession& session,
                                                dap::Thread thread,
                                                Deadline deadline) {
  const int pid = session.target().pid;
  const int tid = static_cast<int>(thread.id);
  ShownThread shown{thread.id, thread.name, {}};
  const dap::StackTrace::Arguments whole{thread.id, {}, {}};
  for (int i = 0; i < kTriesAsleep; ++i) {
    if (i > 0) {
      co_await sleep_for(kHungThreadBetweenTries);
    }
    const auto before = read_task_runs(pid, tid);
    const auto stat = read_task_stat(pid, tid);
    CO_TRY(shown.stack, co_await session.stack(whole, deadline));
    const auto after = read_task_runs(pid, tid);
    // One that runs all the time has no such frame.
    if (!before || !stat || !after || stat->state == 'R' || *after == *before) {
      break;
    }
  }
  co_return shown;
}

std::string path_of(const dap::StackFrame& frame) {
  return frame.source && frame.source->path ? *frame.source->path : "";
}

std::string innermost_file(const ShownThread& thread) {
  const auto& frames = thread.stack.stack_frames;
  return frames.empty() ? "" : path_of(frames.front());
}

AgentSession::Awaitable<ShownThread> default_thread(
    AgentSession& session,
    std::vector<dap::Thread> threads,
    Deadline deadline) {
  DefaultThread chosen;
  CO_TRY(ShownThread main,
         co_await read_stack(session, threads.front(), deadline));
  chosen.next(innermost_file(main));
  std::optional<ShownThread> other;
  for (std::size_t i = 1; i < threads.size() && chosen.wants_more(); ++i) {
    auto one = co_await read_stack(session, threads[i], deadline);
    chosen.next(one ? innermost_file(*one) : "");
    if (chosen.chosen() == i) {
      other = *std::move(one);
    }
  }
  co_return chosen.chosen() == 0 ? std::move(main) : *std::move(other);
}

AgentSession::Awaitable<ShownThread> choose_here(AgentSession& session,
                                                 std::string wanted,
                                                 Deadline deadline) {
  CO_TRY(const auto listed, co_await session.threads(deadline));
  const auto& threads = listed.threads;
  if (threads.empty()) {
    co_return fail(ErrorId::NoSuchThread,
                   "no thread of the target runs Python");
  }
  if (wanted.empty()) {
    co_return co_await default_thread(session, threads, deadline);
  }
  if (wanted == "main") {
    co_return co_await read_stack(session, threads.front(), deadline);
  }
  std::string names;
  for (const dap::Thread& thread : threads) {
    if (thread.name == wanted || fmt::format("{}", thread.id) == wanted) {
      co_return co_await read_stack(session, thread, deadline);
    }
    names += fmt::format("{}{} \"{}\"", names.empty() ? "" : ", ", thread.id,
                         printable(thread.name));
  }
  co_return fail(ErrorId::NoSuchThread,
                 fmt::format("no Python thread {}", printable(wanted)),
                 "there are " + names);
}

}  // namespace

ThreadSamples sample_threads(int pid) {
  ThreadSamples looks;
  for (const int tid : list_tasks(pid).value_or(std::vector<int>())) {
    if (const auto look = sample_wait(pid, tid)) {
      looks.emplace(tid, *look);
    }
  }
  return looks;
}

AgentSession::Awaitable<ShownThread> choose_thread(AgentSession& session,
                                                   std::string wanted,
                                                   Deadline deadline) {
  if (const auto tid = parse_number<int>(wanted)) {
    CO_CHECK(co_await session.follow_thread(*tid, deadline));
    co_return co_await choose_here(session, wanted, deadline);
  }
  // Names are those of the main interpreter, from which a thread may have
  // entered another.
  CO_CHECK(co_await session.enter_main(deadline));
  CO_TRY(auto chosen, co_await choose_here(session, wanted, deadline));
  const int tid = static_cast<int>(chosen.tid);
  CO_TRY(const bool elsewhere, co_await session.follow_thread(tid, deadline));
  if (elsewhere) {
    dap::Thread thread{chosen.tid, chosen.name};
    co_return co_await read_stack(session, std::move(thread), deadline);
  }
  co_return chosen;
}

Result<ShownThread> choose_thread(Session& session,
                                  const std::string& wanted,
                                  Deadline deadline) {
  SessionLoop& loop = session.loop();
  return loop.run(choose_thread(loop.agent(), wanted, deadline));
}

asio::awaitable<std::string> describe_wait(AgentSession& session,
                                           std::int64_t thread,
                                           std::optional<WaitSample> before,
                                           Deadline deadline) {
  if (before && before->asleep_s && *before->asleep_s > kLongAsleep &&
      !before->syscall.empty()) {
    co_return fmt::format(
        "asleep in {} for {}", before->syscall,
        human_duration(std::chrono::nanoseconds(
            static_cast<std::int64_t>(*before->asleep_s * 1e9))));
  }
  const int pid = session.target().pid;
  const int tid = static_cast<int>(thread);
  const auto first = sample_wait(pid, tid);
  const auto started = Deadline::Clock::now();
  const dap::StackTrace::Arguments innermost{thread, {}, 1};
  std::set<std::string> places;
  bool moved = false;
  for (int i = 0; i < kLooksAtLine && !deadline.expired(); ++i) {
    if (i > 0) {
      co_await sleep_for(kHungThreadBetweenSamples);
    }
    const auto stack = co_await session.stack(innermost, deadline);
    if (!stack || stack->stack_frames.empty()) {
      co_return "has ended";
    }
    const dap::StackFrame& top = stack->stack_frames.front();
    const std::string path = path_of(top);
    places.insert(
        fmt::format("{}:{}", path.substr(path.rfind('/') + 1), top.line));
  }
  const auto last = sample_wait(pid, tid);
  if (!first || !last) {
    co_return "has ended";
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
    co_return fmt::format("runs ({} places in {} looks), cpu {} %",
                          places.size(), kLooksAtLine, cpu);
  }
  if (moved || last->state == 'R') {
    co_return fmt::format("loops at {}, cpu {} %", place, cpu);
  }
  co_return fmt::format("asleep in {} at {}",
                        last->syscall.empty() ? "the kernel" : last->syscall,
                        place);
}

std::string describe_wait(Session& session,
                          std::int64_t tid,
                          const std::optional<WaitSample>& before,
                          Deadline deadline) {
  SessionLoop& loop = session.loop();
  const auto describe = [&]() -> AgentSession::Awaitable<std::string> {
    co_return co_await describe_wait(loop.agent(), tid, before, deadline);
  };
  return *loop.run(describe());
}

}  // namespace hangdbg
