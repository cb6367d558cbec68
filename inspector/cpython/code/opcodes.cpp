#include "inspector/cpython/code/opcodes.h"

#include <algorithm>
#include <iterator>

namespace hangdbg {
namespace {

struct OpcodeRow {
  int minor;
  int number;
  std::string_view name;
  int caches;
};

constexpr OpcodeRow kOpcodeRows[] = {
#include "inspector/cpython/code/opcodes.inc"
};

struct NamedOp {
  std::string_view name;
  Op op;
};

constexpr NamedOp kOpNames[] = {
#define HANGDBG_NAMED(name) {#name, Op::name},
    HANGDBG_OPCODES(HANGDBG_NAMED)
#undef HANGDBG_NAMED
};

constexpr int kFirstMinor = 6;
constexpr int kLastMinor = 15;
using OpcodeTables = std::array<OpcodeTable, kLastMinor - kFirstMinor + 1>;

Op op_named(std::string_view name) {
  const auto* const found = std::ranges::find(kOpNames, name, &NamedOp::name);
  if (found != std::end(kOpNames)) {
    return found->op;
  }
  return name.starts_with("BINARY_") || name.starts_with("INPLACE_")
             ? Op::Binary
             : Op::Other;
}

OpcodeTables make_tables() {
  OpcodeTables tables;
  for (const OpcodeRow& row : kOpcodeRows) {
    tables.at(static_cast<std::size_t>(row.minor - kFirstMinor))
        .at(static_cast<std::size_t>(row.number)) = {
        op_named(row.name), static_cast<std::uint8_t>(row.caches)};
  }
  return tables;
}

}  // namespace

const OpcodeTable* opcode_table(int minor) {
  static const OpcodeTables kTables = make_tables();
  return minor < kFirstMinor || minor > kLastMinor
             ? nullptr
             : &kTables.at(static_cast<std::size_t>(minor - kFirstMinor));
}

std::string_view opcode_name(Op op) {
  const auto* const found = std::ranges::find(kOpNames, op, &NamedOp::op);
  return found == std::end(kOpNames) ? "" : found->name;
}

}  // namespace hangdbg
