// What a command writes with --json and --via: each node's answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/json.h"
#include "protocol/reports/error.h"

namespace hangdbg::reports {

struct NodeReport {
  std::string node;  // as --via names it
  std::string host;  // as it calls itself; "" if it has not answered
  std::optional<std::int64_t> exit_code;
  std::optional<Json> answer;  // what the command writes on one machine
  std::optional<ReportedError> error;

  template <class V>
  void fields(V& v) {
    v("node", node);
    v("host", host);
    v.nullable("exit_code", exit_code);
    v.nullable("answer", answer);
    v.nullable("error", error);
  }
};

struct NodeReports {
  std::vector<NodeReport> nodes;

  template <class V>
  void fields(V& v) {
    v("nodes", nodes);
  }
};

}  // namespace hangdbg::reports
