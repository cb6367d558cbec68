// What an opcode's number means in each version of CPython: its name before the
// interpreter specializes or instruments it, and its inline caches.
//
// The rows are made by scripts/generate-opcodes from real interpreters
// (opcodes.inc); only the names used here are listed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hangdbg {

// clang-format off
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define HANGDBG_OPCODES(X) \
  X(BEGIN_FINALLY) X(BINARY_OP) X(BINARY_SLICE) X(BINARY_SUBSCR) \
  X(BREAK_LOOP) X(BUILD_LIST) X(BUILD_MAP) X(BUILD_SET) X(BUILD_SLICE) \
  X(BUILD_STRING) X(BUILD_TUPLE) X(CACHE) X(CALL) X(CALL_FINALLY) \
  X(CALL_FUNCTION) X(CALL_FUNCTION_EX) X(CALL_FUNCTION_KW) X(CALL_KW) \
  X(CALL_METHOD) X(CHECK_EG_MATCH) X(CHECK_EXC_MATCH) X(COMPARE_OP) \
  X(CONTAINS_OP) X(CONTINUE_LOOP) X(CONVERT_VALUE) X(COPY) X(DUP_TOP) \
  X(ENTER_EXECUTOR) X(EXTENDED_ARG) X(FORMAT_SIMPLE) X(FORMAT_VALUE) \
  X(FOR_ITER) X(GET_ITER) X(INSTRUMENTED_INSTRUCTION) X(INSTRUMENTED_LINE) \
  X(INTERPRETER_EXIT) X(IS_OP) X(JUMP_ABSOLUTE) X(JUMP_BACKWARD) \
  X(JUMP_BACKWARD_NO_INTERRUPT) X(JUMP_FORWARD) X(JUMP_IF_FALSE_OR_POP) \
  X(JUMP_IF_NOT_EXC_MATCH) X(JUMP_IF_TRUE_OR_POP) X(KW_NAMES) X(LOAD_ATTR) \
  X(LOAD_CLASSDEREF) X(LOAD_CLOSURE) X(LOAD_COMMON_CONSTANT) \
  X(LOAD_CONST) X(LOAD_DEREF) \
  X(LOAD_FAST) X(LOAD_FAST_BORROW) X(LOAD_FAST_BORROW_LOAD_FAST_BORROW) \
  X(LOAD_FAST_CHECK) X(LOAD_FAST_LOAD_FAST) X(LOAD_FROM_DICT_OR_GLOBALS) \
  X(LOAD_GLOBAL) X(LOAD_METHOD) X(LOAD_NAME) X(LOAD_SMALL_INT) \
  X(LOAD_SPECIAL) X(LOAD_SUPER_ATTR) X(MAKE_FUNCTION) X(NOP) X(NOT_TAKEN) \
  X(POP_BLOCK) X(POP_JUMP_BACKWARD_IF_FALSE) X(POP_JUMP_BACKWARD_IF_NONE) \
  X(POP_JUMP_BACKWARD_IF_NOT_NONE) X(POP_JUMP_BACKWARD_IF_TRUE) \
  X(POP_JUMP_FORWARD_IF_FALSE) X(POP_JUMP_FORWARD_IF_NONE) \
  X(POP_JUMP_FORWARD_IF_NOT_NONE) X(POP_JUMP_FORWARD_IF_TRUE) \
  X(POP_JUMP_IF_FALSE) X(POP_JUMP_IF_NONE) X(POP_JUMP_IF_NOT_NONE) \
  X(POP_JUMP_IF_TRUE) X(POP_TOP) X(PRECALL) X(PUSH_EXC_INFO) X(PUSH_NULL) X(RAISE_VARARGS) \
  X(RERAISE) X(RESUME) X(RETURN_CONST) X(RETURN_VALUE) X(SEND) \
  X(SETUP_ASYNC_WITH) X(SETUP_EXCEPT) X(SETUP_FINALLY) X(SETUP_LOOP) \
  X(SETUP_WITH) X(STORE_ATTR) X(STORE_DEREF) X(STORE_FAST) \
  X(STORE_FAST_LOAD_FAST) X(STORE_FAST_STORE_FAST) X(STORE_GLOBAL) \
  X(STORE_NAME) X(STORE_SUBSCR) X(SWAP) X(TO_BOOL) X(UNARY_INVERT) \
  X(UNARY_NEGATIVE) X(UNARY_NOT) X(UNARY_POSITIVE) X(UNPACK_EX) \
  X(UNPACK_SEQUENCE) X(YIELD_FROM) X(YIELD_VALUE)
// clang-format on

enum class Op : std::uint8_t {
  Unknown,  // no opcode has that number
  Other,    // not used here
  Binary,   // BINARY_ADD, INPLACE_ADD and so on, which were one each up to 3.10
#define HANGDBG_ENUMERATOR(name) name,
  HANGDBG_OPCODES(HANGDBG_ENUMERATOR)
#undef HANGDBG_ENUMERATOR
};

struct OpcodeMeaning {
  Op op = Op::Unknown;
  std::uint8_t caches = 0;  // units of two bytes that follow
};

using OpcodeTable = std::array<OpcodeMeaning, 256>;

// Null outside 3.6 to 3.15.
const OpcodeTable* opcode_table(int minor);

// As the interpreter names it; "" of Unknown, Other and Binary.
std::string_view opcode_name(Op op);

}  // namespace hangdbg
