#include "diagnosis/evidence/tree.h"

#include <fmt/core.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "base/parallel_map.h"
#include "diagnosis/diagnose.h"
#include "inspector/cpython/runtime/python_processes.h"
#include "tracee/proc/open_files.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_list.h"
#include "tracee/proc/proc_status.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/proc/process_stat.h"
#include "tracee/proc/signals.h"
#include "tracee/proc/wait_sample.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostProcesses = 10'000;
constexpr double kHungAfterS = 10;

using Children = std::multimap<int, int>;

// What the kernel tells without the process's memory. None: it has ended.
std::optional<TreeProcess> seen_process(int pid);
void add_below(int pid,
               std::size_t depth,
               const Children& children,
               std::set<int>& known,
               SeenTree& tree);
void add_ancestors(int pid, SeenTree& tree);
int root_process(int pid, const Jobs& jobs);
void read_usage(SeenTree& tree, Deadline deadline);
void mark_waited_for(SeenTree& tree, Deadline deadline);

}  // namespace

Result<SeenTree> see_tree(int pid, Deadline deadline) {
  TRY(read_status(pid));
  SeenTree tree{.pid = pid};
  auto jobs = find_jobs(deadline.capped(deadline.left() / 4));
  if (jobs) {
    tree.jobs = *std::move(jobs);
  } else {
    tree.skipped.push_back("jobs: " + jobs.error().text());
  }
  const Children children = TRY(children_by_parent());
  std::set<int> known;
  const int root = root_process(pid, tree.jobs);
  add_ancestors(root, tree);
  add_below(root, 0, children, known, tree);
  const auto place = tree.jobs.find(pid);
  if (place) {
    for (const JobRank& rank : place->job->ranks) {
      add_below(rank.pid, 0, children, known, tree);
    }
  }
  read_usage(tree, deadline.capped(deadline.left() / 3));
  mark_waited_for(tree, deadline.capped(deadline.left() * 2 / 3));
  return tree;
}

namespace {

double since_boot_s() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) / 1e9;
}

std::optional<TreeProcess> seen_process(int pid) {
  const auto status = read_status(pid);
  if (!status) {
    return std::nullopt;
  }
  TreeProcess seen{.pid = pid,
                   .parent = status->ppid,
                   .name = status->name,
                   .uid = status->uids[0],
                   .state = status->state,
                   .threads = status->threads};
  if (status->tracer_pid != 0) {
    seen.tracer = status->tracer_pid;
  }
  if (const auto wait = sample_wait(pid, pid)) {
    seen.doing = describe(*wait);
  }
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  if (const auto stat = read_process_stat(pid)) {
    seen.cpu_s = static_cast<double>(stat->cpu_ticks) / ticks;
    seen.age_s = std::max(
        0.0, since_boot_s() - static_cast<double>(stat->start_ticks) / ticks);
    seen.ended = seen.state == 'Z' ? end_text(stat->exit_status) : "";
  }
  return seen;
}

void add_below(int pid,
               std::size_t depth,
               const Children& children,
               std::set<int>& known,
               SeenTree& tree) {
  constexpr std::size_t kDeepest = 200;
  if (depth > kDeepest || known.size() >= kMostProcesses ||
      !known.insert(pid).second) {
    return;
  }
  auto seen = seen_process(pid);
  if (!seen) {
    return;
  }
  seen->depth = depth;
  tree.processes.push_back(*std::move(seen));
  std::vector<int> below;
  const auto [begin, end] = children.equal_range(pid);
  std::transform(begin, end, std::back_inserter(below),
                 [](const auto& one) { return one.second; });
  std::ranges::sort(below);
  for (const int child : below) {
    if (child != ::getpid()) {
      add_below(child, depth + 1, children, known, tree);
    }
  }
}

void add_ancestors(int pid, SeenTree& tree) {
  constexpr std::size_t kMost = 100;
  const auto own = read_status(pid);
  int parent = own ? own->ppid : 0;
  while (parent > 0 && tree.ancestors.size() < kMost) {
    auto seen = seen_process(parent);
    if (!seen) {
      break;
    }
    parent = seen->parent;
    tree.ancestors.insert(tree.ancestors.begin(), *std::move(seen));
  }
}

int root_process(int pid, const Jobs& jobs) {
  const auto place = jobs.find(pid);
  const auto launcher = place ? place->job->launcher : std::nullopt;
  int above = pid;
  while (launcher && above > 1) {
    if (above == *launcher) {
      return above;
    }
    const auto status = read_status(above);
    above = status ? status->ppid : 0;
  }
  return pid;
}

