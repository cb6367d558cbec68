// A _Py_DebugOffsets of a version that we have never seen: its words, and where
// its groups may begin.
//
// The table says neither how many words a group has nor what they are called.
// From 3.13 to 3.15 the groups kept their order, and the fields in a group
// kept theirs; new ones came in between.
// (Include/internal/pycore_debug_offsets.h) So numbers that hold for CPython's
// structures themselves show where a group may begin; which of these is true,
// memory must prove (proved_layout.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/layout/object_layout.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"

namespace hangdbg {

struct UnknownTable {
  std::uint64_t version = 0;  // PY_VERSION_HEX
  bool free_threaded = false;
  std::vector<std::uint64_t> words;  // of what follows, too
};

// The number of each group's first word, which is its structure's size.
struct TableGroups {
  std::size_t runtime = 0, interpreter = 0, thread = 0, frame = 0, code = 0,
              object = 0;
  // The words of two fields that end their structures.
  std::size_t locals = 0;        // _PyInterpreterFrame.localsplus
  std::size_t instructions = 0;  // PyCodeObject.co_code_adaptive
};

// The groups behind the objects' own: PyBytesObject and PyASCIIObject.
struct TableTexts {
  std::uint64_t bytes_size = 0, bytes_data = 0;
  std::uint64_t str_length = 0, str_state = 0, str_ascii = 0, str_compact = 0;

  bool operator==(const TableTexts&) const = default;
};

// Errors: Unreadable; UnsupportedPython when there is no cookie.
Result<UnknownTable> read_unknown_table(const MemoryReader& memory,
                                        Address runtime);

// Few, the likeliest first; none where the words are no such table.
std::vector<TableGroups> possible_groups(const UnknownTable& table);
std::vector<TableTexts> possible_texts(const UnknownTable& table,
                                       const TableGroups& groups);
// What the groups of containers and numbers say, where they are found: to be
// proved by the readers of such objects.
void take_told_objects(const UnknownTable& table,
                       const TableGroups& groups,
                       ObjectLayout& objects);

}  // namespace hangdbg
