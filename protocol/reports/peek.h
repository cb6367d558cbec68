// What `peek --json` writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/host_name.h"
#include "protocol/reports/error.h"
#include "protocol/reports/place.h"

namespace hangdbg::reports {

struct Peeked {
  std::optional<std::int64_t> pid;
  std::optional<std::int64_t> rank;
  std::string host = host_name();
  std::optional<std::int64_t> thread;
  std::optional<Place> frame;
  std::optional<bool> exact;        // the thread slept
  std::optional<std::string> note;  // of a version that is not known
  std::optional<std::string> type;
  std::optional<std::string> repr;
  std::optional<ReportedError> error;

  template <class V>
  void fields(V& v) {
    v.nullable("pid", pid);
    v.nullable("rank", rank);
    v("host", host);
    v.nullable("thread", thread);
    v.nullable("frame", frame);
    v.nullable("exact", exact);
    v("note", note);
    v.nullable("type", type);
    v.nullable("repr", repr);
    v.nullable("error", error);
  }
};

}  // namespace hangdbg::reports
