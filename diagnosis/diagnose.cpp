#include "diagnosis/diagnose.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "base/text.h"
#include "diagnosis/causes/pools.h"
#include "diagnosis/causes/rules.h"
#include "diagnosis/snapshot/process_snapshot.h"
#include "diagnosis/waits/sleep_loop.h"
#include "inspector/host/unusual.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostEdges = 50;
constexpr std::size_t kMostThreads = 200;  // that get a cause of their own

struct WaitChain {
  std::vector<WaitEdge> links;  // may be empty
  Cause cause;                  // the root's, or the deadlock cycle
  std::size_t root = 0;         // index in `links` of the cause
  std::size_t cycle = 0;  // length of the cycle that ends with the last link
  bool turns = false;     // one of such a cycle has got on: they take turns
};

struct Finder {
  SystemSnapshot& system;
  double hung_after_s;
  std::map<ThreadId, std::optional<WaitEdge>> links = {};

  // None for a thread that cannot be inspected.
  const std::optional<WaitEdge>& link(ThreadId id);
  WaitChain chain_from(ThreadId start);
  bool is_stalled(const WaitChain& chain) const;
  bool is_still_so(const std::vector<WaitEdge>& links) const;
  std::vector<WaitEdge> stuck_descendants(const Diagnosis& found);
};

bool has(const WaitChain& chain, ThreadId id) {
  return std::ranges::find(chain.links, id, &WaitEdge::id) != chain.links.end();
}

// The next link: the worst of its blockers; the best, where any of them can end
// the wait.
std::optional<ThreadId> next_of(Finder& finder, const WaitEdge& link);
Progress state_of(const WaitChain& chain);
Cause circle(const std::vector<WaitEdge>& links);
void tell_it_goes_on(Diagnosis& found);
Result<Diagnosis> diagnose_once(SystemSnapshot& system,
                                int pid,
                                double hung_after_s);

}  // namespace

// Threads, locks and descriptors are read one after the other, so that facts
// may be out of date: a thread is reported as stuck only if all links of its
// chain still sleep.
Result<Diagnosis> diagnose(SystemSnapshot& system,
                           int pid,
                           double hung_after_s) {
  constexpr int kTries = 3;
  for (int i = 1;; ++i) {
    Diagnosis found = TRY(diagnose_once(system, pid, hung_after_s));
    const bool last = i == kTries || system.deadline().expired();
    if (found.hung() ? Finder{system, hung_after_s}.is_still_so(found.chain)
                     : !found.turns || last) {
      return found;
    }
    if (last) {
      tell_it_goes_on(found);
      return found;
    }
    system.look_anew();
  }
}

namespace {

Result<Diagnosis> diagnose_once(SystemSnapshot& system,
                                int pid,
                                double hung_after_s) {
  const ProcessSnapshot* const of = system.snapshot(pid);
  if (of == nullptr) {
    TRY(read_status(pid));
    return fail(ErrorId::NotPermitted,
                fmt::format("process {} may not be looked into", pid),
                fmt::format("sudo hangdbg diagnose {}", pid));
  }
  system.hung_after_s = hung_after_s;
  Finder finder{system, hung_after_s};
  Diagnosis found{.pid = pid, .title = of->title()};
  WaitChain first = finder.chain_from({pid, pid});
  if (first.links.empty()) {
    return fail(ErrorId::NoSuchProcess, fmt::format("no process {}", pid));
  }
  found.stalled = finder.is_stalled(first);
  // Threads that main does not wait for may hang, too.
  std::size_t seen = 0;
  for (const ThreadSnapshot& thread : of->threads) {
    if (!thread.python || has(first, thread.id) || ++seen > kMostThreads) {
      continue;
    }
    WaitChain chain = finder.chain_from(thread.id);
    if (chain.links.empty() || !finder.is_stalled(chain) ||
        chain.cause.confidence == Confidence::Possible) {
      continue;
    }
    if (chain.cause.progress == Progress::Stuck &&
        !finder.is_still_so(chain.links)) {
      continue;
    }
    if (!found.stalled && chain.cause.progress == Progress::Stuck) {
      first = std::move(chain);
      found.stalled = true;
    } else if (!has(first, chain.links[chain.root].id)) {
      found.also.push_back(std::move(chain.links[chain.root]));
    }
  }
  found.state = state_of(first);
  found.chain = std::move(first.links);
  found.root = first.root;
  found.cycle = first.cycle;
  found.turns = first.turns;
  found.cause = std::move(first.cause);
  if (system.may_watch && !system.ranks_apart) {
    std::ranges::move(finder.stuck_descendants(found),
                      std::back_inserter(found.also));
  }
  found.around = environment_warnings(system.around(pid));
  found.skipped = system.skipped();
  found.partial = system.deadline().expired() ||
                  std::ranges::any_of(found.chain, [&](const WaitEdge& link) {
                    const ProcessSnapshot* const its =
                        system.snapshot(link.id.pid);
                    return its == nullptr || its->memory_left;
                  });
  return found;
}

}  // namespace

