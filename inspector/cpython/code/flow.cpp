#include "inspector/cpython/code/flow.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "inspector/cpython/code/exception_table.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostBackEdges = 500;

std::int32_t starting_at(const std::vector<Instruction>& code,
                         std::int64_t offset) {
  const auto found =
      std::ranges::lower_bound(code, offset, {}, &Instruction::start);
  return found == code.end() || found->start != offset
             ? BytecodeFlow::kNone
             : static_cast<std::int32_t>(found - code.begin());
}

// From 3.11 on.
void add_handlers_by_table(BytecodeFlow& flow,
                           std::span<const std::byte> table) {
  for (const HandledRange& range : read_exception_table(table)) {
    const auto first = std::ranges::lower_bound(flow.code, range.begin, {},
                                                &Instruction::start);
    for (auto one = first; one != flow.code.end() && one->start < range.end;
         ++one) {
      flow.handler[static_cast<std::size_t>(one - flow.code.begin())] =
          starting_at(flow.code, range.handler);
    }
  }
}

// Up to 3.10: instructions put blocks onto a stack, and take them off.
class BlockStacks {
 public:
  explicit BlockStacks(BytecodeFlow& flow)
      : flow_(flow), state_(flow.code.size(), kUnseen) {}

  void follow() {
    if (flow_.code.empty()) {
      return;
    }
    reach(0, kEmpty);
    while (!left_.empty()) {
      const std::int32_t at = left_.back();
      left_.pop_back();
      step(at, state_[slot(at)]);
    }
  }

 private:
  static constexpr std::int32_t kUnseen = -2;
  static constexpr std::int32_t kEmpty = -1;
  struct Block {
    std::int32_t below = kEmpty;
    std::int32_t target = BytecodeFlow::kNone;
    bool loop = false;
  };

  void reach(std::int32_t at, std::int32_t state) {
    if (at >= 0 && at < flow_.size() && state_[slot(at)] == kUnseen) {
      state_[slot(at)] = state;
      left_.push_back(at);
    }
  }
  std::int32_t push(std::int32_t below, std::int32_t target, bool loop) {
    blocks_.push_back({below, target, loop});
    return static_cast<std::int32_t>(blocks_.size() - 1);
  }
  // The innermost block of that kind.
  std::int32_t innermost(std::int32_t state, bool loop) const {
    while (state != kEmpty && blocks_[slot(state)].loop != loop) {
      state = blocks_[slot(state)].below;
    }
    return state;
  }

  void step(std::int32_t at, std::int32_t state) {
    const Instruction& one = flow_.code[slot(at)];
    if (const auto block = innermost(state, false); block != kEmpty) {
      flow_.handler[slot(at)] = blocks_[slot(block)].target;
    }
    std::int32_t after = state;
    switch (one.op) {
      case Op::SETUP_LOOP:
        after = push(state, one.target, true);
        break;
      case Op::SETUP_EXCEPT:
      case Op::SETUP_FINALLY:
      case Op::SETUP_WITH:
      case Op::SETUP_ASYNC_WITH:
        after = push(state, one.target, false);
        reach(one.target, state);
        break;
      case Op::POP_BLOCK:
        after = state == kEmpty ? kEmpty : blocks_[slot(state)].below;
        break;
      case Op::BREAK_LOOP:
        if (const auto loop = innermost(state, true); loop != kEmpty) {
          flow_.next[slot(at)] = {blocks_[slot(loop)].target,
                                  BytecodeFlow::kNone};
          after = blocks_[slot(loop)].below;
        }
        break;
      case Op::CONTINUE_LOOP:
        after = innermost(state, true);
        break;
      default:
        break;
    }
    for (const std::int32_t next : flow_.next[slot(at)]) {
      reach(next, after);
    }
  }

  BytecodeFlow& flow_;
  std::vector<std::int32_t> state_;  // the innermost block at each
  std::vector<Block> blocks_;
  std::vector<std::int32_t> left_;
};

bool has_two_ways(Op op) {
  return is_conditional(op) || op == Op::FOR_ITER || op == Op::SEND ||
         op == Op::CALL_FINALLY;
}

using Edges = std::vector<std::vector<std::int32_t>>;

Edges backwards(const BytecodeFlow& flow) {
  Edges before(flow.code.size());
  for (std::int32_t at = 0; at < flow.size(); ++at) {
    for (const std::int32_t to :
         {flow.next[slot(at)][0], flow.next[slot(at)][1],
          flow.handler[slot(at)]}) {
      if (to != BytecodeFlow::kNone) {
        before[slot(to)].push_back(at);
      }
    }
  }
  return before;
}

