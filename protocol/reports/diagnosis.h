// What `diagnose --json` writes: of one process, of several, of a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/reports/error.h"

namespace hangdbg::reports {

struct DiagnosisStep {
  std::string command, why;

  template <class V>
  void fields(V& v) {
    v("command", command);
    v("why", why);
  }
};

struct DiagnosisEdge {
  std::int64_t pid = 0, tid = 0;
  std::string who, place;
  std::string state;  // "stuck"
  std::string doing;  // "asleep in futex for 3 min"
  std::string id, summary;
  std::optional<double> waiting_s;
  std::optional<double> watched_s;  // it polls, and waits for longer

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("tid", tid);
    v("who", who);
    v("place", place);
    v("state", state);
    v("doing", doing);
    v("cause", id);
    v("summary", summary);
    v.nullable("waiting_s", waiting_s);
    v.nullable("watched_s", watched_s);
  }
};

struct Diagnosis {
  std::int64_t pid = 0;
  // "stuck", "blocked", "unknown", "polling", "idle" or "running".
  std::string state;
  bool hung = false;     // nothing that exists can end its wait
  bool stalled = false;  // it has not got on for long, and not by design
  std::string cause, summary, confidence;
  std::vector<std::string> evidence;
  std::vector<DiagnosisStep> next;
  std::vector<DiagnosisEdge> chain, also;
  std::vector<std::string> around, skipped;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("state", state);
    v("hung", hung);
    v("stalled", stalled);
    v("cause", cause);
    v("summary", summary);
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
struct DiagnosisAnswer {
  std::int64_t pid = 0;
  std::optional<Diagnosis> diagnosis;
  std::optional<ReportedError> error;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v.nullable("diagnosis", diagnosis);
    v.nullable("error", error);
  }
};

struct Diagnoses {
  std::vector<DiagnosisAnswer> processes;

  template <class V>
  void fields(V& v) {
    v("processes", processes);
  }
};

struct DiagnosisRank {
  std::int64_t rank = 0, pid = 0;
  std::optional<std::string> call;  // the collective in which it waits
  std::optional<Diagnosis> diagnosis;
  std::optional<ReportedError> error;

  template <class V>
  void fields(V& v) {
    v("rank", rank);
    v("pid", pid);
    v.nullable("call", call);
    v.nullable("diagnosis", diagnosis);
    v.nullable("error", error);
  }
};

struct DiagnosisAlike {
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

struct JobDiagnosis {
  std::string job, kind;
  std::optional<std::int64_t> world_size;
  std::string state;
  bool hung = false;  // also: other ranks are blocked by one that rests
  bool stalled = false;
  std::string cause, summary, confidence;
  std::vector<int> odd, missing;
  std::vector<std::string> evidence;
  std::vector<DiagnosisStep> next;
  std::vector<DiagnosisAlike> alike;
  std::vector<DiagnosisRank> ranks;
  std::optional<DiagnosisEdge> launcher;
  std::vector<std::string> skipped, differences;

  template <class V>
  void fields(V& v) {
    v("job", job);
    v("kind", kind);
    v.nullable("world_size", world_size);
    v("state", state);
    v("hung", hung);
    v("stalled", stalled);
    v("cause", cause);
    v("summary", summary);
    v("confidence", confidence);
    v("odd", odd);
    v("missing", missing);
    v("evidence", evidence);
    v("next", next);
    v("alike", alike);
    v("ranks", ranks);
    v.nullable("launcher", launcher);
    v("skipped", skipped);
    v("differences", differences);
  }
};

}  // namespace hangdbg::reports
