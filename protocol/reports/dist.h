// What `dist --json` writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/host_name.h"
#include "protocol/json.h"
#include "protocol/reports/error.h"
#include "protocol/reports/place.h"

namespace hangdbg::reports {

struct DistCollective {
  std::int64_t number = 0;
  std::string name;

  template <class V>
  void fields(V& v) {
    v("number", number);
    v("name", name);
  }
};

struct DistBackend {
  std::string type;
  std::optional<std::int64_t> begun;
  std::optional<std::int64_t> collectives;
  std::optional<DistCollective> enqueued;
  std::optional<DistCollective> started;
  std::optional<DistCollective> completed;

  template <class V>
  void fields(V& v) {
    v("type", type);
    v.nullable("begun", begun);
    v.nullable("collectives", collectives);
    v.nullable("enqueued", enqueued);
    v.nullable("started", started);
    v.nullable("completed", completed);
  }
};

struct DistGroup {
  std::string name;
  std::string backend;
  bool is_default = false;
  std::vector<int> ranks;
  std::vector<DistBackend> backends;

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("backend", backend);
    v("default", is_default);
    v("ranks", ranks);
    v("backends", backends);
  }
};

struct DistTensor {
  std::vector<std::int64_t> shape;
  std::string dtype;
  std::string device;

  template <class V>
  void fields(V& v) {
    v("shape", shape);
    v("dtype", dtype);
    v("device", device);
  }
};

struct DistCall {
  std::string function;
  std::string inner;
  std::string group;
  std::string operation;
  std::optional<std::int64_t> peer;
  std::optional<DistTensor> tensor;

  template <class V>
  void fields(V& v) {
    v("function", function);
    v("inner", inner);
    v("group", group);
    v("operation", operation);
    v.nullable("peer", peer);
    v.nullable("tensor", tensor);
  }
};

struct DistThread {
  std::optional<std::int64_t> tid;
  std::string name;
  std::string state;
  std::optional<double> waiting_s;
  std::optional<DistCall> call;
  std::optional<Place> place;

  template <class V>
  void fields(V& v) {
    v.nullable("tid", tid);
    v("name", name);
    v("state", state);
    v.nullable("waiting_s", waiting_s);
    v.nullable("call", call);
    v.nullable("place", place);
  }
};

struct DistRank {
  std::int64_t pid = 0;
  std::optional<std::int64_t> rank;
  std::string host = host_name();
  std::optional<std::string> python;
  std::vector<DistGroup> groups;
  std::vector<DistThread> threads;
  std::optional<Json> asked;  // left out, if it was not
  std::optional<ReportedError> error;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v.nullable("rank", rank);
    v("host", host);
    v.nullable("python", python);
    v("groups", groups);
    v("threads", threads);
    v("asked", asked);
    v.nullable("error", error);
  }
};

struct DistStep {
  std::vector<int> ranks;
  std::int64_t begun = 0;
  std::optional<bool> over;
  std::optional<bool> started;
  std::int64_t pending = 0;
  std::string name;

  template <class V>
  void fields(V& v) {
    v("ranks", ranks);
    v("begun", begun);
    v.nullable("over", over);
    v.nullable("started", started);
    v("pending", pending);
    v("name", name);
  }
};

struct DistProgress {
  std::string name;
  std::string backend;
  std::string type;
  bool is_default = false;
  std::vector<int> ranks;
  std::vector<DistStep> steps;
  std::vector<int> uncounted;
  std::vector<int> unseen;
  bool apart = false;
  std::vector<int> behind;
  std::vector<int> mismatched;

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("backend", backend);
    v("type", type);
    v("default", is_default);
    v("ranks", ranks);
    v("steps", steps);
    v("uncounted", uncounted);
    v("unseen", unseen);
    v("apart", apart);
    v("behind", behind);
    v("mismatched", mismatched);
  }
};

struct DistFlow {
  std::optional<std::int64_t> from, to;
  std::string sender, receiver;
  std::optional<std::int64_t> from_fd, to_fd;
  std::string tcp;
  std::string flow;
  bool store = false;
  std::int64_t unread = 0;
  std::int64_t undelivered = 0;
  std::int64_t retransmits = 0;
  std::optional<double> quiet_s;
  std::optional<std::int64_t> bytes;

  template <class V>
  void fields(V& v) {
    v.nullable("from", from);
    v.nullable("to", to);
    v("sender", sender);
    v("receiver", receiver);
    v.nullable("from_fd", from_fd);
    v.nullable("to_fd", to_fd);
    v("tcp", tcp);
    v("flow", flow);
    v("store", store);
    v("unread", unread);
    v("undelivered", undelivered);
    v("retransmits", retransmits);
    v.nullable("quiet_s", quiet_s);
    v.nullable("bytes", bytes);
  }
};

struct Dist {
  std::optional<std::string> job;
  std::vector<std::string> findings;
  std::vector<DistProgress> groups;
  std::vector<DistRank> ranks;
  std::vector<DistFlow> connections;
  std::vector<int> missing;
  std::optional<ReportedError> without_times;
  bool all_sockets = true;

  template <class V>
  void fields(V& v) {
    v.nullable("job", job);
    v("findings", findings);
    v("groups", groups);
    v("ranks", ranks);
    v("connections", connections);
    v("missing", missing);
    v.nullable("without_times", without_times);
    v("all_sockets", all_sockets);
  }
};

}  // namespace hangdbg::reports
