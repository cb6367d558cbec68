#include "client/views/dump/gathered.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <set>
#include <utility>

#include "base/text.h"
#include "client/terminal/typed.h"
#include "client/views/dump/node_tree.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostListed = 10'000;  // ranks that are missing, in JSON

}  // namespace

void GatheredDumps::add(const std::vector<reports::DumpedProcess>& processes,
                        const std::string& host) {
  for (const reports::DumpedProcess& from : processes) {
    Process process{.pid = from.pid,
                    .rank = from.rank,
                    .world_size = from.world_size,
                    .job = from.job,
                    .child = from.child.value_or(false),
                    .host = host.empty() ? from.host : host};
    if (from.error) {
      process.error = from.error->message;
    }
    for (const reports::DumpedThread& thread : from.threads) {
      Thread kept{.main = thread.tid == from.pid,
                  .state = thread.state,
                  .waiting_s = thread.waiting_s.value_or(0)};
      for (const reports::DumpedFrame& frame :
           thread.frames | std::views::reverse) {
        kept.way.push_back(merger_.place(place_of(frame)));
      }
      if (!kept.way.empty()) {
        process.threads.push_back(std::move(kept));
      }
    }
    processes_.push_back(std::move(process));
  }
}

Status GatheredDumps::add(const reports::NodeTree& tree,
                          const std::string& host) {
  auto ways = TRY(TreeWays::of(tree, merger_));
  std::vector<Process> processes;
  for (const reports::TreeProcess& from : tree.processes) {
    Process process{.pid = from.pid,
                    .rank = from.rank,
                    .world_size = from.world_size,
                    .job = from.job,
                    .child = from.child,
                    .host = host,
                    .error = from.error};
    if (from.main) {
      process.threads.push_back({.main = true,
                                 .state = from.main->state,
                                 .waiting_s = from.main->waiting_s,
                                 .way = TRY(ways.to(from.main->end))});
    }
    for (const std::int64_t end : from.ends) {
      process.threads.push_back({.way = TRY(ways.to(end))});
    }
    processes.push_back(std::move(process));
  }
  std::ranges::move(processes, std::back_inserter(processes_));
  return {};
}

void GatheredDumps::miss(const std::string& whose, Error why) {
  why.message = fmt::format("{}: {}", printable(whose), printable(why.text()));
  why.errno_value = 0;
  findings_.push_back(why.message);
  missing_.push_back({std::nullopt, std::nullopt, std::move(why)});
}

Result<GatheredDumps::Merged> GatheredDumps::merge(const std::string& job) {
  TRY(keep_job(job));
  const bool ranks = keep_ranks();
  Merged merged{.failed = !findings_.empty()};
  merged.labels = label(ranks);
  if (ranks) {
    find_absent();
  }
  merged.tree = tree(ranks);
  merged.title = title(merged.tree, ranks);
  merged.missing = std::move(missing_);
  merged.findings = std::move(findings_);
  return merged;
}

Status GatheredDumps::keep_job(const std::string& job) {
  std::set<std::string> jobs;
  for (const Process& process : processes_) {
    if (process.job) {
      jobs.insert(*process.job);
    }
  }
  if (!job.empty() && !jobs.contains(job)) {
    return fail(ErrorId::Usage,
                fmt::format("no job named {} in {}", printable(job), where_),
                jobs.empty() ? typed_without("--job")
                             : typed_with("--job", *jobs.begin()));
  }
  if (job.empty() && jobs.size() > 1) {
    std::string names;
    for (const std::string& name : jobs) {
      names += (names.empty() ? "" : ", ") + printable(name);
    }
    return fail(ErrorId::Usage,
                fmt::format("{} jobs in {}: {}", jobs.size(), where_, names),
                typed_with("--job", *jobs.begin()));
  }
  if (!job.empty()) {
    std::erase_if(processes_,
                  [&](const Process& process) { return process.job != job; });
  }
  return {};
}

// Where there are ranks, they are what is merged, and their children: whether
// there are any. Those that could not be read are named.
bool GatheredDumps::keep_ranks() {
  std::erase_if(processes_, [&](const Process& process) {
    const bool cannot_be =
        process.rank.value_or(0) < 0 || process.rank.value_or(0) >= kMostRanks;
    if (cannot_be) {
      findings_.push_back(fmt::format("process {} on {} cannot be rank {}",
                                      process.pid, printable(process.host),
                                      *process.rank));
    }
    return cannot_be;
  });
  const bool ranks = std::ranges::any_of(
      processes_,
      [](const Process& process) { return process.rank.has_value(); });
  std::erase_if(processes_, [&](const Process& process) {
    if (process.error) {
      const std::string why =
          fmt::format("process {} on {}: {}", process.pid,
                      printable(process.host), printable(*process.error));
      findings_.push_back(why);
      missing_.push_back(
          {process.rank ? std::optional(static_cast<int>(*process.rank))
                        : std::nullopt,
           static_cast<int>(process.pid),
           Error{.id = ErrorId::Unreadable, .message = why}, process.host});
    }
    return process.error || (ranks && !process.rank);
  });
  std::ranges::stable_sort(processes_, {}, &Process::rank);
  return ranks;
}

TreeLabels GatheredDumps::label(bool ranks) const {
  using Members = TreeLabels::Members;
  TreeLabels labels{ranks ? Members::Ranks : Members::Processes};
  std::set<std::string> hosts;
  for (const Process& process : processes_) {
    hosts.insert(process.host);
  }
  int number = 0;
  for (const Process& process : processes_) {
    if (!ranks) {
      labels.pids[number] = static_cast<int>(process.pid);
      labels.names[number++] =
          fmt::format("{}:{}", printable(process.host), process.pid);
    } else if (hosts.size() > 1) {
      labels.hosts[static_cast<int>(*process.rank)] = process.host;
    }
  }
  return labels;
}

void GatheredDumps::find_absent() {
  RankSet seen, absent;
  std::int64_t world = 0;
  for (const Process& process : processes_) {
    seen.add(static_cast<int>(*process.rank));
    world = std::max(world, process.world_size.value_or(0));
  }
  for (int rank = 0; rank < std::min<std::int64_t>(world, kMostRanks); ++rank) {
    if (seen.contains(rank)) {
      continue;
    }
    absent.add(rank);
    if (absent.size() <= kMostListed) {
      missing_.push_back({rank, std::nullopt,
                          Error{.id = ErrorId::NoSuchProcess,
                                .message = "in none of " + where_}});
    }
  }
  if (!absent.empty()) {
    findings_.push_back(fmt::format(
        "{} {} of {} {} in none of {}", absent.size() == 1 ? "rank" : "ranks",
        absent.text(12), world, absent.size() == 1 ? "is" : "are", where_));
  }
}

StackTree GatheredDumps::tree(bool ranks) {
  int number = 0;
  for (const Process& process : processes_) {
    const int member = ranks ? static_cast<int>(*process.rank) : number++;
    for (const Thread& thread : process.threads) {
      merger_.add_thread({.member = member,
                          .pid = static_cast<int>(process.pid),
                          .child = process.child,
                          .main = thread.main,
                          .state = thread.state,
                          .waiting_s = thread.waiting_s},
                         thread.way);
    }
  }
  return merger_.finish();
}

std::string GatheredDumps::title(const StackTree& tree, bool ranks) const {
  const auto job = processes_.empty() ? std::nullopt : processes_.front().job;
  return fmt::format("{}{} {}",
                     job ? fmt::format("job {}: ", printable(*job)) : "",
                     tree.root.members.size(), ranks ? "ranks" : "processes");
}

}  // namespace hangdbg
