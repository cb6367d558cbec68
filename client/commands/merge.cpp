#include "client/commands/merge.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "client/options/options.h"
#include "client/ranks/dump_file.h"
#include "client/terminal/render.h"
#include "client/terminal/typed.h"
#include "client/views/dump/picture_file.h"
#include "client/views/dump/tree.h"
#include "inspector/jobs/stack_tree.h"
#include "inspector/native/native_names.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostListed = 10'000;  // ranks that are missing, in JSON

struct MergeOptions {
  CommonOptions common;
  std::vector<std::string> files;
  std::string job;
  bool full_filenames = false;
  PictureOptions picture;
};

// What the files have in them, and what is wrong with them.
struct Found {
  std::vector<reports::DumpedProcess> processes;
  std::vector<MissingMember> missing;
  std::vector<std::string> findings;
};

int run(const MergeOptions& options);
Result<int> merge(const MergeOptions& options);
void show(const MergeOptions& options,
          const Found& found,
          const StackTree& tree,
          const TreeLabels& labels);
Found read(const std::vector<std::string>& files);
Status keep_job(Found& found, const std::string& job);
bool keep_ranks(Found& found);
TreeLabels label(const Found& found, bool ranks);
void find_absent(Found& found);
StackTree tree_of(const Found& found, bool ranks);
StackPlace place_of(const reports::DumpedFrame& frame);
std::string title_of(const Found& found, const StackTree& tree, bool ranks);

}  // namespace

void add_merge(cli::Command program) {
  const auto options = std::make_shared<MergeOptions>();
  const cli::Command command = program.add_command(
      "merge", "Merge the dumps of several machines into one tree");
  command
      .add_option("FILE", options->files,
                  "Files written by `dump --json`; -: standard input")
      .required()
      .bare();
  command
      .add_option("--job", options->job,
                  "Show this job, if the files contain several")
      .type_name("NAME");
  command.add_flag("--full-filenames", options->full_filenames,
                   "Show paths in full");
  add_picture_options(command, options->picture);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  srun --overlap --jobid 4711 \\\n"
      "      sh -c 'hangdbg dump --all --json > trace-$(hostname).json'\n"
      "  hangdbg merge trace-*.json --html hang.html\n"
      "\n"
      "Shows outlier ranks first, then what is missing.");
  command.runs([options] { return run(*options); });
}

