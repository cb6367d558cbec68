#include "client/commands/dist.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel_map.h"
#include "base/text.h"
#include "client/nodes/dist_of_nodes.h"
#include "client/nodes/each_node.h"
#include "client/options/job_options.h"
#include "client/options/options.h"
#include "client/options/via_option.h"
#include "client/prompt/attached_ranks.h"
#include "client/terminal/typed.h"
#include "client/views/dist/json.h"
#include "client/views/dist/report.h"
#include "client/views/dist/text.h"
#include "injector/checks/preflight.h"
#include "inspector/cpython/runtime/python_process.h"
#include "inspector/cpython/stacks/target.h"
#include "inspector/jobs/jobs.h"
#include "tracee/net/connections.h"
#include "tracee/program/environment.h"

namespace hangdbg {
namespace {

struct DistOptions {
  CommonOptions common;
  ViaOption via;
  TargetOption target;
  JobOptions job;
  bool ask = false;

  const std::string& pid() const {
    return target.flag.empty() ? target.positional : target.flag;
  }
};

// Of a job, all its ranks, since connections have two ends.
struct Wanted {
  std::optional<Job> job;
  std::vector<JobRank> shown;
  RankSet absent;
};

int run(const DistOptions& options);
Result<int> show(const DistOptions& options);
Result<Wanted> wanted(const DistOptions& options);
void look(const std::vector<JobRank>& ranks,
          Deadline deadline,
          DistReport& report);
void ask(const DistOptions& options, DistReport& report);
void take_count(const dap::ProcessGroups::Body& asked, ProcessGroups& groups);
void read_peers(const Wanted& wanted, Deadline deadline, DistReport& report);
std::uint16_t store_port(int pid);
int code_of(const DistReport& report);

}  // namespace

void add_dist(cli::Command program) {
  const auto options = std::make_shared<DistOptions>();
  const cli::Command command = program.add_command(
      "dist",
      "Show process groups of a job: which ranks lag, which are silent");
  add_pid_option(command, options->target);
  add_job_options(command, options->job);
  command.add_flag(
      "--ask", options->ask,
      "Also ask the Python of each rank; runs code in it, like eval");
  add_via_option(command, options->via);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  hangdbg dist\n"
      "  hangdbg dist --job auto --ranks 0,3-5\n"
      "  hangdbg dist --job 79601 --json\n"
      "  hangdbg dist 79655 --ask\n"
      "\n"
      "Reads groups, backends and the number of collectives that each rank has "
      "started from memory, and connections from the kernel. Stops nothing, "
      "and runs no code in the ranks unless --ask is given.\n"
      "\n"
      "Without a PID: the only job here.");
  const auto each = run_via(options->via, options->common,
                            [options] { return run(*options); });
  command.runs([options, each] {
    const bool together = options->via.given() && !options->common.json &&
                          !options->ask && options->pid().empty();
    return together ? show_dist_of_nodes(options->via, options->common)
                    : each();
  });
}

