#include "inspector/cpython/code/expressions.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

namespace hangdbg {
namespace {

constexpr std::size_t kMostExpression = 120;  // of an expression

// A value on the stack.
struct StackValue {
  std::string text = {};                    // "" if it is not known
  std::vector<std::string> variables = {};  // that it is computed from
  bool name = false;           // a variable, or an attribute of one
  bool known = false;          // also one whose text is too long
  bool null = false;           // pushed beside a function that is no method
  std::int32_t constant = -1;  // its number
};

class StackEvaluator {
 public:
  explicit StackEvaluator(const CodeObject& code) : code_(code) {}

  Statement run(std::int32_t first, std::int32_t last) {
    made_.first = first;
    for (std::int32_t at = first; at < last; ++at) {
      step(at, at == first);
    }
    const Instruction& end = code_.flow.code[slot(last)];
    if (is_call(end.op)) {
      step(last, false);
      return std::move(made_);
    }
    tell_stores(last);
    const StackValue top = pop();
    made_.known = top.known;
    made_.variables = top.variables;
    return std::move(made_);
  }

 private:
  void push(StackValue value) {
    if (value.text.size() > kMostExpression) {
      value.text.clear();
    }
    stack_.push_back(std::move(value));
  }
  StackValue pop() {
    if (stack_.empty()) {
      return {};
    }
    StackValue top = std::move(stack_.back());
    stack_.pop_back();
    return top;
  }
  void push_name(const std::vector<std::string>& names, std::uint32_t which) {
    if (which < names.size()) {
      push({.text = names[which],
            .variables = {names[which]},
            .name = true,
            .known = true});
    } else {
      push({});
    }
  }
  void push_null() { push({.known = true, .null = true}); }
  void push_cell(std::uint32_t which) {
    push_name(code_.minor <= 10 ? code_.cells : code_.locals, which);
  }
  // Up to 3.12 what is pushed beside a function lies below it.
  void global(std::uint32_t arg) {
    const bool null = code_.minor >= 11 && (arg & 1) != 0;
    if (null && code_.minor <= 12) {
      push_null();
    }
    push_name(code_.names, code_.minor >= 11 ? arg >> 1 : arg);
    if (null && code_.minor >= 13) {
      push_null();
    }
  }
  void push_constant(std::uint32_t which) {
    if (which < code_.constants.size()) {
      push({.text = code_.constants[which],
            .known = true,
            .constant = static_cast<std::int32_t>(which)});
    } else {
      push({});
    }
  }

  // CONSTANT_* in Include/internal/pycore_opcode_utils.h; 3.14 has the first
  // five.
  void push_common_constant(std::uint32_t which) {
    constexpr std::array<const char*, 12> kCommon = {"AssertionError",
                                                     "NotImplementedError",
                                                     "tuple",
                                                     "all",
                                                     "any",
                                                     "list",
                                                     "set",
                                                     "None",
                                                     "''",
                                                     "True",
                                                     "False",
                                                     "-1"};
    push(which < kCommon.size()
             ? StackValue{.text = kCommon[which], .known = true}
             : StackValue{});
  }

  // One value from the topmost ones.
  void combine(std::uint32_t count, std::string text = {}) {
    StackValue made{.known = true};
    for (std::uint32_t i = 0; i < count; ++i) {
      const StackValue one = pop();
      made.known = made.known && one.known;
      made.variables.insert(made.variables.begin(), one.variables.begin(),
                            one.variables.end());
    }
    made.text = std::move(text);
    push(std::move(made));
  }

  void attribute(std::uint32_t which, bool method) {
    StackValue of = pop();
    StackValue made{.known = of.known};
    if (which < code_.names.size() && !of.text.empty()) {
      made.text = of.text + "." + code_.names[which];
      made.name = of.name;
      made.variables =
          of.name ? std::vector<std::string>{made.text} : of.variables;
    } else {
      made.variables = of.variables;
    }
    push(std::move(made));
    if (method) {
      push_null();
    }
  }

  // Of a call: the names of its last arguments.
  std::vector<std::string> keywords(std::int32_t constant) const {
    return constant >= 0 && slot(constant) < code_.keywords.size()
               ? code_.keywords[slot(constant)]
               : std::vector<std::string>();
  }

  // `pair`: it is two values, of which one may be none.
  void call(std::int32_t at,
            std::uint32_t count,
            const std::vector<std::string>& names,
            bool pair) {
    CallText made{.at = at};
    std::vector<StackValue> arguments;
    for (std::uint32_t i = 0; i < count && i < 255; ++i) {
      arguments.insert(arguments.begin(), pop());
    }
    StackValue function = pop();
    if (pair) {
      StackValue other = pop();
      if (function.null) {
        std::swap(function, other);
      }
      if (!other.null) {  // which of them is it?
        function = {};
      }
    }
    made.callee = function.text;
    std::string list;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const StackValue& one = arguments[i];
      const std::size_t named = arguments.size() - i;
      list += list.empty() ? "" : ", ";
      if (named <= names.size()) {
        list += names[names.size() - named] + "=";
      }
      list += one.text.empty() ? "..." : one.text;
      if (one.name) {
        made.arguments.push_back(one.text);
      }
    }
    finish_call(std::move(made), std::move(list), arguments);
  }

