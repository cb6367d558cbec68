#include "inspector/cpython/code/loop_conditions.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

namespace hangdbg {
namespace {

constexpr std::size_t kMostLoops = 6;
constexpr std::size_t kMostInstructions = 6000;  // of a loop that is read
constexpr int kMostVariables = 4;                // from variable to variable

std::string_view last_name(const CallText& call) {
  const std::string_view callee = call.callee;
  return callee.substr(callee.rfind('.') + 1);
}

template <std::size_t N>
bool is_one_of(const CallText& call,
               const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, last_name(call)) != names.end();
}

bool asks_clock(const CallText& call) {
  constexpr std::array<std::string_view, 11> kClocks = {
      "time",         "time_ns",       "monotonic",    "monotonic_ns",
      "now",          "utcnow",        "perf_counter", "perf_counter_ns",
      "process_time", "total_seconds", "timedelta"};
  return is_one_of(call, kClocks);
}

// It brings nothing new: computes from its arguments, or tells of them.
bool is_neutral(const CallText& call) {
  constexpr std::array<std::string_view, 35> kNames = {
      "abs",     "all",       "any",   "bool",      "callable",    "debug",
      "dict",    "enumerate", "error", "exception", "expovariate", "float",
      "getattr", "hasattr",   "info",  "int",       "isinstance",  "iter",
      "len",     "list",      "log",   "max",       "min",         "print",
      "randint", "random",    "range", "repr",      "round",       "set",
      "str",     "sum",       "tuple", "uniform",   "warning"};
  return asks_clock(call) || is_one_of(call, kNames);
}

// How `with` ends, and how it begins in 3.14: by what is on the stack.
bool is_of_with(const CodeObject& code, std::int32_t at) {
  const auto& all = code.flow.code;
  std::int32_t last = at - 1;
  if (last >= 0 && all[slot(last)].op == Op::PRECALL) {
    --last;
  }
  // None, which from 3.15 on is loaded so.
  const auto loads = [&](std::int32_t one) {
    const Op op = one >= 0 ? all[slot(one)].op : Op::Unknown;
    return op == Op::LOAD_CONST || op == Op::LOAD_COMMON_CONSTANT;
  };
  const auto ends = [&](std::initializer_list<Op> ops) {
    auto one = last;
    return std::ranges::all_of(
        ops, [&](Op op) { return one >= 0 && all[slot(one--)].op == op; });
  };
  if (ends({Op::LOAD_SPECIAL}) || ends({Op::DUP_TOP, Op::DUP_TOP})) {
    return true;
  }
  if (!loads(last) || !loads(last - 1) || !loads(last - 2)) {
    return false;
  }
  const Statement statement = statement_ending_at(code, at);
  return !statement.calls.empty() && statement.calls.back().callee.empty();
}

class LoopReader {
 public:
  LoopReader(const CodeObject& code, const BytecodeLoop& loop, std::int32_t at)
      : code_(code), flow_(code.flow), loop_(loop), at_(at) {}

  LoopAround read() {
    find_lines();
    find_conditions();
    find_work();
    settle_unknown();
    find_set_anew();
    return std::move(made_);
  }

 private:
  struct Ways {
    std::set<std::pair<std::int32_t, std::int32_t>> out;
    std::vector<bool> seen;
    bool round = false;  // to where the loop begins again
  };

  bool inside(std::int32_t at) const { return loop_.has[slot(at)]; }

  // Not one on which an exception goes on.
  bool is_real(std::int32_t start) {
    std::vector<bool> seen(flow_.code.size());
    std::vector<std::int32_t> left{start};
    bool raises = false;
    while (!left.empty()) {
      const std::int32_t at = left.back();
      left.pop_back();
      if (at == BytecodeFlow::kNone || seen[slot(at)]) {
        continue;
      }
      seen[slot(at)] = true;
      const Instruction& one = flow_.code[slot(at)];
      if (one.op == Op::RETURN_VALUE || one.op == Op::RETURN_CONST ||
          (one.op == Op::RAISE_VARARGS && one.arg > 0)) {
        return true;
      }
      raises = raises || one.op == Op::RERAISE || one.op == Op::RAISE_VARARGS;
      left.insert(left.end(),
                  {flow_.next[slot(at)][0], flow_.next[slot(at)][1]});
    }
    return !raises;
  }