TreeProcess* find_process(SeenTree& tree, int pid) {
  const auto found = std::ranges::find(tree.processes, pid, &TreeProcess::pid);
  return found == tree.processes.end() ? nullptr : &*found;
}

// Command lines, and whether it is Python: both are read from its memory. A
// reader of a process in state D may block likewise, and not even SIGKILL ends
// it.
void read_usage(SeenTree& tree, Deadline deadline) {
  struct Memory {
    std::vector<std::string> command_line;
    bool python = false;
  };
  std::vector<int> pids;
  std::size_t silent = 0;
  for (TreeProcess& one : tree.processes) {
    if (one.state != 'D') {
      pids.push_back(one.pid);
    } else {
      one.python = is_python_name(read_proc_link(one.pid, "exe").value_or(""));
      ++silent;
    }
  }
  const auto finder = std::make_shared<PythonFinder>();
  parallel_map<Memory>(
      pids, deadline,
      [finder](int pid) -> Result<Memory> {
        return Memory{read_command_line(pid), finder->runs_python(pid)};
      },
      [&](int pid, std::optional<Result<Memory>> memory) {
        if (!memory || !*memory) {
          ++silent;
          return;
        }
        TreeProcess& one = *find_process(tree, pid);
        one.command_line = std::move((*memory)->command_line);
        one.python = (*memory)->python;
      });
  if (silent > 0) {
    tree.skipped.push_back(fmt::format(
        "the command line of {} {} in uninterruptible sleep: such memory may "
        "not answer",
        silent, silent == 1 ? "process" : "processes"));
  }
}

void add_waiter(SeenTree& tree, int awaited, int waiter) {
  TreeProcess* const one = find_process(tree, awaited);
  if (one != nullptr && awaited != waiter &&
      std::ranges::find(one->waited_for_by, waiter) ==
          one->waited_for_by.end()) {
    one->waited_for_by.push_back(waiter);
  }
}

// The processes for which a thread is in wait4(2) or waitid(2); -1: any child.
std::vector<int> waited_for(int pid) {
  std::vector<int> found;
  const auto tids = list_tasks(pid);
  for (const int tid : tids ? *tids : std::vector<int>()) {
    const auto call = read_task_syscall(pid, tid);
    if (!call || call->running) {
      continue;
    }
    if (call->number == SYS_wait4) {
      found.push_back(static_cast<int>(call->args[0]));
    } else if (call->number == SYS_waitid) {
      const auto what = static_cast<idtype_t>(call->args[0]);
      const auto id = static_cast<int>(call->args[1]);
      if (what == P_PIDFD) {
        const auto info = read_proc_record(pid, fmt::format("fdinfo/{}", id));
        const auto link = read_proc_link(pid, fmt::format("fd/{}", id));
        const auto file = parse_open_file(id, link.value_or(""),
                                          info ? *info : std::string());
        found.push_back(file.pid.value_or(0));
      } else {
        found.push_back(what == P_PID ? id : -1);
      }
    }
  }
  return found;
}

// By system calls; for the requested process by all that `diagnose` knows.
void mark_waited_for(SeenTree& tree, Deadline deadline) {
  for (const TreeProcess& one : std::vector(tree.processes)) {
    for (const int awaited : waited_for(one.pid)) {
      if (awaited > 0) {
        add_waiter(tree, awaited, one.pid);
      }
      for (const TreeProcess& child : std::vector(tree.processes)) {
        if (awaited <= 0 && child.parent == one.pid) {
          add_waiter(tree, child.pid, one.pid);
        }
      }
    }
  }
  const TreeProcess* const asked = find_process(tree, tree.pid);
  if (asked == nullptr || !asked->python || asked->state == 'D') {
    return;
  }
  const auto system = SystemSnapshot::make(deadline);
  system->may_stop = false;
  system->may_watch = false;
  parallel_map<Diagnosis>(
      {tree.pid}, deadline,
      [system](int pid) { return diagnose(*system, pid, kHungAfterS); },
      [&](int, std::optional<Result<Diagnosis>> found) {
        if (!found || !*found) {
          tree.skipped.push_back(
              "whom it waits for: " +
              (found ? (*found).error().text() : "its memory does not answer"));
          return;
        }
        const auto& chain = (*found)->chain;
        for (std::size_t i = 1; i < chain.size(); ++i) {
          add_waiter(tree, chain[i].id.pid, chain[i - 1].id.pid);
        }
      });
}

}  // namespace
}  // namespace hangdbg
