// A function's bytecode, taken apart into instructions.
//
// The bytes are those that the interpreter runs, so they may be specialized,
// instrumented by a debugger or a profiler, or compiled; each is told as what
// it was made from. Bytes that are no bytecode give nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "inspector/cpython/code/opcodes.h"

namespace hangdbg {

constexpr std::int32_t kCodeUnit = 2;  // bytes of an instruction or a cache

// Where the instruction with that number is in a vector.
constexpr std::size_t slot(std::int32_t number) {
  return static_cast<std::size_t>(number);
}

struct Instruction {
  static constexpr std::int32_t kNone = -1;

  Op op = Op::Unknown;
  std::uint32_t arg = 0;        // with what EXTENDED_ARG adds
  std::int32_t start = 0;       // bytes; of its first EXTENDED_ARG
  std::int32_t end = 0;         // behind its inline caches
  std::int32_t target = kNone;  // of a jump: the number of an instruction
};

// What instructions were before they were instrumented or compiled, by their
// number in units of two bytes; empty where the interpreter keeps no such.
struct HiddenOpcodes {
  std::vector<std::uint8_t> lines;         // INSTRUMENTED_LINE
  std::vector<std::uint8_t> instructions;  // INSTRUMENTED_INSTRUCTION
  std::vector<std::pair<std::uint8_t, std::uint8_t>>
      executors;  // ENTER_EXECUTOR, by its argument: opcode and argument
};

// All of them, in their order. None: that is no bytecode of 3.`minor`.
std::optional<std::vector<Instruction>> read_instructions(
    std::span<const std::byte> bytes,
    int minor,
    const HiddenOpcodes& hidden = {});

// The number of the one to which that offset in bytes belongs, be it one of its
// caches; kNone if there is none.
std::int32_t instruction_at(const std::vector<Instruction>& code,
                            std::int64_t offset);

// A jump that is taken or not: as a condition says.
bool is_conditional(Op op);
// What ends a function, or jumps away: the next instruction is not reached.
bool ends_flow(Op op);
bool is_call(Op op);
bool is_store(Op op);  // to a name, an attribute or an item

}  // namespace hangdbg
