// A call by a proxy of multiprocessing's managers: the object is in the
// manager's process, where a thread for each connection does what is called.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/awaited_files.h"
#include "diagnosis/waits/pipe_holders.h"
#include "inspector/cpython/locks/stdlib_blocking_frames.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
namespace {

constexpr std::string_view kManagers = "/multiprocessing/managers.py";

struct ProxyCall {
  std::string type;    // "Queue"
  std::string method;  // "get"
  std::string object;  // the manager's name of it
};

std::optional<ProxyCall> proxy_call(const ProcessSnapshot& of,
                                    const ThreadSnapshot& thread,
                                    const PythonFrame& frame) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  auto method = of.text(frame, "methodname");
  if (awaited.files.size() != 1 || !awaited.files[0].to_read || !method) {
    return {};
  }
  return ProxyCall{of.text(frame, "self._token.typeid").value_or("object"),
                   *std::move(method), of.text(frame, "self._id").value_or("")};
}

// The manager's process: the owner of the other end of the connection, else the
// one that this process has started.
std::vector<int> managers(const ProcessSnapshot& of,
                          const ThreadSnapshot& thread,
                          const PythonFrame& frame) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  const auto peer =
      of.system.unix_peer(of.pid, awaited.files.front().file.inode);
  if (peer) {
    std::vector<int> pids;
    for (const SocketFd& holder : peer->holders) {
      if (std::ranges::find(pids, holder.pid) == pids.end()) {
        pids.push_back(holder.pid);
      }
    }
    return pids;
  }
  const auto own = of.number(frame, "self._manager._process._popen.pid");
  return own ? std::vector{static_cast<int>(*own)} : std::vector<int>();
}

struct Serving {
  std::vector<const ThreadSnapshot*> with_it;  // that run the call now
  std::size_t connections = 0;
};

Serving serving_threads(const ProcessSnapshot& manager, const ProxyCall& call) {
  Serving found;
  for (const ThreadSnapshot* const one : manager.python_threads()) {
    const PythonFrame* const frame = one->find("serve_client", kManagers);
    if (frame == nullptr) {
      continue;
    }
    ++found.connections;
    if (manager.text(*frame, "methodname") == call.method &&
        manager.text(*frame, "ident") == call.object) {
      found.with_it.push_back(one);
    }
  }
  return found;
}

// It waits in a lock or a queue of the standard library without a timeout,
// until another client ends that wait.
bool waits_for_a_client(const ThreadSnapshot& serving) {
  return serving.sleeps_in("futex") && !serving.has_timeout() &&
         !serving.frames().empty() &&
         is_stdlib_blocking_file(serving.frames().front().file);
}

bool runs_module(const ProcessSnapshot& of, std::string_view module) {
  return std::ranges::any_of(of.command_line, [&](const std::string& word) {
    return word.contains(module);
  });
}

// That process has no child but the manager and multiprocessing's own helpers.
bool has_no_other_child(SystemSnapshot& system, int pid, int manager) {
  const auto [begin, end] = system.children().equal_range(pid);
  return std::all_of(begin, end, [&](const auto& child) {
    const ProcessSnapshot* const its = system.snapshot(child.second);
    if (child.second == manager || its == nullptr || its->status.state == 'Z' ||
        runs_module(*its, "multiprocessing.resource_tracker")) {
      return true;
    }
    // Children of the fork server have its command line, and not this parent.
    return runs_module(*its, "multiprocessing.forkserver") &&
           !runs_module(*system.snapshot(pid), "multiprocessing.forkserver") &&
           has_no_other_child(system, child.second, manager);
  });
}

// This process has started the manager, and no other live process: no other
// process knows the manager.
bool has_it_alone(const ProcessSnapshot& of, const ProcessSnapshot& manager) {
  return is_descendant(of.system, manager.pid, of.pid) &&
         of.python_threads().size() == 1 &&
         has_no_other_child(of.system, of.pid, manager.pid);
}

}  // namespace

Found manager(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const PythonFrame* const frame =
      of.is_python() ? thread.find("_callmethod", kManagers, 6) : nullptr;
  const auto call =
      frame != nullptr ? proxy_call(of, thread, *frame) : std::nullopt;
  if (!call) {
    return std::nullopt;
  }
  const std::string what =
      printable(fmt::format("{}.{}()", call->type, call->method));
  Cause cause{.id = CauseId::ManagerCall,
              .progress = Progress::Blocked,
              .confidence = Confidence::Possible,
              .summary = fmt::format("waits for {} in a manager process, which "
                                     "cannot be seen from here",
                                     what)};
  cause.evidence.push_back(
      fmt::format("calls {} by a proxy at {}", what, thread.place()));
  for (const int pid : managers(of, thread, *frame)) {
    const ProcessSnapshot* const manager = of.system.snapshot(pid);
    if (manager == nullptr || pid == of.pid) {
      continue;
    }
    const Serving serving = serving_threads(*manager, *call);
    cause.summary =
        fmt::format("waits for {} in its manager, {}", what, process_text(pid));
    if (serving.with_it.empty()) {
      cause.blocked_by = {{pid, pid}};
      continue;
    }
    cause.confidence =
        serving.with_it.size() == 1 ? Confidence::Certain : Confidence::Likely;
    cause.blocked_by = {serving.with_it.front()->id};
    cause.evidence.push_back(fmt::format(
        "{} of the manager does that: {} at {}", serving.with_it.front()->who(),
        describe(serving.with_it.front()->wait),
        serving.with_it.front()->place()));
    cause.evidence.push_back(
        serving.connections == 1
            ? "nobody else is connected to the manager"
            : fmt::format("the manager serves {} connections",
                          serving.connections));
    if (serving.connections == 1 &&
        waits_for_a_client(*serving.with_it.front()) &&
        has_it_alone(of, *manager)) {
      cause.progress = Progress::Stuck;
      cause.confidence = Confidence::Likely;
      cause.blocks_others = true;
      cause.summary += ", which waits for another client and has none";
      cause.evidence.push_back(
          "no other child of this process, which has started the manager, is "
          "alive");
    }
    break;
  }
  if (!cause.blocked_by.empty()) {
    cause.next.push_back(
        {fmt::format("hangdbg dump {}", cause.blocked_by.front().pid),
         "the manager's stacks: a thread for each connection"});
  }
  return cause;
}

}  // namespace hangdbg::causes
