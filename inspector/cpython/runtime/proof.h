// What proved_layout.cpp asks memory, in steps: of one way to cut the table
// into groups. Each step takes what the one before has found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inspector/cpython/layout/layout.h"
#include "inspector/cpython/layout/object_layout.h"
#include "inspector/cpython/runtime/unknown_table.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"

namespace hangdbg {

// A frame on a thread's chain; of the interpreter's own, which runs no Python,
// `code` is 0.
struct SeenFrame {
  Address frame, code;
};

struct Proof {
  const MemoryReader& memory;
  const UnknownTable& table;
  const TableGroups& groups;
  Address runtime;
  Address code_type = {};  // once it is known

  CPythonLayout at = {};
  std::vector<Address> interpreters = {};  // the newest first, as in CPython
  std::vector<Address> threads = {};       // of all interpreters
  std::vector<SeenFrame> frames = {};
  std::vector<Address> codes = {};      // of these frames, each once
  std::vector<std::string> names = {};  // of these
  ObjectLayout objects = newest_object_layout(table.free_threaded);
  std::vector<std::string> unproved = {};
  int left = 300'000;  // reads: a table that lies costs no more

  // ---- interpreters_proof.cpp
  bool find_threads();  // and interpreters
  void find_gil();
  bool find_thread_numbers();
  void find_dicts();

  // ---- frames_proof.cpp
  bool find_frames();
  bool find_instructions();

  // ---- code_proof.cpp
  bool find_code_fields(const TableTexts& texts);
  bool find_first_lines(std::size_t after,
                        const std::vector<std::string>& files);
  void find_variables();  // by the newest row: no word of the table tells them

  // ---- what all of them ask
  std::uint64_t word(std::size_t number) const { return table.words[number]; }
  std::uint32_t offset(std::size_t number) const {
    return static_cast<std::uint32_t>(table.words[number]);
  }
  // Whether that word may be where a pointer is, in the structure of a group.
  bool is_pointer_in(std::size_t group, std::size_t number) const {
    return word(number) % 8 == 0 && word(number) + 8 <= word(group);
  }
  template <class T>
  std::optional<T> value(Address from) {
    if (--left < 0) {
      return {};
    }
    const auto read = memory.read_value<T>(from);
    return read ? std::optional(*read) : std::nullopt;
  }
  std::optional<Address> pointer(Address from) {
    const auto read = value<std::uint64_t>(from);
    return read ? std::optional(Address{*read}) : std::nullopt;
  }
  // How many instructions a code object has, with caches (its Py_SIZE).
  std::optional<std::uint64_t> units_of(Address code) {
    constexpr std::uint64_t kMostUnits = 1U << 24;
    const auto units = value<std::uint64_t>(code + word(groups.object));
    return units && *units > 0 && *units < kMostUnits ? units : std::nullopt;
  }
  // tp_name of its type; "" where there is none.
  std::string type_name(Address object);
  // That of what a pointer there leads to.
  std::string type_name_at(Address from) {
    const auto object = pointer(from);
    return object && *object ? type_name(*object) : "";
  }
};

}  // namespace hangdbg
