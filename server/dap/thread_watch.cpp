#include "server/dap/thread_watch.h"

#include <utility>

#include "protocol/events/thread.h"
#include "server/dap/debug_session.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

constexpr auto kBetweenPolls = std::chrono::seconds(1);

}  // namespace

// The kernel's list costs little; Python's is read only when that has changed.
asio::awaitable<void> ThreadWatch::follow() {
  const int pid = session_.agent().target().pid;
  auto tasks = list_tasks(pid);
  while (tasks && co_await session_.nap(kBetweenPolls)) {
    auto now = list_tasks(pid);
    if (now && *now != *tasks) {
      co_await compare();
    }
    tasks = std::move(now);
  }
}

asio::awaitable<void> ThreadWatch::compare() {
  const auto listed = session_.agent().threads_outside();
  if (!listed) {
    co_return;
  }
  std::set<std::int64_t> threads;
  for (const dap::Thread& thread : listed->threads) {
    threads.insert(thread.id);
  }
  const auto before = std::exchange(known_, threads);
  for (const std::int64_t thread : threads) {
    if (!before.contains(thread)) {
      co_await tell("started", thread);
    }
  }
  for (const std::int64_t thread : before) {
    if (!threads.contains(thread)) {
      co_await tell("exited", thread);
    }
  }
}

asio::awaitable<void> ThreadWatch::tell(std::string what, std::int64_t thread) {
  return session_.say<dap::ThreadEvent>({std::move(what), thread});
}

}  // namespace hangdbg
