// The successors of each instruction of a function: the next one, the target of
// a jump, the handler of what it raises.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "inspector/cpython/code/instructions.h"

namespace hangdbg {

// By the number of an instruction.
struct BytecodeFlow {
  static constexpr std::int32_t kNone = Instruction::kNone;

  std::vector<Instruction> code;
  std::vector<std::array<std::int32_t, 2>> next;  // without what is raised
  std::vector<std::int32_t> handler;              // of what it raises
  // It is not only reached from the one before it.
  std::vector<bool> is_target;

  std::int32_t size() const { return static_cast<std::int32_t>(code.size()); }
};

// `exceptions`: co_exceptiontable; nothing up to 3.10, where blocks are set up
// by instructions.
BytecodeFlow make_flow(std::vector<Instruction> code,
                       std::span<const std::byte> exceptions);

// A loop: all from which its first instruction is reached again.
struct BytecodeLoop {
  std::int32_t header = 0;
  std::vector<bool> has;  // by the number of an instruction
  std::size_t size = 0;   // instructions
};

// The loops around that instruction, the innermost first. The loop in which an
// `await` hands values on is none.
std::vector<BytecodeLoop> loops_around(const BytecodeFlow& flow,
                                       std::int32_t at);

}  // namespace hangdbg
