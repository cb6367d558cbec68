// What `diff --json` writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hangdbg::reports {

struct DiffSide {
  std::string path;
  std::optional<std::string> made;  // of a report
  std::vector<std::int64_t> pids;

  template <class V>
  void fields(V& v) {
    v("path", path);
    v.nullable("made", made);
    v("pids", pids);
  }
};

struct DiffFact {
  std::string group, name;
  std::optional<std::string> a, b;
  std::vector<int> ranks;

  template <class V>
  void fields(V& v) {
    v("group", group);
    v("name", name);
    v.nullable("a", a);
    v.nullable("b", b);
    v("ranks", ranks);
  }
};

struct DiffStack {
  std::string thread;
  std::optional<DumpedFrame> common;
  std::optional<std::vector<DumpedFrame>> a, b;
  std::vector<int> ranks;

  template <class V>
  void fields(V& v) {
    v("thread", thread);
    v.nullable("common", common);
    v.nullable("a", a);
    v.nullable("b", b);
    v("ranks", ranks);
  }
};

struct Diff {
  bool equal = false;
  DiffSide a, b;
  std::vector<DiffStack> stacks;
  std::vector<DiffFact> differences;
  std::vector<int> only_in_a, only_in_b;  // ranks
  std::vector<std::string> not_compared;

  template <class V>
  void fields(V& v) {
    v("equal", equal);
    v("a", a);
    v("b", b);
    v("stacks", stacks);
    v("differences", differences);
    v("only_in_a", only_in_a);
    v("only_in_b", only_in_b);
    v("not_compared", not_compared);
  }
};

}  // namespace hangdbg::reports
