#include "client/views/dist/json.h"

#include <string>
#include <utility>
#include <vector>

#include "base/host_name.h"
#include "client/options/expression_args.h"
#include "client/terminal/json_error.h"
#include "client/views/dist/words.h"

namespace hangdbg {
namespace {

struct JsonCollective {
  std::int64_t number = 0;
  std::string name;

  template <class V>
  void fields(V& v) {
    v("number", number);
    v("name", name);
  }
};

struct JsonBackend {
  std::string type;
  std::optional<std::int64_t> begun;
  std::optional<std::int64_t> collectives;
  std::optional<JsonCollective> enqueued;
  std::optional<JsonCollective> started;
  std::optional<JsonCollective> completed;

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

struct JsonGroup {
  std::string name;
  std::string backend;
  bool is_default = false;
  std::vector<int> ranks;
  std::vector<JsonBackend> backends;

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("backend", backend);
    v("default", is_default);
    v("ranks", ranks);
    v("backends", backends);
  }
};

struct JsonTensor {
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

struct JsonCall {
  std::string function;
  std::string inner;
  std::string group;
  std::string operation;
  std::optional<std::int64_t> peer;
  std::optional<JsonTensor> tensor;

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

struct JsonThread {
  std::optional<std::int64_t> tid;
  std::string name;
  std::string state;
  std::optional<double> waiting_s;
  std::optional<JsonCall> call;
  std::optional<JsonPlace> place;

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

struct JsonRank {
  std::int64_t pid = 0;
  std::optional<std::int64_t> rank;
  std::string host = host_name();
  std::optional<std::string> python;
  std::vector<JsonGroup> groups;
  std::vector<JsonThread> threads;
  std::optional<Json> asked;  // left out, if it was not
  std::optional<JsonError> error;

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

struct JsonStep {
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

struct JsonProgress {
  std::string name;
  std::string backend;
  std::string type;
  bool is_default = false;
  std::vector<int> ranks;
  std::vector<JsonStep> steps;
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

struct JsonFlow {
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

struct JsonReport {
  std::optional<std::string> job;
  std::vector<std::string> findings;
  std::vector<JsonProgress> groups;
  std::vector<JsonRank> ranks;
  std::vector<JsonFlow> connections;
  std::vector<int> missing;
  std::optional<JsonError> without_times;
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

JsonBackend to_json(const GroupBackend& from);
JsonGroup to_json(const ProcessGroup& from);
JsonThread to_json(const DistThread& from);
JsonRank to_json(const DistRank& from);
JsonStep to_json(const GroupStep& from);
JsonProgress to_json(const GroupProgress& from);
JsonFlow to_json(const PeerFlow& from);

template <class To, class From>
std::vector<To> each_to_json(const std::vector<From>& from) {
  std::vector<To> all;
  for (const From& one : from) {
    all.push_back(to_json(one));
  }
  return all;
}

std::optional<JsonCollective> to_json(
    const std::optional<NumberedCollective>& from) {
  return from ? std::optional(JsonCollective{from->number, from->name})
              : std::nullopt;
}

JsonBackend to_json(const GroupBackend& from) {
  JsonBackend json{.type = from.type,
                   .begun = {},
                   .collectives = {},
                   .enqueued = to_json(from.enqueued),
                   .started = to_json(from.started),
                   .completed = to_json(from.completed)};
  if (from.begun) {
    json.begun = static_cast<std::int64_t>(*from.begun);
  }
  if (from.collectives) {
    json.collectives = static_cast<std::int64_t>(*from.collectives);
  }
  return json;
}

JsonGroup to_json(const ProcessGroup& from) {
  return {.name = from.name,
          .backend = from.backend,
          .is_default = from.is_default,
          .ranks = from.ranks,
          .backends = each_to_json<JsonBackend>(from.backends)};
}

JsonCall to_json(const CollectiveCall& from) {
  JsonCall json{.function = from.function,
                .inner = from.inner,
                .group = from.group,
                .operation = from.operation,
                .peer = from.peer,
                .tensor = {}};
  if (from.tensor) {
    json.tensor = {from.tensor->sizes, from.tensor->dtype, from.tensor->device};
  }
  return json;
}

JsonThread to_json(const DistThread& from) {
  JsonThread json{.tid = from.tid,
                  .name = from.name,
                  .state = from.state,
                  .waiting_s = from.waiting_s,
                  .call = {},
                  .place = {}};
  if (from.call) {
    json.call = to_json(*from.call);
  }
  if (const PythonFrame* const frame = program_frame(from)) {
    json.place = {frame->function, frame->file, frame->line};
  }
  return json;
}

JsonRank to_json(const DistRank& from) {
  JsonRank json{.pid = from.pid};
  if (!from.look) {
    json.error = JsonError::of(from.look.error());
    return json;
  }
  json.python = from.look->python;
  json.groups = each_to_json<JsonGroup>(from.look->groups.groups);
  json.threads = each_to_json<JsonThread>(from.look->threads);
  if (from.look->why_no_groups) {
    json.error = JsonError::of(*from.look->why_no_groups);
  }
  if (from.asked) {
    json.asked = *from.asked ? encode(**from.asked)
                             : encode(JsonError::of(from.asked->error()));
  }
  return json;
}

JsonStep to_json(const GroupStep& from) {
  return {from.ranks.numbers(), from.begun,   from.over,
          from.started,         from.pending, from.name};
}

JsonProgress to_json(const GroupProgress& from) {
  return {.name = from.name,
          .backend = from.backend,
          .type = from.backend_type,
          .is_default = from.is_default,
          .ranks = from.ranks,
          .steps = each_to_json<JsonStep>(from.steps),
          .uncounted = from.uncounted.numbers(),
          .unseen = from.unseen.numbers(),
          .apart = from.apart,
          .behind = from.behind().numbers(),
          .mismatched = from.mismatched().numbers()};
}

JsonFlow to_json(const PeerFlow& from) {
  JsonFlow json{.from = from.from,
                .to = from.to,
                .sender = from.sender.text(),
                .receiver = from.receiver.text(),
                .from_fd = from.from_fd,
                .to_fd = from.to_fd,
                .tcp = std::string(tcp_state_name(from.state)),
                .flow = flow_name(from.flow),
                .store = from.store,
                .unread = from.unread,
                .undelivered = from.undelivered,
                .retransmits = from.retransmits,
                .quiet_s = {},
                .bytes = {}};
  if (from.quiet) {
    json.quiet_s = static_cast<double>(from.quiet->count()) / 1000;
  }
  if (from.bytes) {
    json.bytes = static_cast<std::int64_t>(*from.bytes);
  }
  return json;
}

}  // namespace

Json dist_json(const DistReport& report) {
  JsonReport json{.job = {},
                  .findings = findings(report),
                  .groups = each_to_json<JsonProgress>(report.groups),
                  .ranks = each_to_json<JsonRank>(report.ranks),
                  .connections = each_to_json<JsonFlow>(report.flows),
                  .missing = {},
                  .without_times = {},
                  .all_sockets = report.all_sockets};
  if (report.job) {
    json.job = report.job->id;
    json.missing = report.job->missing.numbers();
    for (std::size_t i = 0; i < report.ranks.size(); ++i) {
      json.ranks[i].rank = report.ranks[i].rank;
    }
  }
  if (report.why_no_times) {
    json.without_times = JsonError::of(*report.why_no_times);
  }
  return encode(json);
}

}  // namespace hangdbg
