// What `record --over --json` writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/reports/record.h"

namespace hangdbg::reports {

// A line of a file, or a label alone.
struct OverPlace {
  std::string function, file;
  std::int64_t line = 0;

  template <class V>
  void fields(V& v) {
    v("function", function);
    v("file", file);
    v("line", line);
  }
};

struct RankMotion {
  std::int64_t rank = 0;
  std::string motion;  // "did not run", "one place", "moved", "unseen"
  std::int64_t samples = 0;
  std::optional<OverPlace> place;  // of the first two

  template <class V>
  void fields(V& v) {
    v("rank", rank);
    v("motion", motion);
    v("samples", samples);
    v("place", place);
  }
};

struct RankShare {
  std::int64_t rank = 0;
  double share = 0;  // of that rank's samples

  template <class V>
  void fields(V& v) {
    v("rank", rank);
    v("share", share);
  }
};

struct OverNode {
  std::int64_t depth = 0;  // the one that calls it: before it, one less deep
  OverPlace place;
  std::vector<RankShare> ranks;

  template <class V>
  void fields(V& v) {
    v("depth", depth);
    v("place", place);
    v("ranks", ranks);
  }
};

struct RecordOver {
  Record recording;
  std::vector<RankMotion> ranks;
  std::vector<OverNode> tree;

  template <class V>
  void fields(V& v) {
    v("recording", recording);
    v("ranks", ranks);
    v("tree", tree);
  }
};

}  // namespace hangdbg::reports
