#include "inspector/cpython/code/instructions.h"

#include <algorithm>

namespace hangdbg {
namespace {

enum class JumpKind { None, Forward, Backward, Absolute };

JumpKind jump_kind(Op op, int minor) {
  const JumpKind absolute =
      minor <= 10 ? JumpKind::Absolute : JumpKind::Forward;
  switch (op) {
    case Op::JUMP_FORWARD:
    case Op::FOR_ITER:
    case Op::SEND:
    case Op::SETUP_LOOP:
    case Op::SETUP_EXCEPT:
    case Op::SETUP_FINALLY:
    case Op::SETUP_WITH:
    case Op::SETUP_ASYNC_WITH:
    case Op::CALL_FINALLY:
    case Op::POP_JUMP_FORWARD_IF_FALSE:
    case Op::POP_JUMP_FORWARD_IF_TRUE:
    case Op::POP_JUMP_FORWARD_IF_NONE:
    case Op::POP_JUMP_FORWARD_IF_NOT_NONE:
      return JumpKind::Forward;
    case Op::JUMP_BACKWARD:
    case Op::JUMP_BACKWARD_NO_INTERRUPT:
    case Op::POP_JUMP_BACKWARD_IF_FALSE:
    case Op::POP_JUMP_BACKWARD_IF_TRUE:
    case Op::POP_JUMP_BACKWARD_IF_NONE:
    case Op::POP_JUMP_BACKWARD_IF_NOT_NONE:
      return JumpKind::Backward;
    case Op::JUMP_ABSOLUTE:
    case Op::CONTINUE_LOOP:
      return JumpKind::Absolute;
    case Op::POP_JUMP_IF_FALSE:
    case Op::POP_JUMP_IF_TRUE:
    case Op::POP_JUMP_IF_NONE:
    case Op::POP_JUMP_IF_NOT_NONE:
    case Op::JUMP_IF_FALSE_OR_POP:
    case Op::JUMP_IF_TRUE_OR_POP:
    case Op::JUMP_IF_NOT_EXC_MATCH:
      return absolute;
    default:
      return JumpKind::None;
  }
}

// In bytes.
std::int64_t target_of(const Instruction& one, int minor) {
  const std::int64_t distance =
      std::int64_t{one.arg} * (minor <= 9 ? 1 : kCodeUnit);
  switch (jump_kind(one.op, minor)) {
    case JumpKind::Forward:
      return one.end + distance;
    case JumpKind::Backward:
      return one.end - distance;
    case JumpKind::Absolute:
      return distance;
    case JumpKind::None:
      break;
  }
  return Instruction::kNone;
}

struct CodedUnit {
  std::uint8_t opcode = 0;
  std::uint8_t arg = 0;
};

// One hides another that may hide another: a line's first instruction is that
// of a line, of an instruction, of a call.
bool reveal_opcode(const OpcodeTable& table,
                   const HiddenOpcodes& hidden,
                   std::size_t unit,
                   CodedUnit& coded) {
  constexpr int kMostDeep = 4;
  for (int depth = 0; depth < kMostDeep; ++depth) {
    switch (table[coded.opcode].op) {
      case Op::INSTRUMENTED_LINE:
        if (unit >= hidden.lines.size()) {
          return false;
        }
        coded.opcode = hidden.lines[unit];
        break;
      case Op::INSTRUMENTED_INSTRUCTION:
        if (unit >= hidden.instructions.size()) {
          return false;
        }
        coded.opcode = hidden.instructions[unit];
        break;
      case Op::ENTER_EXECUTOR:
        if (coded.arg >= hidden.executors.size()) {
          return false;
        }
        coded = {hidden.executors[coded.arg].first,
                 hidden.executors[coded.arg].second};
        break;
      default:
        return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::vector<Instruction>> read_instructions(
    std::span<const std::byte> bytes,
    int minor,
    const HiddenOpcodes& hidden) {
  const OpcodeTable* const table = opcode_table(minor);
  if (table == nullptr || bytes.size() % kCodeUnit != 0) {
    return {};
  }
  std::vector<Instruction> code;
  const auto size = static_cast<std::int32_t>(bytes.size());
  std::uint32_t extended = 0;
  std::int32_t start = 0;
  for (std::int32_t at = 0; at < size;) {
    const auto index = static_cast<std::size_t>(at);
    CodedUnit coded{std::to_integer<std::uint8_t>(bytes[index]),
                    std::to_integer<std::uint8_t>(bytes[index + 1])};
    if (!reveal_opcode(*table, hidden, index / kCodeUnit, coded)) {
      return {};
    }
    const OpcodeMeaning meaning = (*table)[coded.opcode];
    const std::uint32_t arg = extended << 8 | coded.arg;
    at += kCodeUnit + meaning.caches * kCodeUnit;
    if (meaning.op == Op::Unknown || meaning.op == Op::CACHE || at > size) {
      return {};
    }
    if (meaning.op == Op::EXTENDED_ARG) {
      extended = arg;
      continue;
    }
    code.push_back({.op = meaning.op, .arg = arg, .start = start, .end = at});
    extended = 0;
    start = at;
  }
  for (Instruction& one : code) {
    if (jump_kind(one.op, minor) == JumpKind::None) {
      continue;
    }
    const auto to = target_of(one, minor);
    const auto found =
        std::ranges::lower_bound(code, to, {}, &Instruction::start);
    if (found == code.end() || found->start != to) {
      return {};
    }
    one.target = static_cast<std::int32_t>(found - code.begin());
  }
  return code;
}

std::int32_t instruction_at(const std::vector<Instruction>& code,
                            std::int64_t offset) {
  const auto found =
      std::ranges::upper_bound(code, offset, {}, &Instruction::end);
  return found == code.end() || found->start > offset
             ? Instruction::kNone
             : static_cast<std::int32_t>(found - code.begin());
}

bool is_conditional(Op op) {
  switch (op) {
    case Op::POP_JUMP_IF_FALSE:
    case Op::POP_JUMP_IF_TRUE:
    case Op::POP_JUMP_IF_NONE:
    case Op::POP_JUMP_IF_NOT_NONE:
    case Op::POP_JUMP_FORWARD_IF_FALSE:
    case Op::POP_JUMP_FORWARD_IF_TRUE:
    case Op::POP_JUMP_FORWARD_IF_NONE:
    case Op::POP_JUMP_FORWARD_IF_NOT_NONE:
    case Op::POP_JUMP_BACKWARD_IF_FALSE:
    case Op::POP_JUMP_BACKWARD_IF_TRUE:
    case Op::POP_JUMP_BACKWARD_IF_NONE:
    case Op::POP_JUMP_BACKWARD_IF_NOT_NONE:
    case Op::JUMP_IF_FALSE_OR_POP:
    case Op::JUMP_IF_TRUE_OR_POP:
    case Op::JUMP_IF_NOT_EXC_MATCH:
      return true;
    default:
      return false;
  }
}

bool ends_flow(Op op) {
  switch (op) {
    case Op::JUMP_FORWARD:
    case Op::JUMP_BACKWARD:
    case Op::JUMP_BACKWARD_NO_INTERRUPT:
    case Op::JUMP_ABSOLUTE:
    case Op::CONTINUE_LOOP:
    case Op::BREAK_LOOP:
    case Op::RETURN_VALUE:
    case Op::RETURN_CONST:
    case Op::INTERPRETER_EXIT:
    case Op::RAISE_VARARGS:
    case Op::RERAISE:
      return true;
    default:
      return false;
  }
}

bool is_call(Op op) {
  switch (op) {
    case Op::CALL:
    case Op::CALL_KW:
    case Op::CALL_FUNCTION:
    case Op::CALL_FUNCTION_KW:
    case Op::CALL_FUNCTION_EX:
    case Op::CALL_METHOD:
      return true;
    default:
      return false;
  }
}

bool is_store(Op op) {
  switch (op) {
    case Op::STORE_ATTR:
    case Op::STORE_DEREF:
    case Op::STORE_FAST:
    case Op::STORE_FAST_LOAD_FAST:
    case Op::STORE_FAST_STORE_FAST:
    case Op::STORE_GLOBAL:
    case Op::STORE_NAME:
    case Op::STORE_SUBSCR:
      return true;
    default:
      return false;
  }
}

}  // namespace hangdbg