std::optional<double> Diagnosis::waiting_s() const {
  const WaitEdge& first = chain.front();
  return first.cause.waited_s  ? first.cause.waited_s
         : first.cause.watched ? std::optional(first.cause.watched->seconds)
                               : first.waiting_s;
}

std::optional<WaitEdge> wait_edge_of(SystemSnapshot& system, ThreadId id) {
  const ProcessSnapshot* const of = system.snapshot(id.pid);
  const ThreadSnapshot* const thread =
      of != nullptr ? of->thread(id.tid) : nullptr;
  if (thread == nullptr) {
    return std::nullopt;
  }
  WaitEdge link{.id = id,
                .who = id.pid == id.tid ? process_text(id.pid) : thread->who(),
                .place = thread->place(),
                .doing = describe(thread->wait),
                .waiting_s = thread->ran ? std::nullopt : thread->wait.asleep_s,
                .about_waiting_s =
                    thread->ran ? std::nullopt : thread->wait.about_asleep_s,
                .naps = is_timed_sleep(thread->wait.call),
                .has_time_limit = thread->has_time_limit(),
                .cause = cause_of(*of, *thread)};
  link.has_got_on = of->makes_progress(*thread) && !thread->wait.call.running &&
                    !link.naps && !link.has_time_limit;
  if (const auto& watched = link.cause.watched) {
    link.doing += fmt::format(", in {} for at least {:.1f} s",
                              watched->function, watched->seconds);
  }
  return link;
}

std::string end_of_chain(const Diagnosis& found) {
  return found.cycle > 1
             ? found.cause.summary
             : found.chain[found.root].who + " " + found.cause.summary;
}

bool is_at_end(const Diagnosis& found) {
  return found.root + 1 == std::max<std::size_t>(found.cycle, 1);
}

std::string summary_line(const Diagnosis& found) {
  if (!is_at_end(found)) {
    return found.chain.front().cause.summary + ": " + end_of_chain(found);
  }
  const bool hangs = found.cycle > 1 && found.cause.progress == Progress::Stuck;
  return (hangs ? "hangs: " : "") + found.cause.summary;
}

