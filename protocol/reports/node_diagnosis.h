// What a node reports about its ranks, so that the asking side can find the
// cause of the whole job: `diagnose --evidence`, which hangdbg alone reads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/reports/diagnosis.h"
#include "protocol/reports/error.h"

namespace hangdbg::reports {

struct EvidenceWatched {
  std::string function;
  double seconds = 0;
  bool enough = false;

  template <class V>
  void fields(V& v) {
    v("function", function);
    v("seconds", seconds);
    v("enough", enough);
  }
};

struct EvidenceCause {
  std::string id, progress, confidence, summary;
  std::vector<std::string> evidence;
  std::vector<DiagnosisStep> next;
  std::optional<EvidenceWatched> watched;

  template <class V>
  void fields(V& v) {
    v("id", id);
    v("progress", progress);
    v("confidence", confidence);
    v("summary", summary);
    v("evidence", evidence);
    v("next", next);
    v("watched", watched);
  }
};

struct EvidenceEdge {
  std::int64_t pid = 0, tid = 0;
  std::string who, place, doing;
  std::optional<double> waiting_s;
  bool naps = false, has_time_limit = false;
  EvidenceCause cause;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("tid", tid);
    v("who", who);
    v("place", place);
    v("doing", doing);
    v("waiting_s", waiting_s);
    v("naps", naps);
    v("has_time_limit", has_time_limit);
    v("cause", cause);
  }
};

struct EvidenceDiagnosis {
  std::string title, state;
  bool stalled = false, partial = false;
  std::vector<EvidenceEdge> chain, also;
  std::int64_t root = 0, cycle = 0;
  EvidenceCause cause;
  std::vector<std::string> around, skipped;

  template <class V>
  void fields(V& v) {
    v("title", title);
    v("state", state);
    v("stalled", stalled);
    v("partial", partial);
    v("chain", chain);
    v("also", also);
    v("root", root);
    v("cycle", cycle);
    v("cause", cause);
    v("around", around);
    v("skipped", skipped);
  }
};

struct EvidenceTensor {
  std::vector<std::int64_t> shape;
  std::string dtype, device;

  template <class V>
  void fields(V& v) {
    v("shape", shape);
    v("dtype", dtype);
    v("device", device);
  }
};

struct EvidenceCollective {
  std::int64_t number = 0;
  std::string name;

  template <class V>
  void fields(V& v) {
    v("number", number);
    v("name", name);
  }
};

struct EvidenceCall {
  std::string function, inner, group, operation;
  std::optional<std::int64_t> peer;
  std::optional<EvidenceTensor> tensor;

  template <class V>
  void fields(V& v) {
    v("function", function);
    v("inner", inner);
    v("group", group);
    v("operation", operation);
    v("peer", peer);
    v("tensor", tensor);
  }
};

struct EvidenceBackend {
  std::string type;
  std::optional<std::int64_t> begun, collectives;
  bool has_status = false;
  std::optional<EvidenceCollective> enqueued, started, completed;

  template <class V>
  void fields(V& v) {
    v("type", type);
    v("begun", begun);
    v("collectives", collectives);
    v("has_status", has_status);
    v("enqueued", enqueued);
    v("started", started);
    v("completed", completed);
  }
};

struct EvidenceGroup {
  std::string name, backend;
  bool is_default = false;
  std::string ranks;  // in the group's own order: "0-3,9,8"
  std::vector<EvidenceBackend> backends;

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("backend", backend);
    v("default", is_default);
    v("ranks", ranks);
    v("backends", backends);
  }
};

// One end of a TCP connection (tcp_sockets.h).
struct EvidenceSocket {
  std::int64_t fd = 0, state = 0;
  std::string local, remote;  // 32 hexadecimal digits, and the port
  std::int64_t unread = 0, undelivered = 0, retransmits = 0;
  std::optional<std::int64_t> last_received_ms, last_answered_ms;

  template <class V>
  void fields(V& v) {
    v("fd", fd);
    v("state", state);
    v("local", local);
    v("remote", remote);
    v("unread", unread);
    v("undelivered", undelivered);
    v("retransmits", retransmits);
    v("last_received_ms", last_received_ms);
    v("last_answered_ms", last_answered_ms);
  }
};

struct EvidenceConnections {
  std::string network;  // its namespace there
  std::vector<EvidenceSocket> sockets;

  template <class V>
  void fields(V& v) {
    v("network", network);
    v("sockets", sockets);
  }
};

struct EvidenceRank {
  std::int64_t rank = 0, pid = 0;
  std::optional<EvidenceDiagnosis> diagnosis;
  std::optional<ReportedError> error;
  std::optional<EvidenceCall> call;
  bool groups_complete = true;
  std::vector<EvidenceGroup> groups;
  std::optional<EvidenceConnections> connections;
  // What should be the same on all machines: "NCCL", "OMP_NUM_THREADS".
  std::map<std::string, std::string> facts;

  template <class V>
  void fields(V& v) {
    v("rank", rank);
    v("pid", pid);
    v("diagnosis", diagnosis);
    v("error", error);
    v("call", call);
    v("groups_complete", groups_complete);
    v("groups", groups);
    v("connections", connections);
    v("facts", facts);
  }
};

struct EvidenceJob {
  std::string job, kind;
  std::optional<std::int64_t> world_size;
  std::vector<EvidenceRank> ranks;
  std::vector<int> missing;  // that the node should have
  std::vector<std::string> skipped;
  double clock_s = 0;  // as it was there at the end

  template <class V>
  void fields(V& v) {
    v("job", job);
    v("kind", kind);
    v("world_size", world_size);
    v("ranks", ranks);
    v("missing", missing);
    v("skipped", skipped);
    v("clock_s", clock_s);
  }
};

struct NodeDiagnosis {
  std::optional<EvidenceJob> job;
  std::optional<std::string> text;  // where there is none
  std::int64_t exit_code = 0;

  template <class V>
  void fields(V& v) {
    v("job", job);
    v("text", text);
    v("exit_code", exit_code);
  }
};

}  // namespace hangdbg::reports
