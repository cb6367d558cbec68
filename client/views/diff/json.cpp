#include "client/views/diff/json.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "protocol/reports/diff.h"

namespace hangdbg {
namespace {

reports::DiffSide to_json(const Side& side) {
  reports::DiffSide json{.path = to_utf8(side.path)};
  if (!side.is_dump_alone()) {
    json.made = side.report.made;
  }
  for (const reports::DumpedProcess& process : side.processes) {
    json.pids.push_back(process.pid);
  }
  return json;
}

}  // namespace

Json comparison_json(const Side& a, const Side& b, const Comparison& found) {
  reports::Diff json{.equal = found.equal(),
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