  void finish_call(CallText made,
                   std::string list,
                   const std::vector<StackValue>& arguments) {
    StackValue result{.known = true};
    for (const StackValue& one : arguments) {
      result.variables.insert(result.variables.end(), one.variables.begin(),
                              one.variables.end());
    }
    if (!made.callee.empty()) {
      made.text = fmt::format("{}({})", made.callee, list);
      if (made.text.size() > kMostExpression) {
        made.text = made.callee + "(...)";
      }
      result.text = made.text;
    }
    made_.calls.push_back(std::move(made));
    push(std::move(result));
  }

  void call_with_unpacked(std::int32_t at, std::uint32_t flags) {
    if (code_.minor >= 14 || (flags & 1) != 0) {
      pop();
    }
    pop();
    StackValue function = pop();
    if (code_.minor >= 11 && function.null) {
      function = pop();
    } else if (code_.minor >= 11) {
      pop();
    }
    finish_call({.at = at, .callee = function.text}, "...", {});
  }

  void tell_stores(std::int32_t last) {
    const auto& all = code_.flow.code;
    std::int32_t from = last;
    while (from > made_.first && is_store(all[slot(from)].op) &&
           is_store(all[slot(from - 1)].op)) {
      --from;
    }
    for (std::int32_t at = from; at <= last; ++at) {
      const Instruction& one = all[slot(at)];
      const auto add = [&](const std::vector<std::string>& names,
                           std::uint32_t which) {
        if (which < names.size()) {
          made_.stored.push_back(names[which]);
        }
      };
      switch (one.op) {
        case Op::STORE_FAST:
          add(code_.locals, one.arg);
          break;
        case Op::STORE_FAST_STORE_FAST:
          add(code_.locals, one.arg >> 4);
          add(code_.locals, one.arg & 0xf);
          break;
        case Op::STORE_FAST_LOAD_FAST:
          add(code_.locals, one.arg >> 4);
          break;
        case Op::STORE_DEREF:
          add(code_.minor <= 10 ? code_.cells : code_.locals, one.arg);
          break;
        case Op::STORE_NAME:
        case Op::STORE_GLOBAL:
          add(code_.names, one.arg);
          break;
        case Op::STORE_ATTR:
          if (at == last) {
            const StackValue of = pop();
            if (one.arg < code_.names.size() && !of.text.empty()) {
              made_.stored.push_back(of.text + "." + code_.names[one.arg]);
            }
          }
          break;
        case Op::STORE_SUBSCR:
          if (at == last) {
            pop();
            made_.stored.push_back(pop().text);
          }
          break;
        default:
          break;
      }
    }
  }

