#include "diagnosis/causes/rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "diagnosis/causes/causes.h"

namespace hangdbg {
namespace {

// First what the kernel says for certain; then the rules, the most specific
// first.
constexpr NamedRule kRules[] = {
    {"frozen cgroup", causes::frozen},
    {"stopped", causes::stopped},
    {"memory", causes::memory_limit},
    {"mount", causes::mount},
    {"exit", causes::exit},
    {"CUDA", causes::cuda},
    {"GIL", causes::gil},
    {"idle worker", causes::idle_worker},
    {"launcher", causes::launcher},
    {"asyncio", causes::asyncio},
    {"Trio", causes::trio},
    {"greenlets", causes::greenlets},
    {"stale lock file", causes::stale_lock_file},
    {"SQLite", causes::sqlite_lock},
    {"file lock", causes::file_lock},
    {"import lock", causes::import_lock},
    {"data loader", causes::data_loader},
    {"collective", causes::collective},
    {"NCCL", causes::nccl_init},
    {"autograd", causes::autograd},
    {"join", causes::join},
    {"pool", causes::pool},
    {"resource pool", causes::resource_pool},
    {"condition", causes::condition},
    {"SimpleQueue", causes::simple_queue},
    {"OpenMP", causes::openmp},
    {"Python lock", causes::python_lock},
    {"mutex", causes::mutex},
    {"buffered file", causes::buffered_file},
    {"shared semaphore", causes::shared_semaphore},
    {"native fork", causes::native_fork},
    {"pending collective", causes::pending_collective},
    {"child", causes::child},
    {"manager", causes::manager},
    {"terminal", causes::terminal},
    {"pseudo-terminal", causes::pseudo_terminal},
    {"FIFO", causes::fifo},
    {"pipe", causes::pipe},
    {"PostgreSQL", causes::postgres},
    {"store", causes::store},
    {"gRPC", causes::grpc},
    {"DNS", causes::dns},
    {"connection", causes::connection},
    {"UDP", causes::udp},
    {"events", causes::events},
    {"private futex", causes::private_futex},
    {"signal", causes::signal},
    {"time", causes::sleep},
    {"busy", causes::running},
};

// Refine the cause that a rule has found: why the thread's work fails or is
// slow.
constexpr void (*kRefiners[])(const ProcessSnapshot&,
                              const ThreadSnapshot&,
                              Cause&) = {
    causes::refine_by_loop,          causes::refine_by_library,
    causes::refine_by_descriptors,   causes::refine_by_full_disk,
    causes::refine_by_process_limit, causes::refine_by_cpu_limit,
    causes::refine_by_memory_limit,  causes::refine_by_lack_of_memory,
    causes::refine_by_known_version, causes::refine_by_nccl_threads,
};

// Calls that no rule is for, and what they wait for.
struct CallWait {
  std::string_view call, what;
};
constexpr CallWait kCallWaits[] = {
    {"msgrcv", "a message of a System V queue"},
    {"msgsnd", "room in a System V queue"},
    {"semop", "a System V semaphore"},
    {"mq_timedreceive", "a message of a POSIX queue"},
    {"mq_timedsend", "room in a POSIX queue"},
    {"io_uring_enter", "I/O that it has submitted (io_uring)"},
    {"io_getevents", "I/O that it has submitted (aio)"},
};

void tell_call(const ProcessSnapshot& of,
               const ThreadSnapshot& thread,
               Cause& cause) {
  const auto* const known =
      std::ranges::find(kCallWaits, thread.wait.syscall, &CallWait::call);
  if (known != std::end(kCallWaits) && thread.wait.state != 'R') {
    cause.progress = Progress::Blocked;
    cause.summary =
        fmt::format("waits for {}, at {}", known->what, thread.place());
  } else if (thread.python && thread.sleeps_in("futex")) {
    constexpr std::size_t kMost = 4;
    for (const std::string& function : of.native(thread)) {
      if (cause.evidence.size() < kMost) {
        cause.evidence.push_back("in " + function);
      }
    }
  }
}

Cause unknown(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  std::string ruled_out;
  for (const NamedRule& rule : kRules) {
    ruled_out += fmt::format("{}{}", ruled_out.empty() ? "" : ", ", rule.name);
  }
  const std::string in = thread.wait.syscall.empty()
                             ? "in no system call"
                             : "in " + thread.wait.syscall;
  Cause cause{.id = CauseId::Unknown,
              .progress = Progress::Unknown,
              .confidence = Confidence::Possible,
              .summary = fmt::format("{}; cause unknown: {}",
                                     describe(thread.wait), thread.place())};
  cause.evidence.push_back(fmt::format("{}; ruled out: {}", in, ruled_out));
  tell_call(of, thread, cause);
  constexpr double kSoon = 60;  // seconds
  if (const auto time = of.wakes_in_s(thread); time && *time < kSoon) {
    cause.progress = Progress::Idle;
    cause.evidence.push_back(fmt::format(
        "it wakes up by itself, in {:.0f} s at most", std::max(*time, 0.0)));
  }
  if (!of.is_python() && of.unread.empty() && of.threads.size() > 1) {
    // As main of a Java or Go program does, while the others work.
    cause.progress = Progress::Idle;
    cause.evidence.push_back(fmt::format(
        "it is no Python, and what its other {} threads are for is not known",
        of.threads.size() - 1));
  }
  cause.next.push_back({fmt::format("hangdbg dump {} --native", thread.id.pid),
                        "its stacks, with C functions"});
  cause.next.push_back({fmt::format("hangdbg threads {}", thread.id.pid),
                        "what each thread waits for, as the kernel sees it"});
  return cause;
}

// A process whose stacks are not read is not known to be well: a wait that is
// normal for one thread hangs another.
void doubt_what_is_not_read(const ProcessSnapshot& of, Cause& cause) {
  if (of.unread.empty()) {
    return;
  }
  cause.evidence.push_back(of.unread);
  if (of.python_threads().empty() && cause.progress < Progress::Unknown) {
    cause.progress = Progress::Unknown;
    cause.confidence = Confidence::Possible;
    cause.summary += "; whether it hangs is not known: its Python is not read";
  }
}

Cause first_of(const NamedRule* begin,
               const ProcessSnapshot& of,
               const ThreadSnapshot& thread) {
  for (const NamedRule* rule = begin; rule != std::end(kRules); ++rule) {
    if (auto found = rule->find(of, thread)) {
      return *std::move(found);
    }
  }
  return unknown(of, thread);
}

}  // namespace

std::span<const NamedRule> rules() {
  return kRules;
}

Cause cause_of(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  Cause cause = cause_by_rules(of, thread);
  for (const auto explain : kRefiners) {
    explain(of, thread, cause);
  }
  doubt_what_is_not_read(of, cause);
  if (cause.next.empty() && cause.progress >= Progress::Polling &&
      of.is_python()) {
    cause.next.push_back({fmt::format("hangdbg dump {} --locals", of.pid),
                          "its stacks, with local variables"});
  }
  return cause;
}

Cause cause_by_rules(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  return first_of(std::begin(kRules), of, thread);
}

Cause cause_by_later_rules(Rule rule,
                           const ProcessSnapshot& of,
                           const ThreadSnapshot& thread) {
  const auto* const own = std::ranges::find(kRules, rule, &NamedRule::find);
  return first_of(std::next(own), of, thread);
}

}  // namespace hangdbg
