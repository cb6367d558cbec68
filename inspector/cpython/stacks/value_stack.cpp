#include "inspector/cpython/stacks/value_stack.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "inspector/cpython/code/exception_table.h"
#include "inspector/cpython/objects/items.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kValueStackTags =
    7;  // of a reference; from 3.14. Else 0
constexpr std::uint64_t kValueStackMostValues = 1000;
constexpr std::uint64_t kMostTable = 1U << 20;  // bytes

Result<Address> bottom_of_stack(const ObjectReader& objects,
                                const PythonFrame& frame);
Result<std::uint64_t> depth_by_blocks(const ObjectReader& objects,
                                      const PythonFrame& frame);
Result<std::uint64_t> depth_by_table(const ObjectReader& objects,
                                     const PythonFrame& frame);
Result<std::vector<std::byte>> table_of(const ObjectReader& objects,
                                        const PythonFrame& frame);

}  // namespace

Result<std::vector<Address>> values_below_handler(const ObjectReader& objects,
                                                  const PythonFrame& frame) {
  const bool has_table = objects.layout().code_instructions !=
                         CPythonLayout::kAbsent;  // from 3.11 on
  const auto depth = TRY(has_table ? depth_by_table(objects, frame)
                                   : depth_by_blocks(objects, frame));
  if (depth > kValueStackMostValues) {
    return nothing_at("frame", frame.address);
  }
  return possible_values(objects, frame, depth);
}

Result<std::vector<Address>> values_of_entered(const ObjectReader& objects,
                                               const PythonFrame& frame) {
  constexpr int kCallsEnter = 14;
  constexpr std::int64_t kCall = 8;  // bytes of CALL, with its cache
  if (objects.at().minor < kCallsEnter) {
    return std::vector<Address>();
  }
  std::optional<std::uint64_t> depth;
  const auto table = TRY(table_of(objects, frame));
  for (const HandledRange& one : read_exception_table(table)) {
    if (one.begin == frame.offset + kCall) {
      depth = one.depth;
    }
  }
  return depth && *depth < kValueStackMostValues
             ? places_of(objects, frame, *depth + 1)
             : std::vector<Address>();
}

std::vector<Address> possible_values(const ObjectReader& objects,
                                     const PythonFrame& frame,
                                     std::size_t most) {
  auto values = places_of(objects, frame, most);
  std::erase(values, Address{});
  return values;
}

std::vector<Address> places_of(const ObjectReader& objects,
                               const PythonFrame& frame,
                               std::size_t most) {
  std::vector<std::uint64_t> words(most);
  const auto bottom = bottom_of_stack(objects, frame);
  if (!bottom || !objects.memory().read(
                     *bottom, std::as_writable_bytes(std::span(words)))) {
    return {};
  }
  std::vector<Address> values;
  for (const std::uint64_t word : words) {
    values.push_back(Address{word & ~kValueStackTags});
  }
  return values;
}

namespace {

Result<Address> bottom_of_stack(const ObjectReader& objects,
                                const PythonFrame& frame) {
  const ObjectLayout& at = objects.at();
  if (at.frame_stack != ObjectLayout::kAbsent) {
    return objects.pointer(frame.address + at.frame_stack);
  }
  const Address names = TRY(objects.pointer(frame.code + at.code_names));
  return frame.address + at.frame_values +
         TRY(read_size(objects, names, Kind::Tuple)) * 8;
}

// Behind f_lasti: f_lineno, f_iblock, a flag, and the blocks.
Result<std::uint64_t> depth_by_blocks(const ObjectReader& objects,
                                      const PythonFrame& frame) {
  struct Block {
    std::int32_t type, handler, level;
  };
  constexpr std::int32_t kMostBlocks = 20;  // CO_MAXBLOCKS
  const Address last = frame.address + objects.layout().frame_position;
  const auto count = TRY(objects.memory().read_value<std::int32_t>(last + 8));
  if (count < 0 || count > kMostBlocks) {
    return nothing_at("frame", frame.address);
  }
  std::array<Block, kMostBlocks> blocks{};
  TRY(objects.memory().read(last + 16,
                            std::as_writable_bytes(std::span(blocks))));
  std::int32_t level = 0;
  for (std::int32_t i = 0; i < count; ++i) {
    level = std::max(level, blocks[static_cast<std::size_t>(i)].level);
  }
  return static_cast<std::uint64_t>(level);
}

Result<std::uint64_t> depth_by_table(const ObjectReader& objects,
                                     const PythonFrame& frame) {
  std::uint64_t depth = 0;
  const auto table = TRY(table_of(objects, frame));
  for (const HandledRange& one : read_exception_table(table)) {
    if (one.begin <= frame.offset && frame.offset < one.end) {
      depth = one.depth;
    }
  }
  return depth;
}

// The word before co_flags is co_exceptiontable.
Result<std::vector<std::byte>> table_of(const ObjectReader& objects,
                                        const PythonFrame& frame) {
  const Address table =
      TRY(objects.pointer(frame.code + (objects.at().code_flags - 8)));
  const auto size = TRY(objects.word(table + objects.layout().bytes_size));
  if (size > kMostTable) {
    return nothing_at("table of exceptions", table);
  }
  std::vector<std::byte> bytes(size);
  TRY(objects.memory().read(table + objects.layout().bytes_data, bytes));
  return bytes;
}

}  // namespace
}  // namespace hangdbg
