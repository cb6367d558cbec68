// What `net --probe --json` writes, and what nodes tell each other for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/reports/error.h"

namespace hangdbg::reports {

struct ProbedInterface {
  std::string name, state;  // "up", "down", "no carrier"
  std::int64_t mtu = 0;
  std::optional<std::int64_t> speed_mbps;
  std::vector<std::string> addresses;

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("state", state);
    v("mtu", mtu);
    v.nullable("speed_mbps", speed_mbps);
    v("addresses", addresses);
  }
};

// Which interface a library chooses there.
struct ProbedChoice {
  std::string library, interface, address, reason;
  bool ranks = false;  // of a job are there: it has selected

  template <class V>
  void fields(V& v) {
    v("library", library);
    v("interface", interface);
    v("address", address);
    v("reason", reason);
    v("ranks", ranks);
  }
};

struct ProbedName {
  std::string name;
  // Empty: it does not resolve. Null: no answer in time.
  std::optional<std::vector<std::string>> addresses;

  template <class V>
  void fields(V& v) {
    v("name", name);
    v.nullable("addresses", addresses);
  }
};

struct ProbedConnection {
  std::string from, to;  // nodes; or "HOST:PORT"
  std::string address;   // "": its name does not resolve
  std::string result;    // reach_name(), or "not-resolved"
  std::optional<std::string> error;
  std::optional<double> connected_ms;
  std::optional<std::int64_t> segment;  // bytes of a full one

  template <class V>
  void fields(V& v) {
    v("from", from);
    v("to", to);
    v("address", address);
    v("result", result);
    v.nullable("error", error);
    v.nullable("connected_ms", connected_ms);
    v.nullable("segment", segment);
  }
};

struct ProbedNode {
  std::string node, host;
  std::vector<ProbedInterface> interfaces;
  std::vector<ProbedChoice> choices;
  std::vector<ProbedName> names;
  std::optional<ReportedError> error;

  template <class V>
  void fields(V& v) {
    v("node", node);
    v("host", host);
    v("interfaces", interfaces);
    v("choices", choices);
    v("names", names);
    v.nullable("error", error);
  }
};

struct ProbeFinding {
  std::string kind;  // "pair", "service", "name", "interface", "mtu"
  std::vector<std::string> nodes;
  std::string text;

  template <class V>
  void fields(V& v) {
    v("kind", kind);
    v("nodes", nodes);
    v("text", text);
  }
};

struct NetProbe {
  std::vector<ProbedNode> nodes;
  std::vector<ProbedConnection> connections;
  std::vector<ProbeFinding> findings, notes;

  template <class V>
  void fields(V& v) {
    v("nodes", nodes);
    v("connections", connections);
    v("findings", findings);
    v("notes", notes);
  }
};

// ---- between nodes

// The first question's answer: what a node has.
struct OwnNetwork {
  std::string host;
  std::vector<ProbedInterface> interfaces;
  std::vector<ProbedChoice> choices;
  std::vector<std::string> services;  // where its ranks meet: "HOST:PORT"
  std::int64_t port = 0;              // free there

  template <class V>
  void fields(V& v) {
    v("host", host);
    v("interfaces", interfaces);
    v("choices", choices);
    v("services", services);
    v("port", port);
  }
};

// The second question: the peers to connect to.
struct ProbePeer {
  std::string node, host;
  std::vector<std::string> addresses;
  std::int64_t port = 0;

  template <class V>
  void fields(V& v) {
    v("node", node);
    v("host", host);
    v("addresses", addresses);
    v("port", port);
  }
};
struct ProbePlan {
  std::string secret;
  double seconds = 0;
  std::vector<ProbePeer> peers;  // all nodes, the receiver included
  std::vector<std::string> services;

  template <class V>
  void fields(V& v) {
    v("secret", secret);
    v("seconds", seconds);
    v("peers", peers);
    v("services", services);
  }
};

// Its answer.
struct ProbeSeen {
  std::int64_t self = 0;  // which of the peers this is
  std::vector<ProbedName> names;
  std::vector<ProbedConnection> connections;

  template <class V>
  void fields(V& v) {
    v("self", self);
    v("names", names);
    v("connections", connections);
  }
};

}  // namespace hangdbg::reports
