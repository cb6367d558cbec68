#include "inspector/snapshot/python_places.h"

#include <utility>

#include "inspector/cpython/runtime/gil.h"
#include "tracee/proc/task_ids.h"

namespace hangdbg {
namespace {

constexpr auto kListAgain = std::chrono::milliseconds(50);

}  // namespace

Result<std::unique_ptr<PythonPlaces>> PythonPlaces::open(int pid) {
  return std::unique_ptr<PythonPlaces>(new PythonPlaces(TRY(open_python(pid))));
}

std::vector<PythonFrame> PythonPlaces::of(int tid, std::size_t most) {
  const auto state = state_of(tid);
  if (!state) {
    return {};
  }
  auto stack = stacks_.read(*state, most);
  if (!stack) {
    states_.erase(tid);  // it may have another one by now
    return {};
  }
  return std::move(stack->frames);
}

std::optional<Address> PythonPlaces::state_of(int tid) {
  if (const auto known = states_.find(tid); known != states_.end()) {
    return known->second;
  }
  const auto now = Clock::now();
  if (now - listed_ < kListAgain) {
    return {};
  }
  listed_ = now;
  const auto tasks = TaskIds::read(process_.pid);
  const auto threads = tasks ? python_threads(memory_, process_.python, *tasks,
                                              /*places=*/false)
                             : std::unexpected(tasks.error());
  states_.clear();
  if (threads) {
    for (const PythonThread& thread : *threads) {
      if (thread.tid) {
        states_.emplace(*thread.tid, thread.state);
      }
    }
  }
  const auto known = states_.find(tid);
  return known == states_.end() ? std::nullopt : std::optional(known->second);
}

}  // namespace hangdbg