  // Where it goes on to from there, without what is raised, until the loop
  // begins again. A `for` inside is gone through once.
  Ways ways(std::int32_t from, std::int32_t first) {
    Ways found{.out = {}, .seen = std::vector<bool>(flow_.code.size())};
    std::vector<std::pair<std::int32_t, std::int32_t>> left{{from, first}};
    while (!left.empty()) {
      auto [before, to] = left.back();
      left.pop_back();
      if (to == BytecodeFlow::kNone) {
        continue;
      }
      if (!inside(to)) {
        if (is_real(to)) {
          found.out.insert({before, to});
        }
        continue;
      }
      if (to == loop_.header) {
        found.round = true;
        continue;
      }
      if (to <= before && flow_.code[slot(to)].op == Op::FOR_ITER) {
        left.emplace_back(to, flow_.code[slot(to)].target);
        continue;
      }
      if (found.seen[slot(to)]) {
        continue;
      }
      found.seen[slot(to)] = true;
      left.emplace_back(to, flow_.next[slot(to)][0]);
      left.emplace_back(to, flow_.next[slot(to)][1]);
    }
    return found;
  }

  // A jump that asks what kind of exception it is.
  bool matches_exception(std::int32_t at) const {
    const Instruction& one = flow_.code[slot(at)];
    const Instruction before =
        at > 0 ? flow_.code[slot(at - 1)] : Instruction();
    constexpr std::uint32_t kExceptionMatch = 10;  // up to 3.8
    return one.op == Op::JUMP_IF_NOT_EXC_MATCH ||
           before.op == Op::CHECK_EXC_MATCH ||
           before.op == Op::CHECK_EG_MATCH ||
           (before.op == Op::COMPARE_OP && code_.minor <= 8 &&
            before.arg == kExceptionMatch);
  }

  bool decides(std::int32_t at) const {
    return inside(at) && is_conditional(flow_.code[slot(at)].op) &&
           !matches_exception(at);
  }

  // What it raises leads into the next round.
  bool is_tried_again(std::int32_t at) const {
    return inside(at) && is_call(flow_.code[slot(at)].op) &&
           flow_.handler[slot(at)] != BytecodeFlow::kNone &&
           inside(flow_.handler[slot(at)]);
  }

  void find_lines() {
    for (std::int32_t at = 0; at < flow_.size(); ++at) {
      const int line = inside(at) ? code_.line(at) : 0;
      if (line > 0) {
        made_.first_line =
            made_.first_line == 0 ? line : std::min(made_.first_line, line);
        made_.last_line = std::max(made_.last_line, line);
      }
    }
  }

  void find_conditions() {
    for (std::int32_t at = 0; at < flow_.size(); ++at) {
      if (!decides(at)) {
        continue;
      }
      const auto& next = flow_.next[slot(at)];
      if (ways(at, next[0]).out != ways(at, next[1]).out) {
        made_.has_way_out = true;
        add_condition(statement_ending_at(code_, at), 0);
      }
    }
    if (!made_.conditions.empty() || !made_.variables.empty()) {
      return;
    }
    for (std::int32_t at = 0; at < flow_.size(); ++at) {
      if (!is_tried_again(at)) {
        continue;
      }
      const Ways after = ways(at, flow_.next[slot(at)][0]);
      if (!after.round && !after.out.empty()) {
        made_.has_way_out = true;
        if (at == at_) {
          made_.asks_itself = true;
        } else {
          add_calls(statement_ending_at(code_, at));
        }
      }
    }
  }

  bool add_call(const CallText& call) {
    used_.insert(call.at);
    if (call.at == at_) {
      made_.asks_itself = true;
      return true;
    }
    if (is_neutral(call) || is_of_with(code_, call.at)) {
      return false;
    }
    const bool known =
        std::ranges::find(made_.conditions, call.text, &CallText::text) !=
        made_.conditions.end();
    if (!known || call.text.empty()) {
      made_.conditions.push_back(call);
    }
    return true;
  }

