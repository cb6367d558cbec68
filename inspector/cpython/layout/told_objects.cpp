#include "inspector/cpython/layout/told_objects.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace hangdbg {
namespace {

// The number of each group's first word, which is its structure's size; 0 where
// a version has no such group.
// (Include/internal/pycore_debug_offsets.h; 3.13: pycore_runtime.h)
struct ToldGroups {
  int minor;
  std::size_t words;  // of the table, up to the last group that is needed
  std::size_t gc_in_interpreter;
  std::size_t frame, code;
  std::size_t type, heap_type, tuple, list, set, dict, floats, integer, gc,
      generator;
};
constexpr ToldGroups kToldGroups[] = {
    {.minor = 13,
     .words = 73,
     .gc_in_interpreter = 10,
     .frame = 28,
     .code = 34,
     .type = 46,
     .tuple = 50,
     .list = 53,
     .dict = 56,
     .floats = 59,
     .integer = 61,
     .gc = 71},
    {.minor = 14,
     .words = 87,
     .gc_in_interpreter = 11,
     .frame = 31,
     .code = 39,
     .type = 52,
     .tuple = 56,
     .list = 59,
     .set = 62,
     .dict = 66,
     .floats = 69,
     .integer = 71,
     .gc = 81,
     .generator = 83},
    {.minor = 15,
     .words = 103,
     .gc_in_interpreter = 11,
     .frame = 39,
     .code = 47,
     .type = 60,
     .heap_type = 66,
     .tuple = 68,
     .list = 71,
     .set = 74,
     .dict = 78,
     .floats = 81,
     .integer = 83,
     .gc = 94,
     .generator = 99},
};

constexpr std::size_t kMostToldWords = 103;
constexpr std::uint64_t kMostObject = 4096;  // PyHeapTypeObject is 1 KB
constexpr std::uint64_t kMostInterpreter = 64U << 20;  // 0.4 MB

struct ToldWords {
  std::array<std::uint64_t, kMostToldWords> words{};
  bool makes_sense = true;

  // A field of that group, the size not counted.
  std::uint32_t at(std::size_t group, std::size_t field) {
    const std::uint64_t offset = words[group + field];
    makes_sense &= offset < words[group] && words[group] <= kMostObject;
    return static_cast<std::uint32_t>(offset);
  }
  // Of the interpreter's group: its size is not checked.
  std::uint32_t in_interpreter(std::size_t number) {
    makes_sense &= words[number] <= kMostInterpreter;
    return static_cast<std::uint32_t>(words[number]);
  }
};

}  // namespace

Result<ObjectLayout> with_told_offsets(const MemoryReader& memory,
                                       Address runtime,
                                       const ObjectLayout& row) {
  const auto* const groups =
      std::ranges::find(kToldGroups, row.minor, &ToldGroups::minor);
  if (groups == std::end(kToldGroups)) {
    return row;
  }
  ToldWords told;
  TRY(memory.read(runtime, std::as_writable_bytes(
                               std::span(told.words).first(groups->words))));
  ObjectLayout at = row;
  at.interpreter_modules = told.in_interpreter(groups->gc_in_interpreter + 1);
  at.interpreter_sys_dict = told.in_interpreter(groups->gc_in_interpreter + 2);
  const std::uint32_t gc = told.in_interpreter(groups->gc_in_interpreter);
  if (row.interpreter_collecting != ObjectLayout::kAbsent) {
    at.interpreter_collecting = gc + told.at(groups->gc, 1);
  }
  if (row.interpreter_gc != ObjectLayout::kAbsent) {
    at.interpreter_gc = gc;
  }
  // Nothing tells what lies behind them.
  if (at.interpreter_modules != row.interpreter_modules) {
    at.interpreter_tasks = ObjectLayout::kAbsent;
    at.thread_tasks = ObjectLayout::kAbsent;
    at.thread_running_loop = ObjectLayout::kAbsent;
  }

  at.frame_values = told.at(groups->frame, 4);
  at.code_names = told.at(groups->code, 7);
  at.code_kinds = told.at(groups->code, 8);
  at.type_name = told.at(groups->type, 1);
  at.type_flags = told.at(groups->type, 3);
  at.tuple_items = told.at(groups->tuple, 1);
  at.size = told.at(groups->tuple, 2);
  at.list_items = told.at(groups->list, 1);
  if (groups->set != 0) {
    at.set_used = told.at(groups->set, 1);
    at.set_table = told.at(groups->set, 2);
    at.set_mask = told.at(groups->set, 3);
  }
  at.dict_keys = told.at(groups->dict, 1);
  at.dict_values = told.at(groups->dict, 2);
  at.float_value = told.at(groups->floats, 1);
  at.int_size = told.at(groups->integer, 1);
  at.int_digits = told.at(groups->integer, 2);
  if (groups->heap_type != 0) {
    at.type_basic_size = told.at(groups->type, 4);
    at.type_dict_offset = told.at(groups->type, 5);
    at.heap_type_cached_keys = told.at(groups->heap_type, 1);
  }
  if (groups->generator != 0) {
    at.generator_iframe = told.at(groups->generator, 2);
    at.generator_state = told.at(groups->generator, 3);
  }
  if (!told.makes_sense) {
    return fail(ErrorId::UnsupportedPython,
                fmt::format("python 3.{} describes its objects with offsets "
                            "that make no sense",
                            row.minor));
  }
  return at;
}

bool fits(const ObjectLayout& told, const ObjectLayout& row) {
  constexpr std::uint32_t ObjectLayout::*kSame[] = {
      &ObjectLayout::frame_values,
      &ObjectLayout::code_names,
      &ObjectLayout::code_kinds,
      &ObjectLayout::type_name,
      &ObjectLayout::type_flags,
      &ObjectLayout::tuple_items,
      &ObjectLayout::size,
      &ObjectLayout::list_items,
      &ObjectLayout::set_used,
      &ObjectLayout::set_table,
      &ObjectLayout::set_mask,
      &ObjectLayout::dict_keys,
      &ObjectLayout::dict_values,
      &ObjectLayout::float_value,
      &ObjectLayout::int_size,
      &ObjectLayout::int_digits,
      &ObjectLayout::type_basic_size,
      &ObjectLayout::type_dict_offset,
      &ObjectLayout::heap_type_cached_keys,
      &ObjectLayout::generator_iframe,
      &ObjectLayout::generator_state};
  return std::ranges::all_of(
      kSame, [&](const auto field) { return told.*field == row.*field; });
}

}  // namespace hangdbg
