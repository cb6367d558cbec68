#include "client/commands/dump_output.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/host_name.h"
#include "base/text.h"
#include "client/views/dump/json.h"
#include "client/views/dump/node_tree.h"

namespace hangdbg {
namespace {

// As torchrun's --tee has it: "[host:3] ".
std::string with_prefix(const std::optional<RankOfProcess>& rank,
                        const std::string& text,
                        const Palette& out) {
  const std::string prefix =
      out.dim(fmt::format("[{}:{}] ", host_name(), rank ? rank->rank : -1));
  std::string prefixed;
  for (const std::string_view line :
       split(std::string_view(text).substr(0, text.size() - 1), '\n')) {
    prefixed += fmt::format("{}{}\n", prefix, line);
  }
  return prefixed;
}

// Each once, of versions that are not known.
std::vector<std::string> notes_of(const std::vector<ProcessDump>& dumps) {
  std::vector<std::string> notes;
  for (const ProcessDump& dump : dumps) {
    if (!dump.note.empty() &&
        std::ranges::find(notes, dump.note) == notes.end()) {
      notes.push_back(dump.note);
    }
  }
  return notes;
}

}  // namespace

// As its job was found among all processes, where one was: what a process says
// of itself its children say as well, and its launcher may.
void DumpOutput::place(ProcessDump& dump) const {
  if (!jobs) {
    return;
  }
  const auto found = jobs->find(dump.pid);
  if (found && !found->left_over) {
    dump.rank = {found->rank->rank, found->job->world_size, found->job->id,
                 found->rank->pid != dump.pid};
  }
}

void DumpOutput::show(const ProcessDump& dump) {
  if (options.merge && !options.to_merge) {
    to_merge.push_back(dump);
  } else if (options.common.json) {
    processes.push_back(dump_json(dump));
  } else {
    const std::string text = dump_text(dump, style, out);
    print_now(stdout, (any ? "\n" : "") +
                          (ranks ? with_prefix(dump.rank, text, out) : text));
  }
  any = true;
}

// First of all: absent ranks cannot be read.
void DumpOutput::show_absent() {
  if (!ranks) {
    return;
  }
  for (const int rank : ranks->absent.numbers()) {
    const Error error{.id = ErrorId::NoSuchProcess,
                      .message = fmt::format("rank {} of {} is not here", rank,
                                             job_text(ranks->job)),
                      .hint = "hangdbg ps --job " + shell_quote(ranks->job.id)};
    failed = error;
    missing.push_back({rank, std::nullopt, error});
    if (!options.common.json) {
      report(error, err);
    }
  }
  for (const int rank : options.common.json ? ranks->job.missing.numbers()
                                            : std::vector<int>()) {
    if (!ranks->absent.contains(rank)) {
      missing.push_back(
          {rank, std::nullopt,
           Error{.id = ErrorId::NoSuchProcess, .message = "has ended"}});
    }
  }
  if (!options.common.json && !options.picture.to_stdout()) {
    for (const std::string& finding : findings(ranks->job)) {
      print_now(stdout, out.red(finding) + "\n");
    }
  }
}

void DumpOutput::show(int pid, const Error& error) {
  failed = error;
  missing.push_back({rank_of(pid), pid, error});
  if (options.common.json) {
    processes.push_back(dump_json(pid, error));
  } else {
    report(error, err);
  }
}

// That of the only process, or 1 if some could not be read.
int DumpOutput::finish() {
  if (!any && !failed) {
    return report({.id = ErrorId::NotPython,
                   .message = "no Python process found",
                   .hint = "hangdbg ps"},
                  err);
  }
  if (options.to_merge) {
    print_tree();
  } else if (options.merge) {
    show_merged();
  } else if (options.common.json) {
    print_json(dumps_json(
        processes,
        ranks ? std::optional(ranks->job.missing.numbers()) : std::nullopt));
  }
  if (failed) {
    return any || missing.size() > 1 ? 1 : exit_code(failed->id);
  }
  return 0;
}

void DumpOutput::show_merged() {
  const TreeLabels labels{ranks ? TreeLabels::Members::Ranks
                                : TreeLabels::Members::Processes};
  const MemberOf member =
      ranks ? [](const ProcessDump& one) { return one.rank->rank; }
            : [](const ProcessDump& one) { return one.pid; };
  const StackTree tree = merge_dumps(to_merge, member);
  const auto differences = options.shown.locals.empty()
                               ? std::nullopt
                               : differing_locals(to_merge, tree, member);
  if (options.common.json) {
    print_json(tree_json(tree, labels, missing, differences));
  } else if (!options.picture.to_stdout()) {
    print_now(stdout, tree_text(tree, labels, style, out, differences));
    for (const std::string& note : notes_of(to_merge)) {
      say(stderr, "{}\n", note);
    }
  }
  if (!options.picture.given()) {
    return;
  }
  Picture picture{
      .tree = tree,
      .labels = labels,
      .title =
          ranks ? job_text(ranks->job)
                : fmt::format("{} {}", to_merge.size(),
                              to_merge.size() == 1 ? "process" : "processes"),
      .findings = ranks ? findings(ranks->job) : std::vector<std::string>(),
      .full_filenames = style.full_filenames};
  std::ranges::move(notes_of(to_merge), std::back_inserter(picture.findings));
  for (const MissingMember& one : missing) {
    // The others are among the job's findings.
    if (one.pid || ranks->absent.contains(*one.rank)) {
      picture.findings.push_back(one.why.text());
    }
  }
  if (const auto drawn = draw(options.picture, picture); !drawn) {
    report(drawn.error(), err);
    failed = drawn.error();
  }
}

void DumpOutput::print_tree() const {
  std::vector<reports::DumpedProcess> dumped;
  for (const Json& process : processes) {
    if (auto one = decode<reports::DumpedProcess>(process)) {
      dumped.push_back(*std::move(one));
    }
  }
  print_json(encode(tree_of(dumped)));
}

std::optional<int> DumpOutput::rank_of(int pid) const {
  const JobRank* const rank = ranks ? ranks->job.find(pid) : nullptr;
  return rank != nullptr ? std::optional(rank->rank) : std::nullopt;
}

}  // namespace hangdbg