// All that reach one of `from` without passing `stop`.
std::vector<bool> coming_to(const Edges& before,
                            std::vector<std::int32_t> from,
                            std::int32_t stop) {
  std::vector<bool> seen(before.size());
  if (stop != BytecodeFlow::kNone) {
    seen[slot(stop)] = true;
  }
  while (!from.empty()) {
    const std::int32_t at = from.back();
    from.pop_back();
    if (seen[slot(at)]) {
      continue;
    }
    seen[slot(at)] = true;
    from.insert(from.end(), before[slot(at)].begin(), before[slot(at)].end());
  }
  return seen;
}

std::vector<bool> reached_from(const BytecodeFlow& flow,
                               std::int32_t start,
                               std::int32_t stop) {
  std::vector<bool> seen(flow.code.size());
  std::vector<std::int32_t> left{start};
  while (!left.empty()) {
    const std::int32_t at = left.back();
    left.pop_back();
    if (at == BytecodeFlow::kNone || at == stop || seen[slot(at)]) {
      continue;
    }
    seen[slot(at)] = true;
    left.insert(left.end(), {flow.next[slot(at)][0], flow.next[slot(at)][1],
                             flow.handler[slot(at)]});
  }
  return seen;
}

// By header: from where it is jumped to, of what may be a loop around `at`.
std::map<std::int32_t, std::vector<std::int32_t>> back_edges(
    const BytecodeFlow& flow,
    const std::vector<bool>& reached,
    const std::vector<bool>& returns) {
  std::map<std::int32_t, std::vector<std::int32_t>> edges;
  std::size_t count = 0;
  for (std::int32_t from = 0; from < flow.size(); ++from) {
    for (const std::int32_t to : flow.next[slot(from)]) {
      if (to == BytecodeFlow::kNone || to > from || !reached[slot(from)] ||
          !returns[slot(from)] || !reached[slot(to)] ||
          flow.code[slot(to)].op == Op::SEND) {
        continue;
      }
      if (++count > kMostBackEdges) {
        return {};
      }
      edges[to].push_back(from);
    }
  }
  return edges;
}

}  // namespace

BytecodeFlow make_flow(std::vector<Instruction> code,
                       std::span<const std::byte> exceptions) {
  BytecodeFlow flow;
  flow.code = std::move(code);
  const std::size_t size = flow.code.size();
  flow.next.assign(size, {BytecodeFlow::kNone, BytecodeFlow::kNone});
  flow.handler.assign(size, BytecodeFlow::kNone);
  flow.is_target.assign(size, false);
  for (std::size_t at = 0; at < size; ++at) {
    const Instruction& one = flow.code[at];
    auto& next = flow.next[at];
    if (!ends_flow(one.op) && at + 1 < size) {
      next[0] = static_cast<std::int32_t>(at + 1);
    }
    if (has_two_ways(one.op)) {
      next[1] = one.target;
    } else if (ends_flow(one.op)) {
      next[0] = one.target;
    }
  }
  if (exceptions.empty()) {
    BlockStacks(flow).follow();
  } else {
    add_handlers_by_table(flow, exceptions);
  }
  for (std::size_t at = 0; at < size; ++at) {
    const Op op = flow.code[at].op;
    if (op == Op::RETURN_VALUE || op == Op::RETURN_CONST) {
      flow.handler[at] = BytecodeFlow::kNone;  // it raises nothing
    }
  }
  for (std::size_t at = 0; at < size; ++at) {
    const auto mark = [&](std::int32_t to) {
      if (to != BytecodeFlow::kNone &&
          to != static_cast<std::int32_t>(at + 1)) {
        flow.is_target[slot(to)] = true;
      }
    };
    mark(flow.next[at][0]);
    mark(flow.next[at][1]);
    if (const auto to = flow.handler[at]; to != BytecodeFlow::kNone) {
      flow.is_target[slot(to)] = true;
    }
  }
  return flow;
}

std::vector<BytecodeLoop> loops_around(const BytecodeFlow& flow,
                                       std::int32_t at) {
  std::vector<BytecodeLoop> loops;
  if (at < 0 || at >= flow.size()) {
    return loops;
  }
  const Edges before = backwards(flow);
  const auto reached = reached_from(flow, at, BytecodeFlow::kNone);
  const auto returns = coming_to(before, {at}, BytecodeFlow::kNone);
  for (const auto& [header, sources] : back_edges(flow, reached, returns)) {
    // Where every way there passes the header, a jump back is a loop's.
    const auto beside = reached_from(flow, 0, header);
    std::vector<std::int32_t> own;
    std::ranges::copy_if(sources, std::back_inserter(own), [&](auto source) {
      return source == header || !beside[slot(source)];
    });
    if (own.empty()) {
      continue;
    }
    BytecodeLoop loop{.header = header, .has = coming_to(before, own, header)};
    loop.size = static_cast<std::size_t>(std::ranges::count(loop.has, true));
    if (loop.has[slot(at)]) {
      loops.push_back(std::move(loop));
    }
  }
  std::ranges::sort(loops, {}, &BytecodeLoop::size);
  return loops;
}

}  // namespace hangdbg