  bool add_calls(const Statement& statement) {
    bool any = false;
    for (const CallText& call : statement.calls) {
      any = add_call(call) || any;
    }
    return any;
  }

  // Whether anything but the loop itself decides it.
  bool add_condition(const Statement& statement, int depth) {
    if (std::ranges::any_of(statement.calls, asks_clock)) {
      made_.asks_clock = true;
      for (const CallText& call : statement.calls) {
        used_.insert(call.at);
      }
      return false;
    }
    if (add_calls(statement)) {
      return true;
    }
    bool any = false;
    bool counts = false;
    std::vector<std::string> outside;
    for (const std::string& variable : statement.variables) {
      const auto stores = stores_of(variable);
      if (stores.empty()) {
        outside.push_back(variable);
        continue;
      }
      bool found = false;
      for (const std::int32_t store : stores) {
        found = (depth < kMostVariables && add_store(store, depth)) || found;
      }
      any = any || found;
      counts = counts || !found;
    }
    if (!any && !counts) {
      if (!statement.known && outside.empty()) {
        unknown_ = true;
      }
      for (std::string& variable : outside) {
        if (std::ranges::find(made_.variables, variable) ==
            made_.variables.end()) {
          made_.variables.push_back(std::move(variable));
        }
        any = true;
      }
    }
    return any;
  }

  bool add_store(std::int32_t store, int depth) {
    if (!met_.insert(store).second) {
      return false;
    }
    const Statement statement = statement_ending_at(code_, store);
    if (std::ranges::any_of(statement.calls, asks_clock)) {
      return false;
    }
    if (add_calls(statement)) {
      return true;
    }
    // A constant, where a condition has let it come here.
    bool any = false;
    for (std::int32_t at = 0; at < flow_.size(); ++at) {
      const auto& next = flow_.next[slot(at)];
      if (decides(at) && ways(at, next[0]).seen[slot(store)] !=
                             ways(at, next[1]).seen[slot(store)]) {
        any = add_condition(statement_ending_at(code_, at), depth + 1) || any;
      } else if (is_tried_again(at) && at != at_ &&
                 ways(at, next[0]).seen[slot(store)] &&
                 !ways(at, flow_.handler[slot(at)]).seen[slot(store)]) {
        any = add_calls(statement_ending_at(code_, at)) || any;
      }
    }
    return any;
  }

  // Where in the loop it, or what it is an attribute of, is set.
  std::vector<std::int32_t> stores_of(const std::string& variable) {
    if (!stores_known_) {
      stores_known_ = true;
      for (std::int32_t at = 0; at < flow_.size(); ++at) {
        if (inside(at) && is_store(flow_.code[slot(at)].op)) {
          for (std::string& name : statement_ending_at(code_, at).stored) {
            stores_.emplace_back(std::move(name), at);
          }
        }
      }
    }
    std::vector<std::int32_t> found;
    for (const auto& [name, at] : stores_) {
      if (!name.empty() &&
          (variable == name || variable.starts_with(name + "."))) {
        found.push_back(at);
      }
    }
    return found;
  }

  // In each round, unless something is raised.
  void find_work() {
    const Ways all =
        ways(BytecodeFlow::kNone, flow_.next[slot(loop_.header)][0]);
    const Ways other =
        ways(BytecodeFlow::kNone, flow_.next[slot(loop_.header)][1]);
    for (const CallText& call : statement_ending_at(code_, at_).calls) {
      used_.insert(call.at);
    }
    for (std::int32_t at = 0; at < flow_.size(); ++at) {
      const bool normal =
          at == loop_.header || all.seen[slot(at)] || other.seen[slot(at)];
      if (!inside(at) || !normal || at == at_ || used_.contains(at) ||
          !is_call(flow_.code[slot(at)].op) || is_of_with(code_, at)) {
        continue;
      }
      const Statement statement = statement_ending_at(code_, at);
      if (!statement.calls.empty() && !is_neutral(statement.calls.back())) {
        made_.work.push_back(statement.calls.back());
      }
    }
  }

