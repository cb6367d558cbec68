#include "client/views/evidence/tree.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/text.h"
#include "client/views/diagnose/verdict.h"
#include "client/views/ps/role.h"
#include "protocol/reports/process_tree.h"

namespace hangdbg {
namespace {

const SurveyedProcess* surveyed(const ShownTree& shown, int pid) {
  const auto found =
      std::ranges::find(shown.surveyed, pid, &SurveyedProcess::pid);
  return found == shown.surveyed.end() ? nullptr : &*found;
}

reports::ProcessTreeNode json_of_tree(const TreeProcess& from,
                                      const ShownTree& shown) {
  reports::ProcessTreeNode json{.pid = from.pid,
                                .ppid = from.parent,
                                .depth = static_cast<std::int64_t>(from.depth),
                                .uid = from.uid,
                                .threads = from.threads,
                                .name = from.name,
                                .state = std::string(1, from.state),
                                .doing = from.doing,
                                .cmdline = from.command_line,
                                .age_s = from.age_s,
                                .cpu_s = from.cpu_s,
                                .python = from.python,
                                .waited_for_by = from.waited_for_by};
  if (!from.ended.empty()) {
    json.ended = from.ended;
  }
  json.tracer = from.tracer;
  const Role role = role_of(shown.tree.jobs, from.pid);
  json.rank = role.rank;
  json.job = role.job;
  json.role = role.name;
  if (const SurveyedProcess* const known = surveyed(shown, from.pid)) {
    if (known->found) {  // else it is not known
      json.hung = known->hung();
      json.stalled = known->stalled();
    }
    json.verdict = known->state();
    json.waits = known->activity.waits;
  }
  return json;
}

std::string running_time(double seconds) {
  return human_duration(
      std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9)));
}

std::string command_of(const TreeProcess& process) {
  constexpr std::size_t kMost = 200;
  const std::string command =
      process.command_line.empty()
          ? "[" + printable(process.name) + "]"
          : printable(shell_quote(process.command_line));
  return command.size() > kMost ? to_utf8(command.substr(0, kMost)) + "…"
                                : command;
}

std::string process_line(const TreeProcess& process,
                         const ShownTree& shown,
                         const Palette& out) {
  const SurveyedProcess* const known = surveyed(shown, process.pid);
  const Role role = role_of(shown.tree.jobs, process.pid);
  std::string text = out.bold(fmt::format("{}", process.pid));
  if (role.name) {
    text += " " + out.cyan(role.rank && *role.name == "rank"
                               ? fmt::format("rank {}", *role.rank)
                           : role.rank ? fmt::format("{} of rank {}",
                                                     *role.name, *role.rank)
                                       : *role.name);
  }
  const std::string state =
      process.state == 'Z'
          ? fmt::format("zombie, {}",
                        process.ended.empty() ? "has ended" : process.ended)
          : fmt::format("{} {}", process.state, process.doing);
  const bool odd =
      std::string_view("DTtZ").find(process.state) != std::string_view::npos;
  text += " · " + (odd ? out.red(state) : state);
  if (known != nullptr && known->stalled()) {
    const std::string what = verdict_words(*known->found) + " in " +
                             printable(known->activity.waits);
    text += " · " + (known->hung() ? out.red(what) : out.bold(what));
  }
  text += fmt::format(" · {} old, cpu {}", running_time(process.age_s),
                      running_time(process.cpu_s));
  if (process.threads > 1) {
    text += fmt::format(", {} threads", process.threads);
  }
  text += " · " + command_of(process);
  if (!process.waited_for_by.empty()) {
    text +=
        " · " + out.green(fmt::format(
                    "{} wait{} for it", fmt::join(process.waited_for_by, ", "),
                    process.waited_for_by.size() == 1 ? "s" : ""));
  }
  if (process.tracer) {
    text += " · " + out.red(fmt::format("traced by {}", *process.tracer));
  }
  return process.pid == shown.tree.pid ? text + out.bold(" ←") : text;
}

// "├─ ", "│  └─ ": what is drawn before the process at that place.
std::string branches(const std::vector<TreeProcess>& all, std::size_t at) {
  // Whether a later one is a sibling of this one, or of an ancestor.
  const auto goes_on = [&](std::size_t depth) {
    for (std::size_t i = at + 1; i < all.size(); ++i) {
      if (all[i].depth <= depth) {
        return all[i].depth == depth;
      }
    }
    return false;
  };
  std::string text;
  for (std::size_t depth = 1; depth <= all[at].depth; ++depth) {
    const bool own = depth == all[at].depth;
    text += goes_on(depth) ? (own ? "├─ " : "│  ") : (own ? "└─ " : "   ");
  }
  return text;
}

}  // namespace

std::string process_tree_text(const ShownTree& shown, const Palette& out) {
  const SeenTree& tree = shown.tree;
  std::string text;
  for (const TreeProcess& one : tree.ancestors) {
    text += fmt::format("{}{} {}", text.empty() ? "below " : " > ", one.pid,
                        printable(one.name));
  }
  text = text.empty() ? "" : out.dim(text) + "\n";
  for (std::size_t i = 0; i < tree.processes.size(); ++i) {
    text += branches(tree.processes, i) +
            process_line(tree.processes[i], shown, out) + "\n";
  }
  for (const std::string& one : tree.skipped) {
    text += out.dim(fmt::format("not seen: {}", printable(one))) + "\n";
  }
  return text;
}

Json process_tree_json(const ShownTree& shown) {
  reports::ProcessTree json{.pid = shown.tree.pid,
                            .skipped = shown.tree.skipped};
  for (const TreeProcess& one : shown.tree.ancestors) {
    json.ancestors.push_back(json_of_tree(one, shown));
  }
  for (const TreeProcess& one : shown.tree.processes) {
    json.processes.push_back(json_of_tree(one, shown));
  }
  return encode(json);
}

}  // namespace hangdbg
