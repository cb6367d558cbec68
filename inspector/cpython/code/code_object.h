// A code object, read out of process: its instructions and their flow, its
// names, its constants, its lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/code/flow.h"
#include "inspector/cpython/objects/object_reader.h"
#include "tracee/memory/address.h"

namespace hangdbg {

struct CodeObject {
  int minor = 0;
  BytecodeFlow flow;
  std::vector<std::string> names;      // co_names
  std::vector<std::string> locals;     // up to 3.10 those in cells are apart
  std::vector<std::string> cells;      // up to 3.10
  std::vector<std::string> constants;  // as repr() has them
  std::vector<std::vector<std::string>> keywords;  // of those that are tuples
  int first_line = 0;
  std::vector<std::byte> line_table;

  int line(std::int32_t instruction) const;  // 0: it belongs to none
};

// Errors: Unreadable, also when that is no code object, when its bytecode is
// none, or when it is implausibly long.
Result<CodeObject> read_code_object(const ObjectReader& objects, Address code);

}  // namespace hangdbg
