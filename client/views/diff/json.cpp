#include "client/views/diff/json.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"

namespace hangdbg {
namespace {

struct JsonSide {
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

struct JsonFact {
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

struct JsonStack {
  std::string thread;
  std::optional<FileFrame> common;
  std::optional<std::vector<FileFrame>> a, b;
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

struct JsonComparison {
  bool equal = false;
  JsonSide a, b;
  std::vector<JsonStack> stacks;
  std::vector<JsonFact> differences;
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

JsonSide to_json(const Side& side) {
  JsonSide json{.path = to_utf8(side.path)};
  if (!side.is_dump_alone()) {
    json.made = side.report.made;
  }
  for (const FileProcess& process : side.processes) {
    json.pids.push_back(process.pid);
  }
  return json;
}

}  // namespace

Json comparison_json(const Side& a, const Side& b, const Comparison& found) {
  JsonComparison json{.equal = found.equal(),
                      .a = to_json(a),
                      .b = to_json(b),
                      .only_in_a = found.only_in_a.numbers(),
                      .only_in_b = found.only_in_b.numbers(),
                      .not_compared = found.not_compared};
  for (const RankedStackDifference& one : found.stacks) {
    json.stacks.push_back({one.stack.thread, one.stack.common, one.stack.a,
                           one.stack.b, one.ranks.numbers()});
  }
  for (const FactDifference& one : found.facts) {
    json.differences.push_back(
        {one.group, one.name, one.a, one.b, one.ranks.numbers()});
  }
  return encode(json);
}

}  // namespace hangdbg
