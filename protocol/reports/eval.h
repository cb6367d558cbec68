// What `eval --json` writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/host_name.h"
#include "protocol/reports/place.h"

namespace hangdbg::reports {

struct Exception {
  std::string type;  // the exception's, or an ErrorId's name
  std::string message;
  std::optional<std::string> hint;
  std::vector<std::string> traceback;

  template <class V>
  void fields(V& v) {
    v("type", type);
    v("message", message);
    v("hint", hint);
    v("traceback", traceback);
  }
};

struct Timings {
  std::vector<std::pair<std::string, double>> steps;

  template <class V>
  void fields(V& v) {
    for (auto& [name, microseconds] : steps) {
      v(name, microseconds);
    }
  }
};

struct Evaluation {
  std::optional<std::int64_t> pid;
  std::optional<std::int64_t> rank;
  std::string host = host_name();
  std::optional<std::int64_t> thread;
  std::optional<Place> frame;
  std::string way = "observe";
  std::optional<std::string> type;
  std::optional<std::string> repr;
  std::string output;
  std::optional<Exception> error;
  std::optional<Timings> timings;

  template <class V>
  void fields(V& v) {
    v.nullable("pid", pid);
    v.nullable("rank", rank);
    v("host", host);
    v.nullable("thread", thread);
    v.nullable("frame", frame);
    v("way", way);
    v.nullable("type", type);
    v.nullable("repr", repr);
    v("stdout", output);
    v.nullable("error", error);
    v("timings_us", timings);
  }
};

}  // namespace hangdbg::reports
