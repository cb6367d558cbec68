#include "injector/checks/real_time.h"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <thread>
#include <vector>

#include "base/deadline.h"
#include "base/text.h"
#include "base/visit_cpus.h"
#include "inspector/cpython/stacks/thread_names.h"
#include "tracee/proc/proc_list.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {
namespace {

constexpr auto kGetsToRun = std::chrono::milliseconds(5);
// The kernel keeps its twentieth back once a second (sched_rt_period_us).
constexpr auto kRealTimeLook = std::chrono::milliseconds(1100);
// Of a second and a tenth it may keep back two twentieths of a second.
constexpr double kToItself = 0.875;

std::optional<cpu_set_t> cpus_of(int tid) {
  cpu_set_t cpus;
  return ::sched_getaffinity(tid, sizeof cpus, &cpus) == 0 ? std::optional(cpus)
                                                           : std::nullopt;
}

// A thread that runs, or would if it were let.
struct Runnable {
  RealTimeThread thread;
  int cpu = 0;
};

std::optional<Runnable> look_at_runnable(int pid, int tid) {
  const auto stat = read_task_stat(pid, tid);
  if (!stat || stat->state != 'R' ||
      (stat->policy != SCHED_FIFO && stat->policy != SCHED_RR)) {
    return {};
  }
  const auto runs = read_task_runs(pid, tid);
  return Runnable{.thread = {.pid = pid,
                             .tid = tid,
                             .name = stat->comm,
                             .policy = stat->policy,
                             .priority = stat->priority,
                             .ran_ns = runs ? runs->nanoseconds : 0},
                  .cpu = stat->cpu};
}

std::vector<Runnable> runnable_of(int pid) {
  std::vector<Runnable> found;
  const auto tasks = list_tasks(pid);
  for (const int tid : tasks ? *tasks : std::vector<int>{}) {
    if (auto runnable = look_at_runnable(pid, tid)) {
      found.push_back(*std::move(runnable));
    }
  }
  return found;
}

// Whether each of the CPUs has one.
bool may_be_taken(const std::vector<Runnable>& runnable,
                  const cpu_set_t& cpus) {
  cpu_set_t left = cpus;
  for (const Runnable& one : runnable) {
    CPU_CLR(static_cast<std::size_t>(one.cpu), &left);
  }
  return CPU_COUNT(&left) == 0;
}

// Those that use all the time that there is; of each CPU the one that uses
// most. None, if it is seen at once that these CPUs are not all taken.
TakenCpus measure_taken_cpus(const cpu_set_t& cpus) {
  std::vector<Runnable> before;
  const auto processes = list_processes();
  for (const int pid : processes ? *processes : std::vector<int>{}) {
    std::ranges::move(runnable_of(pid), std::back_inserter(before));
  }
  if (!may_be_taken(before, cpus)) {
    return {};
  }
  const auto began = Deadline::Clock::now();
  std::this_thread::sleep_for(kRealTimeLook);
  const std::chrono::duration<double, std::nano> time =
      Deadline::Clock::now() - began;
  std::map<int, double> used;
  TakenCpus most;
  for (const Runnable& then : before) {
    auto now = look_at_runnable(then.thread.pid, then.thread.tid);
    if (!now || now->cpu != then.cpu ||
        now->thread.ran_ns <= then.thread.ran_ns) {
      continue;
    }
    now->thread.ran_ns -= then.thread.ran_ns;
    used[now->cpu] += static_cast<double>(now->thread.ran_ns);
    RealTimeThread& on = most[now->cpu];
    if (now->thread.ran_ns > on.ran_ns) {
      on = now->thread;
    }
  }
  std::erase_if(most, [&](const auto& one) {
    return used[one.first] < kToItself * time.count();
  });
  return most;
}

// Then we run where it may run, and it is not one CPU that we have by turns.
bool may_run_where_we_do(const cpu_set_t& cpus) {
  const auto ours = cpus_of(0);
  if (!ours || CPU_COUNT(&cpus) < 2) {
    return false;
  }
  cpu_set_t both;
  CPU_AND(&both, &*ours, &cpus);
  return CPU_EQUAL(&both, &*ours) != 0;
}

// Where what it starts would wait for a CPU.
bool gets_to_run(int pid, const cpu_set_t& cpus) {
  const auto stat = read_task_stat(pid, pid);
  if (!stat) {
    return true;
  }
  const SchedulingClass as{static_cast<int>(stat->policy),
                           static_cast<int>(stat->priority)};
  return visit_cpus(cpus, as, kGetsToRun, [] {}) != Visit::Late;
}

std::unexpected<Error> no_cpu(int pid, const TakenCpus::value_type& taken) {
  const auto& [cpu, thread] = taken;
  const auto cpus = cpus_of(pid);
  return fail(
      ErrorId::NoCpu,
      fmt::format(
          "process {} may run only where threads of ours would hardly get to: "
          "thread {}{} ({}, {}, priority {}) has CPU {} to itself{}",
          pid, thread.tid,
          thread.pid == pid ? "" : fmt::format(" of process {}", thread.pid),
          printable(thread.name),
          thread.policy == SCHED_FIFO ? "SCHED_FIFO" : "SCHED_RR",
          thread.priority, cpu,
          cpus && CPU_COUNT(&*cpus) > 1 ? ", and others have the rest" : ""),
      fmt::format("chrt --other --pid 0 {}, or taskset --all-tasks --cpu-list "
                  "--pid CPUS {}, then again; hangdbg dump {} and hangdbg peek "
                  "{} read it out of process",
                  thread.tid, pid, pid, pid));
}

}  // namespace

Result<TakenCpus> check_cpus(int pid) {
  const auto cpus = cpus_of(pid);
  if (!cpus || may_run_where_we_do(*cpus) ||
      (runnable_of(pid).empty() && gets_to_run(pid, *cpus))) {
    return TakenCpus();
  }
  const TakenCpus taken = measure_taken_cpus(*cpus);
  const auto starves = [&](int tid) {
    const auto stat = read_task_stat(pid, tid);
    return (stat && is_agents_name(stat->comm)) ||
           starved_by(pid, tid, taken) != nullptr;
  };
  const auto* const by = starved_by(pid, pid, taken);
  return by != nullptr && std::ranges::all_of(TRY(list_tasks(pid)), starves)
             ? Result<TakenCpus>(no_cpu(pid, *by))
             : taken;
}

// What a thread starts is of its own class. At the same priority one of
// SCHED_FIFO never yields; one of SCHED_RR does, by turns.
const TakenCpus::value_type* starved_by(int pid,
                                        int tid,
                                        const TakenCpus& taken) {
  if (taken.empty()) {
    return nullptr;
  }
  const auto cpus = cpus_of(tid);
  const auto stat = read_task_stat(pid, tid);
  if (!cpus || !stat) {
    return nullptr;
  }
  const bool is_real_time =
      stat->policy == SCHED_FIFO || stat->policy == SCHED_RR;
  if (!is_real_time && stat->policy != SCHED_OTHER &&
      stat->policy != SCHED_BATCH && stat->policy != SCHED_IDLE) {
    return nullptr;  // SCHED_DEADLINE goes before all of them
  }
  const TakenCpus::value_type* by = nullptr;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &*cpus) == 0) {
      continue;
    }
    const auto found = taken.find(cpu);
    if (found == taken.end() ||
        (is_real_time && (found->second.priority < stat->priority ||
                          (found->second.priority == stat->priority &&
                           found->second.policy == SCHED_RR)))) {
      return nullptr;
    }
    by = by == nullptr ? &*found : by;
  }
  return by;
}

}  // namespace hangdbg