  void step(std::int32_t at, bool first) {
    const Instruction& one = code_.flow.code[slot(at)];
    const std::uint32_t arg = one.arg;
    switch (one.op) {
      case Op::NOP:
      case Op::NOT_TAKEN:
      case Op::PRECALL:
      case Op::RESUME:
        return;
      case Op::KW_NAMES:
        named_ = static_cast<std::int32_t>(arg);
        return;
      case Op::LOAD_FAST:
      case Op::LOAD_FAST_BORROW:
      case Op::LOAD_FAST_CHECK:
        return push_name(code_.locals, arg);
      case Op::LOAD_FAST_LOAD_FAST:
      case Op::LOAD_FAST_BORROW_LOAD_FAST_BORROW:
        push_name(code_.locals, arg >> 4);
        return push_name(code_.locals, arg & 0xf);
      case Op::LOAD_DEREF:
      case Op::LOAD_CLASSDEREF:
      case Op::LOAD_CLOSURE:
        return push_cell(arg);
      case Op::LOAD_NAME:
      case Op::LOAD_FROM_DICT_OR_GLOBALS:
        return push_name(code_.names, arg);
      case Op::LOAD_GLOBAL:
        return global(arg);
      case Op::LOAD_CONST:
        return push_constant(arg);
      case Op::LOAD_COMMON_CONSTANT:
        return push_common_constant(arg);
      case Op::LOAD_SMALL_INT:
        return push({.text = fmt::format("{}", arg), .known = true});
      case Op::LOAD_ATTR:
        return code_.minor >= 12 ? attribute(arg >> 1, (arg & 1) != 0)
                                 : attribute(arg, false);
      case Op::LOAD_METHOD:
        return attribute(arg, true);
      case Op::LOAD_SUPER_ATTR:
        pop();
        pop();
        pop();
        push({.text = "super()", .name = true, .known = true});
        return attribute(arg >> 2, (arg & 1) != 0);
      case Op::PUSH_NULL:
        return push_null();
      case Op::CALL:
        return call(at, arg, keywords(std::exchange(named_, -1)), true);
      case Op::CALL_KW: {
        const auto names = keywords(pop().constant);
        return call(at, arg, names, true);
      }
      case Op::CALL_FUNCTION:
        return call(at, arg, {}, false);
      case Op::CALL_FUNCTION_KW: {
        const auto names = keywords(pop().constant);
        return call(at, arg, names, false);
      }
      case Op::CALL_METHOD:
        return call(at, arg, {}, true);
      case Op::CALL_FUNCTION_EX:
        return call_with_unpacked(at, arg);
      case Op::COMPARE_OP:
      case Op::CONTAINS_OP:
      case Op::IS_OP:
      case Op::BINARY_OP:
      case Op::Binary:
      case Op::BINARY_SUBSCR:
        return combine(2);
      case Op::BINARY_SLICE:
        return combine(3);
      case Op::TO_BOOL:
        return;
      case Op::UNARY_NOT:
      case Op::UNARY_INVERT:
      case Op::UNARY_NEGATIVE:
      case Op::UNARY_POSITIVE:
      case Op::CONVERT_VALUE:
      case Op::FORMAT_SIMPLE:
        return combine(1);
      case Op::GET_ITER:
        combine(1);
        return code_.minor >= 15 ? push({}) : void();  // its index, or nothing
      case Op::FORMAT_VALUE:
        return combine((arg & 4) != 0 ? 2 : 1);
      case Op::BUILD_TUPLE:
      case Op::BUILD_LIST:
      case Op::BUILD_SET:
      case Op::BUILD_STRING:
      case Op::BUILD_SLICE:
        return combine(std::min<std::uint32_t>(arg, 255));
      case Op::BUILD_MAP:
        return combine(std::min<std::uint32_t>(2 * arg, 255));
      case Op::DUP_TOP:
      case Op::COPY:
        return copy(one.op == Op::DUP_TOP ? 1 : arg);
      case Op::SWAP:
        if (arg >= 1 && arg <= stack_.size()) {
          std::swap(stack_.back(), stack_[stack_.size() - arg]);
          return;
        }
        break;
      case Op::UNPACK_SEQUENCE: {
        const StackValue of = pop();
        for (std::uint32_t i = 0; i < arg && i < 255; ++i) {
          push({.variables = of.variables, .known = of.known});
        }
        return;
      }
      case Op::STORE_FAST:
      case Op::STORE_NAME:
      case Op::STORE_GLOBAL:
      case Op::STORE_DEREF:
        pop();
        return;
      case Op::STORE_FAST_LOAD_FAST:
        if (!first) {
          pop();
        }
        return push_name(code_.locals, arg & 0xf);
      default:
        break;
    }
    stack_.clear();  // it may do anything to it
  }

  void copy(std::uint32_t depth) {
    if (depth >= 1 && depth <= stack_.size()) {
      push(stack_[stack_.size() - depth]);
    } else {
      push({});
    }
  }

  const CodeObject& code_;
  std::vector<StackValue> stack_;
  std::int32_t named_ = -1;  // the constant that KW_NAMES has
  Statement made_;
};

// What leaves nothing of its own on the stack.
bool ends_statement(Op op) {
  switch (op) {
    case Op::POP_TOP:
    case Op::POP_BLOCK:
    case Op::SETUP_LOOP:
    case Op::SETUP_EXCEPT:
    case Op::SETUP_FINALLY:
    case Op::SETUP_WITH:
    case Op::SETUP_ASYNC_WITH:
    case Op::BEGIN_FINALLY:
    case Op::CALL_FINALLY:
    case Op::FOR_ITER:
    case Op::RESUME:
    case Op::STORE_ATTR:
    case Op::STORE_SUBSCR:
      return true;
    default:
      return is_conditional(op) || ends_flow(op);
  }
}

}  // namespace

Statement statement_ending_at(const CodeObject& code, std::int32_t last) {
  const BytecodeFlow& flow = code.flow;
  std::int32_t first = last;
  bool storing = is_store(flow.code[slot(last)].op);
  while (first > 0 && !flow.is_target[slot(first)]) {
    const Op before = flow.code[slot(first - 1)].op;
    if (ends_statement(before) && !(storing && is_store(before))) {
      break;
    }
    if (before == Op::STORE_FAST_LOAD_FAST && !storing) {
      --first;
      break;
    }
    if (is_store(before) && !storing) {
      // (x := f()) keeps what it stores.
      const Op earlier =
          first >= 2 ? flow.code[slot(first - 2)].op : Op::Unknown;
      if (earlier != Op::COPY && earlier != Op::DUP_TOP) {
        break;
      }
    }
    storing = storing && is_store(before);
    --first;
  }
  return StackEvaluator(code).run(first, last);
}

}  // namespace hangdbg
