#include "client/breaks/on_nodes.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "client/breaks/phases_on_nodes.h"
#include "client/breaks/ranks_on_nodes.h"
#include "client/nodes/gather.h"
#include "client/nodes/own_job.h"
#include "client/terminal/render.h"
#include "client/terminal/typed.h"
#include "nodes/asking/live_nodes.h"
#include "nodes/hosts/host_list.h"
#include "protocol/json.h"
#include "protocol/reports/ps.h"

namespace hangdbg {
namespace {

constexpr auto kNodesToEnd = std::chrono::seconds(8);

Status check(const Launcher& launcher) {
  if (!launcher.forwards_input()) {
    return fail(ErrorId::Usage,
                "this launcher carries no input: a node could be told nothing",
                typed_with("--via", "ssh:" + fold_hosts(launcher.nodes())));
  }
  return {};
}

// The nodes that have ranks of the job. It also brings hangdbg to where it is
// not.
Result<std::vector<std::string>> nodes_with_ranks(const BreakOnNodes& options) {
  std::vector<std::string> words = {
      "ps", "--json", "--timeout", fmt::format("{}", options.common.timeout_s)};
  const bool named = !options.job.job.empty() && options.job.job != "auto";
  std::vector<std::string> nodes;
  const AskedNodes asked = TRY(gather_from_nodes(
      options.via, options.common, std::move(words),
      [&](const NodeAnswer& answer) {
        const auto json = Json::parse(answer.out);
        const auto listed =
            json ? decode<reports::PsProcesses>(*json)
                 : Result<reports::PsProcesses>(std::unexpected(json.error()));
        if (listed &&
            std::ranges::any_of(listed->processes, [&](const auto& one) {
              return one.role == "rank" &&
                     (!named || one.job == options.job.job);
            })) {
          nodes.push_back(answer.node);
        }
      }));
  if (!asked.failed.empty()) {
    // Its ranks may be any.
    report_failed(asked.failed, Palette(options.common.colour, stderr));
    return fail(asked.failed.front().why.id,
                "no breakpoint set: the timeouts of all ranks are raised, or "
                "none");
  }
  if (nodes.empty()) {
    return fail(ErrorId::NoSuchRank,
                named ? fmt::format("no rank of {} is on these nodes",
                                    printable(options.job.job))
                      : "no ranks of a job are on these nodes",
                "hangdbg ps --via " + shell_quote(options.via.how));
  }
  std::ranges::sort(nodes, [](const std::string& one, const std::string& two) {
    return std::pair(one.size(), one) < std::pair(two.size(), two);
  });
  return nodes;
}

std::vector<std::string> words_for_break() {
  auto words = words_for_nodes();
  for (const char* const flag : {"--json", "--ranks-elsewhere"}) {
    remove_option(words, flag, /*value=*/false);
  }
  add_option_word(words, "--json");
  add_option_word(words, "--by-orders");
  return words;
}

}  // namespace

Result<int> break_on_nodes(const BreakOnNodes& options,
                           std::optional<BreakEvents>& events) {
  const auto launcher = TRY(chosen_launcher(options.via, options.common));
  TRY(check(*launcher));
  const auto nodes = TRY(nodes_with_ranks(options));
  if (options.common.json) {
    events.emplace();
  }
  LiveNodes live(*launcher, nodes, words_for_break(), typed_words());
  RanksOnNodes ranks(live, nodes, options.common, options.commands.size(),
                     events ? &*events : nullptr);
  auto code = break_in_phases(options, ranks, events ? &*events : nullptr);
  live.tell(encode(reports::BreakOrder{.what = "end"}).dump());
  live.end(Deadline::in(kNodesToEnd));
  return code;
}

}  // namespace hangdbg