namespace {

int run(const DistOptions& options) {
  const auto code = show(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

Result<int> show(const DistOptions& options) {
  TRY(options.common.configure_log());
  Wanted meant = TRY(wanted(options));
  const Deadline deadline = options.common.deadline();
  DistReport found{.job = meant.job, .absent = meant.absent};
  look(meant.shown, deadline, found);
  if (found.ranks.size() == 1 && !found.ranks[0].look) {
    const Error& why = found.ranks[0].look.error();
    if (options.common.json) {
      print_json(dist_json(found));
      return exit_code(why.id);
    }
    return std::unexpected(why);
  }
  read_peers(meant, deadline, found);
  if (options.ask) {
    ask(options, found);
  }
  std::vector<GroupsOfRank> groups;
  for (const DistRank& one : found.ranks) {
    if (one.look) {
      groups.push_back({one.rank, &one.look->groups});
    }
  }
  found.groups = group_progress(groups);
  if (options.common.json) {
    print_json(dist_json(found));
  } else {
    print_now(stdout, dist_text(found, Palette(options.common.colour, stdout)));
  }
  const Palette err(options.common.colour, stderr);
  if (!found.absent.empty()) {
    report({.id = ErrorId::NoSuchProcess,
            .message = fmt::format("rank {} of {} is not here",
                                   found.absent.text(8), job_text(*found.job)),
            .hint = "hangdbg ps --job " + shell_quote(found.job->id)},
           err);
  }
  return code_of(found);
}

// A rank's PID means that rank, a launcher's its job.
Result<Wanted> wanted(const DistOptions& options) {
  if (!options.pid().empty() && options.job.given()) {
    return fail(ErrorId::Usage, "a PID and --job cannot be combined",
                typed_but(options.pid(), ""));
  }
  if (options.pid().empty()) {
    auto chosen = TRY(choose_ranks(options.job, options.common.deadline()));
    if (!options.job.given()) {
      say(stderr, "using {}, the only job here\n", job_text(chosen.job));
    }
    return Wanted{.job = std::move(chosen.job),
                  .shown = std::move(chosen.ranks),
                  .absent = std::move(chosen.absent)};
  }
  const int pid = TRY(parse_pid(options.pid()));
  const Jobs jobs = TRY(find_jobs(options.common.deadline()));
  if (const auto place = jobs.find(pid);
      place && !place->left_over && place->rank->pid == pid) {
    return Wanted{.job = *place->job, .shown = {*place->rank}};
  }
  for (const Job& job : jobs.jobs) {
    if (job.launcher == pid) {
      return Wanted{.job = job, .shown = job.ranks};
    }
  }
  return Wanted{.shown = {{.rank = pid, .pid = pid}}};
}

void look(const std::vector<JobRank>& ranks,
          Deadline deadline,
          DistReport& report) {
  std::vector<int> pids;
  std::ranges::transform(ranks, std::back_inserter(pids), &JobRank::pid);
  parallel_map<DistSnapshot>(
      pids, deadline,
      [](int pid) -> Result<DistSnapshot> {
        TRY(check_readable(pid));
        const PythonProcess process = TRY(open_process(pid));
        return read_dist(LiveTarget(process));
      },
      [&](int pid, std::optional<Result<DistSnapshot>> look) {
        const auto rank = std::ranges::find(ranks, pid, &JobRank::pid);
        report.ranks.push_back(
            {.pid = pid,
             .rank = rank->rank,
             .look = look ? *std::move(look)
                          : std::unexpected(not_read_in_time(pid))});
      });
}

void ask(const DistOptions& options, DistReport& report) {
  std::vector<JobRank> ranks;
  for (const DistRank& one : report.ranks) {
    // A query of a rank without a group would tell nothing.
    if (one.look && !one.look->groups.groups.empty()) {
      ranks.push_back({.rank = one.rank, .pid = one.pid});
    }
  }
  AttachedRanks attached(options.common);
  const auto failed = attached.attach_all(ranks);
  for (DistRank& one : report.ranks) {
    if (const auto why = failed.find(one.pid); why != failed.end()) {
      one.asked = std::unexpected(why->second);
    } else if (AttachedRank* const rank = attached.find_rank(one.rank)) {
      one.asked = attached.process_groups(*rank, std::nullopt,
                                          options.common.deadline(), true);
    }
    if (one.asked && *one.asked) {
      take_count(**one.asked, one.look->groups);
    }
  }
}

// Where their memory did not tell.
void take_count(const dap::ProcessGroups::Body& asked, ProcessGroups& groups) {
  for (const auto& group : asked.groups) {
    for (ProcessGroup& into : groups.groups) {
      for (GroupBackend& backend : into.backends) {
        if (into.name == group.name && backend.type == group.backend &&
            !backend.begun && group.sequence) {
          backend.begun = static_cast<std::uint64_t>(*group.sequence);
        }
      }
    }
  }
}

void read_peers(const Wanted& wanted, Deadline deadline, DistReport& report) {
  const auto& all = wanted.job ? wanted.job->ranks : wanted.shown;
  std::vector<int> pids;
  std::ranges::transform(all, std::back_inserter(pids), &JobRank::pid);
  if (wanted.job && wanted.job->launcher) {
    pids.push_back(*wanted.job->launcher);
  }
  const auto sockets = read_connections(pids, deadline);
  std::vector<RankConnections> ends;
  for (const auto& [pid, found] : sockets) {
    if (!found) {
      report.without_sockets.emplace(pid, found.error());
      continue;
    }
    report.all_sockets = report.all_sockets && found->complete;
    if (found->why_no_progress) {
      report.why_no_times = found->why_no_progress;
    }
    const auto rank = std::ranges::find(all, pid, &JobRank::pid);
    ends.push_back(
        {rank == all.end() ? std::nullopt : std::optional(rank->rank),
         &*found});
  }
  const bool some = wanted.shown.size() < all.size();
  for (PeerFlow& flow : match_peers(ends, store_port(all.front().pid))) {
    const auto is_shown = [&](std::optional<int> rank) {
      return rank && std::ranges::find(wanted.shown, *rank, &JobRank::rank) !=
                         wanted.shown.end();
    };
    if (!some || is_shown(flow.from) || is_shown(flow.to)) {
      report.flows.push_back(std::move(flow));
    }
  }
}

// Where the ranks meet; 0 if the environment does not say.
std::uint16_t store_port(int pid) {
  const auto environment = Environment::read(pid);
  const auto port =
      environment ? environment->find("MASTER_PORT") : std::nullopt;
  return port ? parse_number<std::uint16_t>(*port).value_or(0) : 0;
}

// 1 if some that were meant could not be read.
int code_of(const DistReport& report) {
  const bool all = std::ranges::all_of(report.ranks, [](const DistRank& one) {
    return one.look && (!one.asked || *one.asked);
  });
  return all && report.absent.empty() ? 0 : 1;
}

}  // namespace
}  // namespace hangdbg
