#include "client/views/diagnose/json.h"

#include <optional>
#include <string>
#include <utility>

#include "client/terminal/json_error.h"

namespace hangdbg {
namespace {

struct JsonStep {
  std::string command, why;

  template <class V>
  void fields(V& v) {
    v("command", command);
    v("why", why);
  }
};

struct JsonLink {
  std::int64_t pid = 0, tid = 0;
  std::string who, place, state, id, summary, progress;
  std::optional<double> waiting_s;
  std::optional<double> watched_s;  // it polls, and waits for longer

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("tid", tid);
    v("who", who);
    v("place", place);
    v("state", state);
    v("cause", id);
    v("summary", summary);
    v("progress", progress);
    v.nullable("waiting_s", waiting_s);
    v.nullable("watched_s", watched_s);
  }
};

struct JsonDiagnosis {
  std::int64_t pid = 0;
  bool hung = false;
  std::string cause, summary, progress, confidence;
  std::vector<std::string> evidence;
  std::vector<JsonStep> next;
  std::vector<JsonLink> chain, also;
  std::vector<std::string> around, skipped;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("hung", hung);
    v("cause", cause);
    v("summary", summary);
    v("progress", progress);
    v("confidence", confidence);
    v("evidence", evidence);
    v("next", next);
    v("chain", chain);
    v("also", also);
    v("around", around);
    v("skipped", skipped);
  }
};

// Of several processes.
struct JsonAnswer {
  std::int64_t pid = 0;
  std::optional<JsonDiagnosis> diagnosis;
  std::optional<JsonError> error;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v.nullable("diagnosis", diagnosis);
    v.nullable("error", error);
  }
};

struct JsonAnswers {
  std::vector<JsonAnswer> processes;

  template <class V>
  void fields(V& v) {
    v("processes", processes);
  }
};

struct JsonRank {
  std::int64_t rank = 0, pid = 0;
  std::optional<std::string> call;  // the collective in which it waits
  std::optional<JsonDiagnosis> diagnosis;
  std::optional<JsonError> error;

  template <class V>
  void fields(V& v) {
    v("rank", rank);
    v("pid", pid);
    v.nullable("call", call);
    v.nullable("diagnosis", diagnosis);
    v.nullable("error", error);
  }
};

struct JsonAlike {
  std::vector<int> ranks;
  std::string cause, summary, place;

  template <class V>
  void fields(V& v) {
    v("ranks", ranks);
    v("cause", cause);
    v("summary", summary);
    v("place", place);
  }
};

struct JsonJob {
  std::string job, kind;
  std::optional<std::int64_t> world_size;
  bool hung = false;
  std::string cause, summary, progress, confidence;
  std::vector<int> odd, missing;
  std::vector<std::string> evidence;
  std::vector<JsonStep> next;
  std::vector<JsonAlike> alike;
  std::vector<JsonRank> ranks;
  std::optional<JsonLink> launcher;
  std::vector<std::string> skipped;

  template <class V>
  void fields(V& v) {
    v("job", job);
    v("kind", kind);
    v.nullable("world_size", world_size);
    v("hung", hung);
    v("cause", cause);
    v("summary", summary);
    v("progress", progress);
    v("confidence", confidence);
    v("odd", odd);
    v("missing", missing);
    v("evidence", evidence);
    v("next", next);
    v("alike", alike);
    v("ranks", ranks);
    v.nullable("launcher", launcher);
    v("skipped", skipped);
  }
};

std::vector<JsonStep> steps_of(const Cause& cause) {
  std::vector<JsonStep> steps;
  for (const NextStep& step : cause.next) {
    steps.push_back({step.command, step.why});
  }
  return steps;
}

JsonLink fields_of(const WaitEdge& link) {
  return {.pid = link.id.pid,
          .tid = link.id.tid,
          .who = link.who,
          .place = link.place,
          .state = link.state,
          .id = std::string(cause_name(link.cause.id)),
          .summary = link.cause.summary,
          .progress = std::string(progress_name(link.cause.progress)),
          .waiting_s = link.waiting_s,
          .watched_s = link.cause.watched
                           ? std::optional(link.cause.watched->seconds)
                           : std::nullopt};
}

JsonDiagnosis fields_of(const Diagnosis& found) {
  const Cause& cause = found.cause;
  JsonDiagnosis json{
      .pid = found.pid,
      .hung = found.hung,
      .cause = std::string(cause_name(cause.id)),
      .summary = cause.summary,
      .progress = std::string(progress_name(cause.progress)),
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
          std::optional<JsonDiagnosis>& diagnosis,
          std::optional<JsonError>& error) {
  if (found) {
    diagnosis = fields_of(*found);
  } else {
    error = JsonError::of(found.error());
  }
}

}  // namespace

Json diagnosis_json(const Diagnosis& found) {
  return encode(fields_of(found));
}

Json job_diagnosis_json(const JobDiagnosis& found, const RankSet& shown) {
  const Cause& cause = found.cause;
  JsonJob json{.job = found.job.id,
               .kind = found.job.kind,
               .hung = found.hung,
               .cause = std::string(cause_name(cause.id)),
               .summary = cause.summary,
               .progress = std::string(progress_name(cause.progress)),
               .confidence = std::string(confidence_name(cause.confidence)),
               .odd = found.odd.numbers(),
               .missing = found.job.missing.numbers(),
               .evidence = cause.evidence,
               .next = steps_of(cause),
               .skipped = found.skipped};
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
      JsonRank one{.rank = rank.rank, .pid = rank.pid};
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
  JsonAnswers answers;
  for (const ProcessDiagnosis& one : all) {
    JsonAnswer answer{.pid = one.pid};
    take(one.found, answer.diagnosis, answer.error);
    answers.processes.push_back(std::move(answer));
  }
  return encode(answers);
}

}  // namespace hangdbg
