#include "inspector/cpython/code/code_object.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "inspector/cpython/layout/line_table.h"
#include "inspector/cpython/objects/items.h"
#include "inspector/cpython/objects/repr.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kMostBytecode = 64U << 10;  // of bytecode
constexpr std::size_t kMostCodeNames = 2000;
constexpr std::uint64_t kMostCodeTable = 256U << 10;
constexpr std::size_t kMostExecutors = 256;

std::unexpected<Error> no_bytecode(Address code) {
  return nothing_at("bytecode", code);
}

Result<std::vector<std::byte>> read_code_bytes(const ObjectReader& objects,
                                               Address from,
                                               std::uint64_t size,
                                               std::uint64_t most) {
  if (size > most) {
    return no_bytecode(from);
  }
  std::vector<std::byte> bytes(size);
  TRY(objects.memory().read(from, bytes));
  return bytes;
}

// Of a bytes object.
Result<std::vector<std::byte>> read_bytes_object(const ObjectReader& objects,
                                                 Address object,
                                                 std::uint64_t most) {
  const auto size = TRY(objects.word(object + objects.layout().bytes_size));
  return read_code_bytes(objects, object + objects.layout().bytes_data, size,
                         most);
}

Result<std::vector<std::string>> read_code_names(const ObjectReader& objects,
                                                 Address tuple) {
  std::vector<std::string> names;
  for (const Address item :
       TRY(read_tuple(objects, tuple, kMostCodeNames)).items) {
    names.push_back(TRY(objects.name(item)));
  }
  return names;
}

Result<std::vector<std::byte>> read_bytecode(const ObjectReader& objects,
                                             Address code) {
  const ObjectLayout& at = objects.at();
  if (at.code_bytes != ObjectLayout::kAbsent) {
    return read_bytes_object(
        objects, TRY(objects.pointer(code + at.code_bytes)), kMostBytecode);
  }
  const auto units = TRY(objects.word(code + at.size));
  return units > kMostBytecode
             ? no_bytecode(code)
             : read_code_bytes(objects,
                               code + objects.layout().code_instructions,
                               units * kCodeUnit, kMostBytecode);
}

// Source: Python/instrumentation.c, 3.12 to 3.15. Two bytes an instruction:
// what it was, and how its line differs; from 3.14 on the first byte says how
// many.
Status read_instrumented(const ObjectReader& objects,
                         Address code,
                         std::size_t units,
                         HiddenOpcodes& hidden) {
  const ObjectLayout& at = objects.at();
  const Address data = TRY(objects.pointer(code + at.code_monitoring));
  if (!data) {
    return {};
  }
  if (const Address lines = TRY(objects.pointer(data + at.monitoring_lines))) {
    std::uint64_t each = 2;
    Address first = lines;
    if (at.minor >= 14) {
      each = TRY(objects.memory().read_value<std::uint8_t>(lines));
      first = lines + 1;
    }
    const auto all =
        TRY(read_code_bytes(objects, first, units * each, kMostBytecode * 8));
    for (std::size_t i = 0; i < units && each != 0; ++i) {
      hidden.lines.push_back(std::to_integer<std::uint8_t>(all[i * each]));
    }
  }
  if (const Address own =
          TRY(objects.pointer(data + at.monitoring_instructions))) {
    hidden.instructions.resize(units);
    TRY(objects.memory().read(
        own, std::as_writable_bytes(std::span(hidden.instructions))));
  }
  return {};
}

Status read_executors(const ObjectReader& objects,
                      Address code,
                      HiddenOpcodes& hidden) {
  const ObjectLayout& at = objects.at();
  const Address all = TRY(objects.pointer(code + at.code_executors));
  if (!all) {
    return {};
  }
  const auto size = TRY(objects.memory().read_value<std::uint32_t>(all));
  if (size > kMostExecutors) {
    return no_bytecode(code);
  }
  for (std::uint32_t i = 0; i < size; ++i) {
    const Address executor =
        TRY(objects.pointer(all + at.executors_items + i * std::uint64_t{8}));
    const Address opcode = executor + at.executor_opcode;
    hidden.executors.emplace_back();
    if (executor) {
      hidden.executors.back() = {
          TRY(objects.memory().read_value<std::uint8_t>(opcode)),
          TRY(objects.memory().read_value<std::uint8_t>(opcode + 1))};
    }
  }
  return {};
}

Status read_code_constants(const ObjectReader& objects,
                           Address tuple,
                           CodeObject& made) {
  for (const Address item :
       TRY(read_tuple(objects, tuple, kMostCodeNames)).items) {
    const auto type = objects.type_of(item);
    const Kind kind = type ? (*type)->kind : Kind::Object;
    const bool is_short = kind == Kind::Int || kind == Kind::Float ||
                          kind == Kind::Str || kind == Kind::None ||
                          kind == Kind::Bool;
    made.constants.push_back(
        is_short ? repr(objects, item, {.depth = 1, .items = 3, .text = 40})
                 : "");
    made.keywords.emplace_back();
    if (kind == Kind::Tuple) {
      if (auto names = read_code_names(objects, item)) {
        made.keywords.back() = *std::move(names);
      }
    }
  }
  return {};
}

}  // namespace

int CodeObject::line(std::int32_t instruction) const {
  return span_at(line_table, minor, first_line,
                 flow.code[static_cast<std::size_t>(instruction)].start)
      .line;
}

Result<CodeObject> read_code_object(const ObjectReader& objects, Address code) {
  const ObjectLayout& at = objects.at();
  const CPythonLayout& layout = objects.layout();
  const auto type = objects.type_of(code);
  if (!type || (*type)->kind != Kind::Code) {
    return no_bytecode(code);
  }
  CodeObject made{.minor = at.minor};
  const auto bytes = TRY(read_bytecode(objects, code));
  HiddenOpcodes hidden;
  if (at.code_monitoring != ObjectLayout::kAbsent) {
    TRY(read_instrumented(objects, code, bytes.size() / kCodeUnit, hidden));
  }
  if (at.code_executors != ObjectLayout::kAbsent) {
    TRY(read_executors(objects, code, hidden));
  }
  auto instructions = read_instructions(bytes, at.minor, hidden);
  if (!instructions) {
    return no_bytecode(code);
  }
  std::vector<std::byte> exceptions;
  if (at.code_exceptions != ObjectLayout::kAbsent) {
    exceptions = TRY(read_bytes_object(
        objects, TRY(objects.pointer(code + at.code_exceptions)),
        kMostCodeTable));
  }
  made.flow = make_flow(*std::move(instructions), exceptions);
  made.names = TRY(read_code_names(
      objects, TRY(objects.pointer(code + at.code_global_names))));
  made.locals =
      TRY(read_code_names(objects, TRY(objects.pointer(code + at.code_names))));
  if (at.code_cell_names != ObjectLayout::kAbsent) {
    for (const auto names : {at.code_cell_names, at.code_free_names}) {
      for (std::string& name :
           TRY(read_code_names(objects, TRY(objects.pointer(code + names))))) {
        made.cells.push_back(std::move(name));
      }
    }
  }
  TRY(read_code_constants(
      objects, TRY(objects.pointer(code + at.code_constants)), made));
  made.first_line = TRY(
      objects.memory().read_value<std::int32_t>(code + layout.code_first_line));
  made.line_table = TRY(read_bytes_object(
      objects, TRY(objects.pointer(code + layout.code_line_table)),
      kMostCodeTable));
  return made;
}

}  // namespace hangdbg
