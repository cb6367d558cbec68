// A code object's table of exceptions, from 3.11 on: which handler an exception
// at an instruction goes to, and how deep the value stack is then.
// Source: InternalDocs/exception_handling.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hangdbg {

// Of the instructions from `begin` up to `end`; offsets in bytes.
struct HandledRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t handler = 0;
  std::uint64_t depth = 0;
};

// In the table's order, up to where it is damaged.
std::vector<HandledRange> read_exception_table(
    std::span<const std::byte> table);

}  // namespace hangdbg
