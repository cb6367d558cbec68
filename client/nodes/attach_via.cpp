#include "client/nodes/attach_via.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "client/nodes/hints.h"
#include "client/nodes/own_job.h"
#include "client/terminal/typed.h"
#include "inspector/ranks/rank_set.h"
#include "nodes/frames/messages.h"
#include "nodes/launchers/bootstrap.h"
#include "nodes/program/own_program.h"
#include "protocol/base64.h"
#include "protocol/json.h"
#include "protocol/reports/ps.h"

namespace hangdbg {
namespace {

constexpr double kLongestS = 86'400;

struct Place {
  std::string node, pid;
};

// The number that --ranks names; none if that is not one.
std::optional<int> one_rank(const JobOptions& job) {
  const auto choice = job.ranks.empty()
                          ? Result<RankChoice>(std::unexpected(Error{}))
                          : RankChoice::parse(job.ranks);
  return choice && choice->named() != nullptr && choice->named()->size() == 1
             ? std::optional(choice->named()->numbers().front())
             : std::nullopt;
}

// The place of that rank, of each job.
std::map<std::string, Place> places_of(
    int rank,
    const std::vector<std::pair<std::string, reports::PsProcesses>>& nodes) {
  std::map<std::string, Place> found;
  for (const auto& [node, listed] : nodes) {
    for (const auto& one : listed.processes) {
      if (one.rank == rank && one.role == "rank") {
        found.try_emplace(one.job.value_or(""),
                          Place{node, fmt::format("{}", one.pid)});
      }
    }
  }
  return found;
}

Result<Place> find_place(
    const AttachViaOptions& options,
    const std::vector<std::pair<std::string, reports::PsProcesses>>& nodes) {
  if (!options.pid.empty()) {
    return Place{nodes.front().first, options.pid};
  }
  const int rank = *one_rank(options.job);
  auto found = places_of(rank, nodes);
  if (found.empty()) {
    return fail(ErrorId::NoSuchRank,
                fmt::format("rank {} is on none of these nodes", rank),
                "hangdbg ps --via " + shell_quote(options.via.how));
  }
  if (found.size() > 1) {
    std::string names;
    for (const auto& [job, place] : found) {
      names += (names.empty() ? "" : ", ") + printable(job);
    }
    return fail(ErrorId::Usage,
                fmt::format("{} jobs on these nodes have a rank {}: {}",
                            found.size(), rank, names),
                typed_with("--job", found.begin()->first));
  }
  return std::move(found.begin()->second);
}

std::vector<std::string> words_there(const std::string& pid) {
  auto words = words_for_nodes();
  for (const char* const name : {"--job", "--ranks", "--pid", "-p"}) {
    remove_option(words, name, /*value=*/true);
  }
  remove_option(words, "--ranks-elsewhere", /*value=*/false);
  if (const auto typed = std::ranges::find(words, pid); typed != words.end()) {
    words.erase(typed);
  }
  words.insert(words.begin() + 1, pid);
  return words;
}

Status check(const AttachViaOptions& options, const Launcher& launcher) {
  const auto& nodes = launcher.nodes();
  if (options.pid.empty() ? !one_rank(options.job) : nodes.size() != 1) {
    return fail(
        ErrorId::Usage,
        options.pid.empty()
            ? "--via needs --ranks with the one rank to attach to"
            : "a PID with --via needs the one node that has it",
        options.pid.empty()
            ? typed_with("--ranks", "0")
            : typed_with("--via", via_of_node(options.via.how, nodes.front())));
  }
  if (launcher.terminal_words(nodes.front(), "").empty()) {
    return fail(ErrorId::Usage, "this launcher gives no terminal",
                typed_with("--via", "ssh:" + nodes.front()));
  }
  return {};
}

// What `ps` says there. It also brings hangdbg to where it is not.
Result<std::vector<std::pair<std::string, reports::PsProcesses>>> ask_all(
    const AttachViaOptions& options) {
  std::vector<std::string> words = {
      "ps", "--json", "--timeout", fmt::format("{}", options.common.timeout_s)};
  if (!options.job.job.empty() && options.job.job != "auto") {
    words.insert(words.end(), {"--job", options.job.job});
  }
  std::vector<std::pair<std::string, reports::PsProcesses>> nodes;
  const AskedNodes asked = TRY(gather_from_nodes(
      options.via, options.common, std::move(words),
      [&](const NodeAnswer& answer) {
        const auto json = Json::parse(answer.out);
        auto listed =
            json ? decode<reports::PsProcesses>(*json)
                 : Result<reports::PsProcesses>(std::unexpected(json.error()));
        nodes.emplace_back(
            answer.node, listed ? *std::move(listed) : reports::PsProcesses{});
      }));
  if (nodes.empty()) {
    return std::unexpected(asked.failed.front().why);
  }
  report_failed(asked.failed, Palette(options.common.colour, stderr));
  return nodes;
}

}  // namespace

Result<int> attach_on_node(const AttachViaOptions& options) {
  TRY(options.common.configure_log());
  const auto launcher = TRY(chosen_launcher(options.via, options.common));
  TRY(check(options, *launcher));
  const Place place = TRY(find_place(options, TRY(ask_all(options))));
  const NodeRequest request{.words = words_there(place.pid),
                            .typed = typed_words(),
                            .seconds = kLongestS};
  const std::string script =
      bootstrap_script({.hash = own_program_id(),
                        .size = own_program_size(),
                        .request = to_base64(encode(request).dump()),
                        .if_absent = IfAbsent::SayAbsent,
                        .terminal = true});
  const bool terminal =
      ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0;
  auto words = terminal ? launcher->terminal_words(place.node, script)
                        : launcher->words({place.node}, script);
  say(stderr, "process {} on {}\n", place.pid, place.node);
  flush_output(stderr);
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  ::execvp(argv.front(), argv.data());
  return fail_errno("cannot run " + words.front(), ErrorId::NodeFailed);
}

}  // namespace hangdbg
