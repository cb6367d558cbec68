#include "server/dap/sub_processes.h"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "agent/agent_source.h"
#include "inspector/cpython/runtime/interpreters.h"
#include "inspector/cpython/runtime/python_process.h"
#include "protocol/requests/hold_children.h"
#include "protocol/requests/start_debugging.h"
#include "server/dap/debug_session.h"
#include "server/session/program.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_list.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

constexpr auto kSubProcessesBetweenLooks = std::chrono::milliseconds(100);
// A process that it starts, until the editor has set its breakpoints there.
constexpr auto kToBeHeld = std::chrono::seconds(10);
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

asio::awaitable<void> SubProcesses::hold_back() {
  auto& agent = session_.agent();
  const auto deadline = session_.deadline();
  asked_ = false;
  if (refused_ && !released_ && agent.alive()) {
    released_ = true;
    dap::HoldChildren::Arguments none;
    co_await agent.call<dap::HoldChildren>(std::move(none), deadline);
  }
  if (holds_ || refused_ || !agent.alive()) {
    co_return;
  }
  const bool waits = co_await agent.read_only();
  if (waits) {
    co_return;
  }
  const auto hello = co_await agent.hello(deadline);
  const bool answered = !co_await agent.read_only();
  if (!hello || !answered) {
    co_return;
  }
  holds_ = true;
  dap::HoldChildren::Arguments wanted;
  wanted.starters = agent_module_source("starters");
  wanted.text = Program::text_for_children(kToBeHeld);
  wanted.package = package_source();
  wanted.patience = kToBeHeld.count();
  wanted.debugger = read_proc_link(::getpid(), "ns/pid").value_or("") ==
                            read_proc_link(pid_, "ns/pid").value_or("?")
                        ? ::getpid()
                        : 0;
  Status done = co_await agent.need("spawning", deadline);
  if (done) {
    const auto held =
        co_await agent.call<dap::HoldChildren>(std::move(wanted), deadline);
    done = held ? Status() : std::unexpected(held.error());
  }
  if (!done) {
    co_await session_.note(
        "the processes that it starts do not wait for their breakpoints: " +
        done.error().text());
  }
}

asio::awaitable<void> SubProcesses::follow() {
  while (co_await session_.nap(kSubProcessesBetweenLooks)) {
    if (!asked_ && (!holds_ || (refused_ && !released_))) {
      asked_ = true;
      co_await session_.hold_children_back();
    }
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
    refused_ = true;
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
