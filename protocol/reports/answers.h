// What `eval --job` and `peek --job` write with --json, of all ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/json.h"
#include "protocol/reports/error.h"

namespace hangdbg::reports {

// What of the JSON of one of them is looked at.
struct RankAnswer {
  std::optional<std::string> repr;
  std::optional<std::string> output;
  std::optional<ReportedError> error;

  template <class V>
  void fields(V& v) {
    v("repr", repr);
    v("stdout", output);
    v("error", error);
  }
};

// Of one that has given none.
struct RankFailure {
  std::int64_t pid = 0;
  std::int64_t rank = 0;
  std::string host;
  ReportedError error;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("rank", rank);
    v("host", host);
    v("error", error);
  }
};

struct RankAnswers {
  std::string job;
  std::vector<Json> answers;
  std::vector<int> missing;

  template <class V>
  void fields(V& v) {
    v("job", job);
    v("answers", answers);
    v("missing", missing);
  }
};

}  // namespace hangdbg::reports
