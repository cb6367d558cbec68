#include "client/views/diagnose/json.h"

#include <optional>
#include <string>
#include <utility>

#include "client/terminal/reported.h"
#include "protocol/reports/diagnosis.h"
#include "protocol/reports/error.h"

namespace hangdbg {
namespace {

std::vector<reports::DiagnosisStep> steps_of(const Cause& cause) {
  std::vector<reports::DiagnosisStep> steps;
  for (const NextStep& step : cause.next) {
    steps.push_back({step.command, step.why});
  }
  return steps;
}

reports::DiagnosisEdge fields_of(const WaitEdge& link) {
  return {.pid = link.id.pid,
          .tid = link.id.tid,
          .who = link.who,
          .place = link.place,
          .state = std::string(progress_name(link.cause.progress)),
          .doing = link.doing,
          .id = std::string(cause_name(link.cause.id)),
          .summary = link.cause.summary,
          .waiting_s = link.waiting_s,
          .watched_s = link.cause.watched
                           ? std::optional(link.cause.watched->seconds)
                           : std::nullopt};
}

reports::Diagnosis fields_of(const Diagnosis& found) {
  const Cause& cause = found.cause;
  reports::Diagnosis json{
      .pid = found.pid,
      .state = std::string(progress_name(found.state)),
      .hung = found.hung(),
      .stalled = found.stalled,
      .cause = std::string(cause_name(cause.id)),
      .summary = cause.summary,
      .confidence = std::string(confidence_name(cause.confidence)),
      .evidence = cause.evidence,
      .next = steps_of(cause),
      .around = found.around,
      .skipped = found.skipped};
  for (const WaitEdge& link : found.chain) {
    json.chain.push_back(fields_of(link));
  }
  for (const WaitEdge& link : found.also) {
    json.also.push_back(fields_of(link));
  }
  return json;
}

// Either, into an answer's two members.
void take(const Result<Diagnosis>& found,
          std::optional<reports::Diagnosis>& diagnosis,
          std::optional<reports::ReportedError>& error) {
  if (found) {
    diagnosis = fields_of(*found);
  } else {
    error = reported(found.error());
  }
}

}  // namespace

Json diagnosis_json(const Diagnosis& found) {
  return encode(fields_of(found));
}

Json job_diagnosis_json(const JobDiagnosis& found, const RankSet& shown) {
  const Cause& cause = found.cause;
  reports::JobDiagnosis json{
      .job = found.job.id,
      .kind = found.job.kind,
      .state = std::string(progress_name(found.state)),
      .hung = found.hung,
      .stalled = found.stalled,
      .cause = std::string(cause_name(cause.id)),
      .summary = cause.summary,
      .confidence = std::string(confidence_name(cause.confidence)),
      .odd = found.odd.numbers(),
      .missing = found.job.missing.numbers(),
      .evidence = cause.evidence,
      .next = steps_of(cause),
      .skipped = found.skipped,
      .differences = found.differences};
  if (found.job.world_size) {
    json.world_size = *found.job.world_size;
  }
  for (const AlikeRanks& alike : found.alike(shown)) {
    const WaitEdge& first = alike.first->chain.front();
    json.alike.push_back({alike.ranks.numbers(),
                          std::string(cause_name(first.cause.id)),
                          first.cause.summary, first.place});
  }
  for (const RankDiagnosis& rank : found.ranks) {
    if (shown.contains(rank.rank)) {
      reports::DiagnosisRank one{.rank = rank.rank, .pid = rank.pid};
      if (rank.call) {
        one.call = call_words(*rank.call);
      }
      take(rank.found, one.diagnosis, one.error);
      json.ranks.push_back(std::move(one));
    }
  }
  if (found.launcher) {
    json.launcher = fields_of(*found.launcher);
  }
  return encode(json);
}

Json diagnoses_json(const std::vector<ProcessDiagnosis>& all) {
  reports::Diagnoses answers;
  for (const ProcessDiagnosis& one : all) {
    reports::DiagnosisAnswer answer{.pid = one.pid};
    take(one.found, answer.diagnosis, answer.error);
    answers.processes.push_back(std::move(answer));
  }
  return encode(answers);
}

}  // namespace hangdbg
