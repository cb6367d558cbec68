#include "server/dap/sub_processes.h"

#include <fmt/core.h>

#include <utility>

#include "inspector/cpython/runtime/interpreters.h"
#include "inspector/cpython/runtime/python_process.h"
#include "protocol/requests/start_debugging.h"
#include "server/dap/debug_session.h"
#include "tracee/proc/proc_list.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

constexpr auto kSubProcessesBetweenLooks = std::chrono::milliseconds(100);
constexpr auto kStart = std::chrono::seconds(5);  // of an interpreter

// An editor's configuration has a name besides what we want to know.
struct ChildConfiguration {
  std::string name;
  dap::Attach::Arguments attach;

  template <class V>
  void fields(V& v) {
    v("name", name);
    attach.fields(v);
  }
};

bool runs_its_interpreter(int pid) {
  const auto process = open_process(pid);
  return process && read_interpreters(process->memory, process->python);
}

}  // namespace

SubProcesses::SubProcesses(DebugSession& session,
                           int pid,
                           dap::Attach::Arguments parent)
    : session_(session),
      pid_(pid),
      parent_(std::move(parent)),
      told_(living()) {}

asio::awaitable<void> SubProcesses::follow() {
  while (co_await session_.nap(kSubProcessesBetweenLooks)) {
    const auto found = co_await session_.on_pool([this] { return take_new(); });
    for (const int pid : found) {
      co_await open_session(pid);
    }
  }
}

asio::awaitable<void> SubProcesses::follow_exec() {
  const auto until = Deadline::in(kStart);
  const auto is_python = [this] { return runs_its_interpreter(pid_); };
  while (!ends_before(pid_, Deadline::in({})) && !until.expired()) {
    if (co_await session_.on_pool(is_python)) {
      co_return co_await open_session(pid_);
    }
    if (!co_await session_.nap(kSubProcessesBetweenLooks)) {
      break;
    }
  }
}

asio::awaitable<void> SubProcesses::open_session(int pid) {
  ChildConfiguration wanted{fmt::format("Process {}", pid), parent_};
  wanted.attach.process_id = LooseText{std::to_string(pid)};
  wanted.attach.thread.reset();
  dap::StartDebugging::Arguments question{"attach", encode(wanted)};
  const auto opened =
      co_await session_.ask<dap::StartDebugging>(std::move(question));
  if (!opened) {
    co_await session_.note(
        fmt::format("process {} has no session of its own: {}", pid,
                    opened.error().text()));
  }
}

// Two looks, since one that forks in order to call exec is like ours for a
// moment.
std::vector<int> SubProcesses::take_new() {
  const std::set<int> now = living();
  std::vector<int> found;
  for (const int pid : now) {
    if (!told_.contains(pid) && seen_.contains(pid) &&
        runs_its_interpreter(pid)) {
      told_.insert(pid);
      found.push_back(pid);
    }
  }
  std::erase_if(told_, [&](int pid) { return !now.contains(pid); });
  seen_ = now;
  return found;
}

// What those have started belongs to their own sessions.
std::set<int> SubProcesses::living() {
  std::set<int> found;
  const auto children = children_by_parent();
  std::vector<int> parents = {pid_};
  while (children && !parents.empty()) {
    const auto [first, last] = children->equal_range(parents.back());
    parents.pop_back();
    for (auto child = first; child != last; ++child) {
      if (finder_.runs_python(child->second)) {
        found.insert(child->second);
      } else {
        parents.push_back(child->second);
      }
    }
  }
  return found;
}

}  // namespace hangdbg
