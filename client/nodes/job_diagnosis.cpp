#include "client/nodes/job_diagnosis.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "client/nodes/each_node.h"
#include "client/nodes/hints.h"
#include "client/nodes/machine_facts.h"
#include "client/terminal/render.h"
#include "client/terminal/typed.h"
#include "client/views/diagnose/evidence.h"
#include "client/views/diagnose/json.h"
#include "client/views/diagnose/text.h"
#include "client/views/diagnose/verdict.h"
#include "diagnosis/jobs/job_cause.h"
#include "diagnosis/jobs/stuck_flows.h"
#include "protocol/json.h"
#include "protocol/reports/node_diagnosis.h"

namespace hangdbg {
namespace {

struct Joined {
  double began_s = clock_now();
  std::map<std::string, JobDiagnosis> jobs;               // by name
  std::map<std::string, std::vector<FactsOfNode>> facts;  // by job
  std::vector<NodeText> texts;  // of nodes without one
  std::vector<int> codes;
  std::vector<FailedNode> unread;

  void take(const NodeAnswer& answer);
};

void Joined::take(const NodeAnswer& answer) {
  const auto json = Json::parse(answer.out);
  const auto found = json ? decode<reports::NodeDiagnosis>(*json)
                          : std::unexpected(json.error());
  if (!found || (!found->job && !found->text)) {
    const auto none =
        json ? decode<reports::NoAnswer>(*json) : std::unexpected(json.error());
    unread.push_back(
        {answer.node,
         {.id = ErrorId::NodeFailed,
          .message = none ? none->error.message
                          : std::string(trim(answer.err).substr(0, 300))}});
    return;
  }
  if (!found->job) {
    texts.push_back({answer.node, *found->text, answer.err});
    codes.push_back(static_cast<int>(found->exit_code));
    return;
  }
  JobDiagnosis& job = jobs[found->job->job];
  job.job.id = found->job->job;
  job.job.kind = found->job->kind;
  if (const auto added = add_evidence(*found->job, answer.node, job); !added) {
    unread.push_back({answer.node, added.error()});
    return;
  }
  FactsOfNode& of =
      facts[found->job->job].emplace_back(FactsOfNode{.node = answer.node});
  for (const reports::EvidenceRank& rank : found->job->ranks) {
    of.ranks.push_back(rank.facts);
  }
  of.ahead_least_s = found->job->clock_s - clock_now();
  of.ahead_most_s = found->job->clock_s - began_s;
}

// The ranks of the job's world that are on none of these nodes.
void complete(JobDiagnosis& job, double hung_after_s) {
  std::ranges::sort(job.ranks, {}, &RankDiagnosis::rank);
  std::ranges::sort(job.job.ranks, {}, &JobRank::rank);
  RankSet seen, missing;
  for (const RankDiagnosis& rank : job.ranks) {
    seen.add(rank.rank);
  }
  for (const int rank : job.job.missing.numbers()) {
    if (!seen.contains(rank)) {
      missing.add(rank);
    }
  }
  job.job.missing = std::move(missing);
  for (int rank = 0; rank < job.job.world_size.value_or(0); ++rank) {
    if (!seen.contains(rank) && !job.job.missing.contains(rank)) {
      job.job.elsewhere.add(rank);
    }
  }
  find_stuck_flows(job);
  find_job_cause(job, hung_after_s);
}

// The node of the outliers, as --via takes it; all nodes, where they are on
// several, or a launcher takes no hosts.
std::string via_of_odd(const JobDiagnosis& job, const std::string& how) {
  std::string host;
  for (const RankDiagnosis& rank : job.ranks) {
    if (!job.odd.contains(rank.rank)) {
      continue;
    }
    if (!host.empty() && host != rank.host) {
      return how;
    }
    host = rank.host;
  }
  return host.empty() ? how : via_of_node(how, host);
}

// What to type next asks the same nodes; with a PID the one that has it.
void add_via(JobDiagnosis& job, const std::string& how) {
  for (NextStep& step : job.cause.next) {
    if (step.command.starts_with("hangdbg ")) {
      const bool whole_job = step.command.find("--job") != std::string::npos ||
                             step.command.ends_with(" --probe");
      step.command +=
          " --via " + shell_quote(whole_job ? how : via_of_odd(job, how));
    }
  }
}

RankSet all_ranks(const JobDiagnosis& job) {
  RankSet all;
  for (const RankDiagnosis& rank : job.ranks) {
    all.add(rank.rank);
  }
  return all;
}

}  // namespace

Result<int> diagnose_nodes(const NodesDiagnosisOptions& options) {
  TRY(options.common.configure_log());
  auto words = words_for_nodes();
  remove_option(words, "--json", false);
  remove_option(words, "-j", false);
  remove_option(words, "--exit-state", false);
  add_option_word(words, "--evidence");
  Joined joined;
  AskedNodes asked = TRY(gather_from_nodes(
      options.via, options.common, std::move(words),
      [&](const NodeAnswer& answer) { joined.take(answer); }));
  std::ranges::move(joined.unread, std::back_inserter(asked.failed));
  if (joined.jobs.size() > 1) {
    std::string names;
    for (const auto& [name, job] : joined.jobs) {
      names += (names.empty() ? "" : ", ") + printable(name);
    }
    return fail(ErrorId::Usage,
                fmt::format("{} jobs are on these nodes: {}",
                            joined.jobs.size(), names),
                typed_with("--job", joined.jobs.begin()->first));
  }
  if (joined.jobs.empty()) {
    if (options.common.json) {
      return show_each_node(options.via, options.common);
    }
    print_node_texts(std::move(joined.texts), options.common);
    report_failed(asked.failed, Palette(options.common.colour, stderr));
    return code_of_nodes(asked, joined.codes);
  }
  JobDiagnosis& job = joined.jobs.begin()->second;
  complete(job, options.hung_after_s);
  auto& facts = joined.facts[joined.jobs.begin()->first];
  std::ranges::sort(facts, {}, &FactsOfNode::node);
  job.differences = differences(facts);
  add_via(job, options.via.how);
  for (const FailedNode& one : asked.failed) {
    job.skipped.push_back(fmt::format("{}: {}", one.node, one.why.text()));
  }
  if (options.common.json) {
    print_json(job_diagnosis_json(job, all_ranks(job)));
  } else {
    print_now(stdout,
              job_diagnosis_text(job, all_ranks(job),
                                 Palette(options.common.colour, stdout)));
  }
  if (!asked.failed.empty()) {
    return 1;
  }
  return options.exit_state ? exit_code_of(job.state) : 0;
}

}  // namespace hangdbg
