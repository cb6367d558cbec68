// What `record --diff --json` writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hangdbg::reports {

struct ComparedRecording {
  std::string file;
  std::int64_t weight = 0;
  std::optional<double> lasted_s;

  template <class V>
  void fields(V& v) {
    v("file", file);
    v("weight", weight);
    v("lasted_s", lasted_s);
  }
};

// Shares of the samples, 0 to 1.
struct ChangedFunction {
  std::string function, file;
  double own_before = 0, own_after = 0;
  double total_before = 0, total_after = 0;
  double error = 0;  // standard, of the change of its own share
  bool certain = false;

  template <class V>
  void fields(V& v) {
    v("function", function);
    v("file", file);
    v("own_before", own_before);
    v("own_after", own_after);
    v("total_before", total_before);
    v("total_after", total_after);
    v("error", error);
    v("certain", certain);
  }
};

struct RecordDiff {
  ComparedRecording before, after;
  std::vector<ChangedFunction> functions;

  template <class V>
  void fields(V& v) {
    v("before", before);
    v("after", after);
    v("functions", functions);
  }
};

}  // namespace hangdbg::reports