namespace {

int run(const MergeOptions& options) {
  const auto code = merge(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

// 1 if a file could not be read.
Result<int> merge(const MergeOptions& options) {
  TRY(options.common.configure_log());
  TRY(options.picture.check(options.common.json));
  Found found = read(options.files);
  if (found.processes.empty()) {
    const std::string& first = options.files.front();
    return fail(
        ErrorId::Usage,
        found.findings.empty()
            ? fmt::format("no process in {}", printable(first))
            : fmt::format("nothing to merge: {}", found.findings.front()),
        "hangdbg dump --all --json > FILE");
  }
  TRY(keep_job(found, options.job));
  const bool ranks = keep_ranks(found);
  const bool failed = !found.findings.empty();
  const TreeLabels labels = label(found, ranks);
  if (ranks) {
    find_absent(found);
  }
  const StackTree tree = tree_of(found, ranks);
  if (!options.picture.to_stdout()) {
    show(options, found, tree, labels);
  }
  if (options.picture.given()) {
    TRY(draw(options.picture, {.tree = tree,
                               .labels = labels,
                               .title = title_of(found, tree, ranks),
                               .findings = found.findings,
                               .full_filenames = options.full_filenames}));
  }
  return failed ? 1 : 0;
}

void show(const MergeOptions& options,
          const Found& found,
          const StackTree& tree,
          const TreeLabels& labels) {
  if (options.common.json) {
    print_json(tree_json(tree, labels, found.missing));
    return;
  }
  const Palette out(options.common.colour, stdout);
  std::string text;
  for (const std::string& finding : found.findings) {
    text += out.red(finding) + "\n";
  }
  const DumpStyle style{.full_filenames = options.full_filenames,
                        .sysroot = {}};
  print_now(stdout, text + tree_text(tree, labels, style, out));
}

// A node that has failed has left an empty file, or half of one.
Found read(const std::vector<std::string>& files) {
  Found found;
  for (const std::string& path : files) {
    auto processes = read_dump_file(path);
    if (!processes) {
      Error error = processes.error();
      error.message =
          fmt::format("{}: {}", printable(path), printable(error.text()));
      error.errno_value = 0;
      found.findings.push_back(error.message);
      found.missing.push_back({std::nullopt, std::nullopt, std::move(error)});
      continue;
    }
    std::ranges::move(*processes, std::back_inserter(found.processes));
  }
  return found;
}

Status keep_job(Found& found, const std::string& job) {
  std::set<std::string> jobs;
  for (const reports::DumpedProcess& process : found.processes) {
    if (process.job) {
      jobs.insert(*process.job);
    }
  }
  if (!job.empty() && !jobs.contains(job)) {
    return fail(ErrorId::Usage,
                fmt::format("no job named {} in these files", printable(job)),
                jobs.empty() ? typed_without("--job")
                             : typed_with("--job", *jobs.begin()));
  }
  if (job.empty() && jobs.size() > 1) {
    std::string names;
    for (const std::string& name : jobs) {
      names += (names.empty() ? "" : ", ") + printable(name);
    }
    return fail(ErrorId::Usage,
                fmt::format("{} jobs in these files: {}", jobs.size(), names),
                typed_with("--job", *jobs.begin()));
  }
  if (!job.empty()) {
    std::erase_if(found.processes, [&](const reports::DumpedProcess& process) {
      return process.job != job;
    });
  }
  return {};
}

// Where there are ranks, they are what is merged, and their children: whether
// there are any. Those that could not be read are named.
bool keep_ranks(Found& found) {
  std::erase_if(found.processes, [&](const reports::DumpedProcess& process) {
    const bool cannot_be =
        process.rank.value_or(0) < 0 || process.rank.value_or(0) >= kMostRanks;
    if (cannot_be) {
      found.findings.push_back(fmt::format("process {} on {} cannot be rank {}",
                                           process.pid, printable(process.host),
                                           *process.rank));
    }
    return cannot_be;
  });
  const bool ranks = std::ranges::any_of(
      found.processes, [](const reports::DumpedProcess& process) {
        return process.rank.has_value();
      });
  std::erase_if(found.processes, [&](const reports::DumpedProcess& process) {
    if (process.error) {
      const std::string why = fmt::format("process {} on {}: {}", process.pid,
                                          printable(process.host),
                                          printable(process.error->message));
      found.findings.push_back(why);
      found.missing.push_back(
          {process.rank ? std::optional(static_cast<int>(*process.rank))
                        : std::nullopt,
           static_cast<int>(process.pid),
           Error{.id = ErrorId::Unreadable, .message = why}, process.host});
    }
    return process.error || (ranks && !process.rank);
  });
  std::ranges::stable_sort(found.processes, {}, &reports::DumpedProcess::rank);
  return ranks;
}

TreeLabels label(const Found& found, bool ranks) {
  using Members = TreeLabels::Members;
  TreeLabels labels{ranks ? Members::Ranks : Members::Processes};
  std::set<std::string> hosts;
  for (const reports::DumpedProcess& process : found.processes) {
    hosts.insert(process.host);
  }
  int number = 0;
  for (const reports::DumpedProcess& process : found.processes) {
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

void find_absent(Found& found) {
  RankSet seen, absent;
  std::int64_t world = 0;
  for (const reports::DumpedProcess& process : found.processes) {
    seen.add(static_cast<int>(*process.rank));
    world = std::max(world, process.world_size.value_or(0));
  }
  for (int rank = 0; rank < std::min<std::int64_t>(world, kMostRanks); ++rank) {
    if (seen.contains(rank)) {
      continue;
    }
    absent.add(rank);
    if (absent.size() <= kMostListed) {
      found.missing.push_back({rank, std::nullopt,
                               Error{.id = ErrorId::NoSuchProcess,
                                     .message = "in none of these files"}});
    }
  }
  if (!absent.empty()) {
    found.findings.push_back(
        fmt::format("{} {} of {} {} in none of these files",
                    absent.size() == 1 ? "rank" : "ranks", absent.text(12),
                    world, absent.size() == 1 ? "is" : "are"));
  }
}

StackTree tree_of(const Found& found, bool ranks) {
  StackMerger merger;
  std::vector<StackMerger::Place> way;
  int number = 0;
  for (const reports::DumpedProcess& process : found.processes) {
    const int member = ranks ? static_cast<int>(*process.rank) : number++;
    for (const reports::DumpedThread& thread : process.threads) {
      way.clear();
      for (const reports::DumpedFrame& frame :
           thread.frames | std::views::reverse) {
        way.push_back(merger.place(place_of(frame)));
      }
      if (!way.empty()) {
        merger.add_thread({.member = member,
                           .pid = static_cast<int>(process.pid),
                           .child = process.child.value_or(false),
                           .main = thread.tid == process.pid,
                           .state = thread.state,
                           .waiting_s = thread.waiting_s.value_or(0)},
                          way);
      }
    }
  }
  return merger.finish();
}

// As merge_dumps makes it.
StackPlace place_of(const reports::DumpedFrame& frame) {
  if (!frame.module) {
    return {frame.qualname, frame.file,
            static_cast<int>(frame.line.value_or(0))};
  }
  return {.function = NativeSymbol{.function = frame.qualname,
                                   .module = *frame.module,
                                   .builtin = frame.builtin.value_or("")}
                          .text()};
}

std::string title_of(const Found& found, const StackTree& tree, bool ranks) {
  const auto job =
      found.processes.empty() ? std::nullopt : found.processes.front().job;
  return fmt::format("{}{} {}",
                     job ? fmt::format("job {}: ", printable(*job)) : "",
                     tree.root.members.size(), ranks ? "ranks" : "processes");
}

}  // namespace
}  // namespace hangdbg
