#include "client/nodes/dist_of_nodes.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "client/nodes/gather.h"
#include "client/terminal/render.h"
#include "client/views/dist/read_back.h"
#include "client/views/dist/text.h"
#include "nodes/hosts/host_list.h"
#include "protocol/json.h"
#include "protocol/reports/dist.h"
#include "protocol/reports/error.h"

namespace hangdbg {
namespace {

struct DistOfJob {
  DistReport report;
  std::vector<std::string> nodes;
  std::set<int> missing;
  std::vector<std::pair<std::string, std::string>> others;  // node, finding

  void take(const std::string& node, const reports::Dist& said);
  void count();
};

std::vector<GroupProgress> progress(const DistReport& report) {
  std::vector<GroupsOfRank> groups;
  for (const DistRank& one : report.ranks) {
    if (one.look) {
      groups.push_back({one.rank, &one.look->groups});
    }
  }
  return group_progress(groups);
}

void DistOfJob::take(const std::string& node, const reports::Dist& said) {
  nodes.push_back(node);
  missing.insert(said.missing.begin(), said.missing.end());
  // Of groups it has seen a part, which is judged again with the others.
  DistReport alone{.job = Job{.id = printable(said.job.value_or(""))}};
  for (const reports::DistRank& rank : said.ranks) {
    alone.ranks.push_back(read_back(rank));
    report.ranks.push_back(read_back(rank));
  }
  alone.groups = progress(alone);
  const auto known = findings(alone);
  for (const std::string& finding : said.findings) {
    const bool of_a_connection = finding.find(" -> ") != std::string::npos;
    if (of_a_connection && std::ranges::find(known, finding) == known.end()) {
      others.emplace_back(node, printable(finding));
    }
  }
}

void DistOfJob::count() {
  std::ranges::sort(report.ranks, {}, &DistRank::rank);
  for (const DistRank& one : report.ranks) {
    missing.erase(one.rank);
  }
  for (const int rank : missing) {
    report.job->missing.add(rank);
  }
  report.groups = progress(report);
}

Result<int> show(const ViaOption& via, const CommonOptions& common) {
  TRY(common.configure_log());
  std::map<std::string, DistOfJob> jobs;
  std::vector<FailedNode> without;
  std::vector<int> codes;
  auto words = words_for_nodes();
  add_option_word(words, "--json");
  const AskedNodes asked = TRY(
      gather_from_nodes(via, common, std::move(words), [&](NodeAnswer answer) {
        const auto json = Json::parse(answer.out);
        const auto said =
            json ? decode<reports::Dist>(*json) : std::unexpected(json.error());
        if (!said) {
          const auto none = json ? decode<reports::NoAnswer>(*json)
                                 : std::unexpected(json.error());
          without.push_back(
              {answer.node,
               {.id = ErrorId::NodeFailed,
                .message = none ? printable(none->error.message)
                                : foreign(trim(answer.err).substr(0, 300))}});
          return;
        }
        codes.push_back(answer.code);
        DistOfJob& job = jobs[printable(said->job.value_or(""))];
        job.take(answer.node, *said);
      }));
  const Palette out(common.colour, stdout);
  for (auto& [name, job] : jobs) {
    job.report.job = Job{.id = name};
    job.count();
    print_now(
        stdout,
        out.bold(fmt::format(
            "job {}: {} rank{} on {}", name, job.report.ranks.size(),
            job.report.ranks.size() == 1 ? "" : "s", fold_hosts(job.nodes))) +
            "\n" + dist_progress_text(job.report, out));
    for (const auto& [node, finding] : job.others) {
      print_now(stdout, fmt::format("{} {}\n", out.bold("[" + node + "]"),
                                    out.red(finding)));
    }
  }
  const Palette err(common.colour, stderr);
  report_failed(without, err);
  report_failed(asked.failed, err);
  return without.empty() ? code_of_nodes(asked, codes) : 1;
}

}  // namespace

int show_dist_of_nodes(const ViaOption& via, const CommonOptions& common) {
  const auto code = show(via, common);
  return code ? *code : report(code.error(), Palette(common.colour, stderr));
}

}  // namespace hangdbg