  void find_set_anew() {
    // func(*args): what it is given is not told.
    made_.sets_arguments = flow_.code[slot(at_)].op == Op::CALL_FUNCTION_EX;
    for (const CallText& call : statement_ending_at(code_, at_).calls) {
      if (call.at == at_) {
        made_.sets_callee =
            !call.callee.empty() && !stores_of(call.callee).empty();
        made_.sets_arguments |= std::ranges::any_of(
            call.arguments,
            [this](const auto& name) { return !stores_of(name).empty(); });
      }
    }
  }

  // A condition of which nothing is known: what a call has returned decides it,
  // if that is kept.
  void settle_unknown() {
    if (!unknown_ || !made_.conditions.empty() || !made_.variables.empty()) {
      return;
    }
    const auto kept =
        std::ranges::stable_partition(made_.work, [this](const CallText& call) {
          const auto after = slot(call.at) + 1;
          return after < flow_.code.size() &&
                 flow_.code[after].op == Op::POP_TOP;
        });
    std::ranges::move(kept, std::back_inserter(made_.conditions));
    made_.work.erase(kept.begin(), kept.end());
  }

  const CodeObject& code_;
  const BytecodeFlow& flow_;
  const BytecodeLoop& loop_;
  const std::int32_t at_;
  LoopAround made_;
  bool unknown_ = false;
  std::set<std::int32_t> used_;  // calls that are accounted for
  std::set<std::int32_t> met_;   // stores
  bool stores_known_ = false;
  std::vector<std::pair<std::string, std::int32_t>> stores_;
};

// The call whose result a suspended coroutine awaits there. Between the two is
// what makes an awaitable of that, and passes its values on.
std::int32_t awaited_call(const CodeObject& code, std::int32_t at) {
  constexpr std::array kOfAwait = {
      Op::SEND,       Op::YIELD_VALUE,          Op::YIELD_FROM, Op::RESUME,
      Op::LOAD_CONST, Op::LOAD_COMMON_CONSTANT, Op::PUSH_NULL,  Op::NOP,
      Op::Other,  // GET_AWAITABLE
  };
  constexpr int kMostOfAwait = 8;
  for (int i = 0; i < kMostOfAwait && at > 0; ++i) {
    const Op op = code.flow.code[slot(at)].op;
    if (is_call(op)) {
      return at;
    }
    if (std::ranges::find(kOfAwait, op) == kOfAwait.end()) {
      break;
    }
    --at;
  }
  return BytecodeFlow::kNone;
}

}  // namespace

FrameLoops frame_loops(const CodeObject& code, std::int64_t offset) {
  FrameLoops made;
  std::int32_t at = instruction_at(code.flow.code, offset);
  if (at == BytecodeFlow::kNone) {
    return made;
  }
  if (const auto call = awaited_call(code, at); call != BytecodeFlow::kNone) {
    at = call;
  }
  // Once 3.11 has specialized a call, its PRECALL does the work of its CALL.
  if (code.flow.code[slot(at)].op == Op::PRECALL && at + 1 < code.flow.size()) {
    ++at;
  }
  for (CallText& call : statement_ending_at(code, at).calls) {
    if (call.at == at) {
      made.call = std::move(call);
    }
  }
  for (const BytecodeLoop& loop : loops_around(code.flow, at)) {
    if (made.loops.size() < kMostLoops && loop.size <= kMostInstructions) {
      made.loops.push_back(LoopReader(code, loop, at).read());
    }
  }
  for (std::int32_t one = 0; one < code.flow.size(); ++one) {
    if (one == at || !is_call(code.flow.code[slot(one)].op) ||
        is_of_with(code, one)) {
      continue;
    }
    const Statement statement = statement_ending_at(code, one);
    if (!statement.calls.empty() && !is_neutral(statement.calls.back())) {
      made.other_calls.push_back(statement.calls.back());
    }
  }
  return made;
}

Result<FrameLoops> read_frame_loops(const ObjectReader& objects,
                                    Address code,
                                    std::int64_t offset) {
  const CodeObject read = TRY(read_code_object(objects, code));
  return frame_loops(read, offset);
}

}  // namespace hangdbg
