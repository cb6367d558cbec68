#include "injector/stops.h"

#include <fmt/core.h>

#include <optional>

#include "injector/agent_finder.h"
#include "injector/agent_image.h"
#include "injector/checks/seccomp.h"
#include "injector/checks/thread_choice.h"
#include "inspector/cpython/stacks/thread_names.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/proc/wait_sample.h"

namespace hangdbg {
namespace {

constexpr auto kFilterStop = std::chrono::milliseconds(500);

std::string what_stops_nothing(int pid) {
  return fmt::format(
      "hangdbg eval {0} EXPRESSION and hangdbg dump {0} stop nothing", pid);
}

std::unexpected<Error> named(const AttachTarget& target, int tid, Error error) {
  error.message = fmt::format(
      "thread {} has a seccomp filter of its own, and must not be "
      "made to stop: {}",
      tid, error.message);
  error.hint = what_stops_nothing(target.pid);
  return std::unexpected(std::move(error));
}

Result<HdRegion> agents_region(const AttachTarget& target) {
  const auto at = TRY(find_agent(target));
  if (!at) {
    return fail(ErrorId::ChannelClosed, "the agent has gone");
  }
  return target.memory.read_value<HdRegion>(*at);
}

// What the agent does without, it does without everywhere; and no more.
Status check_covered(const AttachTarget& target, const AllowedCalls& allowed) {
  const auto region = TRY(agents_region(target));
  if (allowed.hold && without(region, allowed).forbidden == region.forbidden) {
    return {};
  }
  return fail(ErrorId::SeccompForbids,
              "that forbids calls which the agent makes there");
}

// Of the thread that the agent was started by, and of others like it.
Status check_agents_filter(const AttachTarget& target) {
  if ((TRY(agents_region(target)).forbidden & HD_FORBIDS_STOPS) == 0) {
    return {};
  }
  return fail(ErrorId::SeccompForbids,
              fmt::format("process {} has a seccomp filter that forbids calls "
                          "which the agent makes in a thread that stands: none "
                          "must be made to stop",
                          target.pid),
              what_stops_nothing(target.pid));
}

// Filters of the agent's own threads; nothing: there is none.
std::optional<int> filters_of_agent(const AttachTarget& target,
                                    const std::vector<int>& tids) {
  for (const int tid : tids) {
    const auto stat = read_task_stat(target.pid, tid);
    if (stat && is_agents_name(stat->comm)) {
      return count_filters(target.pid, tid);
    }
  }
  return std::nullopt;
}

// Nothing: the filter is to be read.
Result<bool> known_unread(const AttachTarget& target, int tid) {
  const auto known = TRY(calls_known_unread(target.pid, tid, target.makers,
                                            CallsFor::SuspendedThread));
  if (!known) {
    return false;
  }
  TRY(check_covered(target, *known));
  return true;
}

Status read_and_check(const AttachTarget& target, int tid, Deadline deadline) {
  WaitKeeper wait(target.pid, tid);
  const Status may = run_as_tracer([&]() -> Status {
    auto thread = TRY(TracedThread::seize(tid));
    TRY(wait.interrupt(thread, deadline.capped(kFilterStop)));
    wait.stopped(thread, TRY(thread.registers()));
    Status checked = check_stop(target, thread);
    TRY(wait.let_go(thread));
    return checked;
  });
  wait.note();
  return may;
}

}  // namespace

Status check_stops(const AttachTarget& target, Deadline deadline) {
  const auto tids = TRY(list_tasks(target.pid));
  const auto of_agent = filters_of_agent(target, tids);
  if (of_agent.value_or(0) > 0) {
    TRY(check_agents_filter(target));
  }
  for (const int tid : tids) {
    const int filters = count_filters(target.pid, tid);
    const auto stat = read_task_stat(target.pid, tid);
    if (filters == 0 || filters == of_agent || !stat ||
        is_agents_name(stat->comm)) {
      continue;
    }
    const auto known = known_unread(target, tid);
    if (!known) {
      return named(target, tid, known.error());
    }
    if (*known) {
      continue;
    }
    if (waits_for_supervisor(target.pid, tid)) {
      return named(target, tid,
                   {ErrorId::SeccompUnknown,
                    "it waits for the answer of a supervisor, and its filter "
                    "cannot be read meanwhile",
                    {}});
    }
    const Status read = read_and_check(target, tid, deadline);
    if (!read && read.error().id != ErrorId::NoSuchThread) {
      return named(target, tid, read.error());
    }
  }
  return {};
}

Status check_stop(const AttachTarget& target, TracedThread& thread) {
  const auto known = TRY(calls_known_unread(
      target.pid, thread.tid(), target.makers, CallsFor::SuspendedThread));
  return check_covered(
      target, known ? *known
                    : TRY(read_allowed_calls(target.pid, thread, target.makers,
                                             CallsFor::SuspendedThread)));
}

}  // namespace hangdbg