namespace {

const std::optional<WaitEdge>& Finder::link(ThreadId id) {
  const auto [at, fresh] = links.try_emplace(id);
  if (!fresh) {
    return at->second;
  }
  links[id] = wait_edge_of(system, id);
  return links[id];
}

WaitChain Finder::chain_from(ThreadId start) {
  WaitChain chain;
  auto& links = chain.links;
  std::optional<ThreadId> next = start;
  while (next && links.size() < kMostEdges && !system.deadline().expired()) {
    const auto met = std::ranges::find(links, *next, &WaitEdge::id);
    if (met != links.end()) {
      if (std::any_of(met, links.end(),
                      [](const WaitEdge& one) { return one.has_got_on; })) {
        chain.turns = true;
        break;
      }
      chain.root = links.size() - 1;
      chain.cycle = static_cast<std::size_t>(links.end() - met);
      chain.cause = circle({met, links.end()});
      return chain;
    }
    const auto& one = link(*next);
    if (!one) {
      break;
    }
    links.push_back(*one);
    if (one->cause.progress == Progress::Running) {
      break;  // it makes progress, whatever waits for it
    }
    next = next_of(*this, *one);
  }
  if (!links.empty()) {
    // An idle holder of what others want is not the one that hangs.
    const bool kept = links.size() > 1 &&
                      links.back().cause.progress == Progress::Idle &&
                      links[links.size() - 2].cause.blocks_others;
    chain.root = links.size() - (kept ? 2 : 1);
    chain.cause = links[chain.root].cause;
  }
  return chain;
}

// A waiter for a stuck thread is stuck: nothing else can end its wait.
Progress state_of(const WaitChain& chain) {
  const auto on_the_way = std::span(chain.links).first(chain.root);
  const bool ends_with_it = std::ranges::none_of(
      on_the_way, [](const WaitEdge& one) { return one.cause.may_give_up; });
  return chain.root == 0 ||
                 (chain.cause.progress == Progress::Stuck && ends_with_it)
             ? chain.cause.progress
             : chain.links.front().cause.progress;
}

// The start of a poll cannot be seen, and it may be slow work.
bool Finder::is_stalled(const WaitChain& chain) const {
  if (chain.turns) {
    return false;
  }
  const Cause& cause = chain.cause;
  if (cause.progress == Progress::Stuck) {
    return true;
  }
  if (cause.progress <= Progress::Polling) {
    return false;
  }
  if (cause.watched) {
    return cause.watched->enough;
  }
  const WaitEdge& root = chain.links[chain.root];
  const auto waiting_s = cause.waited_s   ? cause.waited_s
                         : root.waiting_s ? root.waiting_s
                                          : root.about_waiting_s;
  if (!waiting_s && root.has_got_on) {
    return false;
  }
  return waiting_s ? *waiting_s >= hung_after_s * cause.timeout_scale
                   : cause.confidence != Confidence::Possible;
}

// Each link that slept without a limit is still in the same sleep, and was
// already when it was looked at. A link that runs now and then was judged as
// such.
bool Finder::is_still_so(const std::vector<WaitEdge>& links) const {
  return std::ranges::all_of(links, [this](const WaitEdge& link) {
    if (link.has_got_on) {
      return false;
    }
    const ProcessSnapshot* const of = system.snapshot(link.id.pid);
    const ThreadSnapshot* const thread =
        of != nullptr ? of->thread(link.id.tid) : nullptr;
    return thread == nullptr || thread->ran || thread->wait.state != 'S' ||
           link.naps || link.has_time_limit || !has_gone_on(*thread);
  });
}

void tell_it_goes_on(Diagnosis& found) {
  found.state = found.cause.progress = Progress::Running;
  found.stalled = false;
  found.cause.confidence = Confidence::Possible;
  found.cause.evidence.push_back("it has gone on while it was looked at");
  found.chain[found.root].cause = found.cause;
}

std::optional<ThreadId> next_of(Finder& finder, const WaitEdge& link) {
  std::optional<ThreadId> next;
  Progress its = Progress::Running;
  for (const ThreadId id : link.cause.blocked_by) {
    const auto& behind = finder.link(id);
    if (behind &&
        (!next || (link.cause.any_unblocks ? behind->cause.progress < its
                                           : behind->cause.progress > its))) {
      next = id;
      its = behind->cause.progress;
    }
  }
  return next;
}

// Descendants are included: what is seen of them at once, as by `ps`. A zombie
// has ended, and does not hang.
std::vector<WaitEdge> Finder::stuck_descendants(const Diagnosis& found) {
  constexpr std::size_t kMost = 32;
  std::vector<WaitEdge> stuck;
  std::vector<int> below = {found.pid};
  for (std::size_t at = 0; at < below.size() && below.size() < kMost; ++at) {
    const auto [begin, end] = system.children().equal_range(below[at]);
    for (auto child = begin; child != end && below.size() < kMost; ++child) {
      below.push_back(child->second);
    }
  }
  below.erase(below.begin());
  const bool watched = std::exchange(system.may_watch, false);
  const bool stopped = std::exchange(system.may_stop, false);
  system.take_snapshots(below);
  for (const int pid : below) {
    const bool known = std::ranges::any_of(
        found.chain,
        [pid](const WaitEdge& link) { return link.id.pid == pid; });
    const ProcessSnapshot* const child = system.snapshot(pid);
    const bool ended = child != nullptr && child->status.state == 'Z';
    WaitChain chain = known || ended || system.deadline().expired()
                          ? WaitChain()
                          : chain_from({pid, pid});
    if (!chain.links.empty() && chain.cause.progress == Progress::Stuck &&
        chain.cause.confidence != Confidence::Possible &&
        chain.cause.id != CauseId::Ended &&
        chain.links[chain.root].id.pid != found.pid &&
        is_still_so(chain.links)) {
      WaitEdge& one = chain.links[chain.root];
      const bool certain = one.cause.confidence == Confidence::Certain;
      one.cause.summary =
          (certain ? "hangs: " : "probably hangs: ") + one.cause.summary;
      stuck.push_back(std::move(one));
    }
  }
  system.may_watch = watched;
  system.may_stop = stopped;
  return stuck;
}

Cause circle(const std::vector<WaitEdge>& links) {
  Cause cause{.id = CauseId::Deadlock,
              .progress = Progress::Stuck,
              .confidence = Confidence::Certain};
  const bool pipe = std::ranges::any_of(links, [](const WaitEdge& link) {
    return link.cause.id == CauseId::PipeFull ||
           link.cause.id == CauseId::TerminalInput;
  });
  const bool processes = links.front().id.pid != links.back().id.pid;
  if (pipe) {
    cause.id = CauseId::SubprocessPipe;
  }
  cause.summary = links.size() == 1
                      ? fmt::format("deadlocks with itself: {}",
                                    links.front().cause.summary)
                      : fmt::format("{} {} wait for each other", links.size(),
                                    processes ? "processes" : "threads");
  for (const WaitEdge& link : links) {
    if (links.size() > 1) {
      cause.summary +=
          fmt::format("{}{} {}", &link == &links.front() ? ": " : "; ",
                      link.who, link.cause.summary);
    }
    cause.confidence = std::min(cause.confidence, link.cause.confidence);
    for (const std::string& evidence : link.cause.evidence) {
      cause.evidence.push_back(fmt::format("{}: {}", link.who, evidence));
    }
    // At its time limit it may release what the others want. A thread that only
    // sleeps between two tries tries again.
    if ((link.has_time_limit && !link.naps) || link.cause.may_give_up) {
      cause.progress = Progress::Blocked;
      cause.evidence.push_back(
          fmt::format("{}: this wait has a time limit", link.who));
    }
  }
  if (cause.confidence == Confidence::Possible) {
    cause.progress = Progress::Blocked;  // another thread may be about to do it
  }
  cause.next = links.front().cause.next;
  return cause;
}

}  // namespace
}  // namespace hangdbg
