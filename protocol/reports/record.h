// What `record --json` writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hangdbg::reports {

struct RecordedFunction {
  std::string function, file;
  std::int64_t line = 0;  // its first
  std::int64_t own = 0, total = 0;

  template <class V>
  void fields(V& v) {
    v("function", function);
    v("file", file);
    v("line", line);
    v("own", own);
    v("total", total);
  }
};

struct RecordedWait {
  std::string reason;
  std::int64_t samples = 0;

  template <class V>
  void fields(V& v) {
    v("reason", reason);
    v("samples", samples);
  }
};

struct Record {
  double lasted_s = 0;
  double rate = 0, lowest_rate = 0;  // Hz
  std::int64_t put_off = 0;  // samples, as those before had cost too much
  std::int64_t due = 0, kept = 0, late = 0, missed = 0, torn = 0;
  double cpu_share = 0;      // that hangdbg has used
  double stopped_share = 0;  // of the time, for which threads were stopped
  std::int64_t weight = 0;   // of all functions' own samples
  std::optional<std::string> file;
  std::vector<RecordedFunction> functions;
  std::optional<std::vector<RecordedWait>> waits;

  template <class V>
  void fields(V& v) {
    v("lasted_s", lasted_s);
    v("rate", rate);
    v("lowest_rate", lowest_rate);
    v("put_off", put_off);
    v("due", due);
    v("kept", kept);
    v("late", late);
    v("missed", missed);
    v("torn", torn);
    v("cpu_share", cpu_share);
    v("stopped_share", stopped_share);
    v("weight", weight);
    v("file", file);
    v("functions", functions);
    v("waits", waits);
  }
};

}  // namespace hangdbg::reports
