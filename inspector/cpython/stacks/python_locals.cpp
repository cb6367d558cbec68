#include "inspector/cpython/stacks/python_locals.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "inspector/cpython/objects/dict.h"
#include "inspector/cpython/objects/items.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMaxVariables = 10'000;
constexpr std::uint32_t kOptimized = 1;         // CO_OPTIMIZED: of a function
constexpr std::uint8_t kCellOrFree = 0xc0;      // CO_FAST_CELL, CO_FAST_FREE
constexpr std::uint64_t kPythonLocalsTags = 3;  // of a _PyStackRef
constexpr std::uint64_t kTaggedInt = 3;         // which is no object

// A fast local: 0 where it is not set.
struct Fast {
  std::string name;
  Address object;
  bool may_be_cell = false;
};

bool is_interpreters_own(std::string_view name) {
  return name.size() > 4 && name.starts_with("__") && name.ends_with("__");
}

// What a module imports and defines, rather than what it has come to.
bool is_code(const ObjectReader& objects, Address object) {
  const auto type = objects.type_of(object);
  return type &&
         ((*type)->kind == Kind::Module || (*type)->kind == Kind::Type ||
          (*type)->kind == Kind::Function || (*type)->kind == Kind::Builtin);
}

Result<Address> content_of_cell(const ObjectReader& objects, Address object) {
  const Type* const type = TRY(objects.type_of(object));
  return type->kind == Kind::Cell
             ? objects.pointer(object + objects.at().cell_value)
             : Result<Address>(object);
}

// Adds those with the names in a tuple, beginning with the value `first`.
Status read_values(const ObjectReader& objects,
                   Address frame,
                   Address names,
                   std::size_t first,
                   std::vector<Fast>& fast) {
  const Items read = TRY(read_tuple(objects, names, kMaxVariables));
  std::vector<std::uint64_t> words(read.items.size());
  TRY(objects.memory().read(frame + objects.at().frame_values + first * 8,
                            std::as_writable_bytes(std::span(words))));
  const std::uint64_t tags = objects.at().minor >= 14 ? kPythonLocalsTags : 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_int = tags != 0 && (words[i] & tags) == kTaggedInt;
    fast.push_back({TRY(objects.name(read.items[i])),
                    Address{is_int ? 0 : words[i] & ~tags}});
  }
  return {};
}

// Up to 3.10: the locals, then the cells, then those of the functions around.
// An argument that inner functions use lies in a cell, its own place empty.
Result<std::vector<Fast>> read_fast_310(const ObjectReader& objects,
                                        Address frame,
                                        Address code) {
  const ObjectLayout& at = objects.at();
  std::vector<Fast> fast;
  TRY(read_values(objects, frame, TRY(objects.pointer(code + at.code_names)), 0,
                  fast));
  const std::size_t locals = fast.size();
  for (const auto names : {at.code_cell_names, at.code_free_names}) {
    TRY(read_values(objects, frame, TRY(objects.pointer(code + names)),
                    fast.size(), fast));
  }
  for (std::size_t i = locals; i < fast.size(); ++i) {
    fast[i].may_be_cell = true;
    const auto end = fast.begin() + static_cast<std::ptrdiff_t>(locals);
    const auto argument = std::find_if(fast.begin(), end, [&](const Fast& it) {
      return it.name == fast[i].name;
    });
    if (argument != end && !argument->object) {
      argument->object = fast[i].object;
      argument->may_be_cell = true;
      fast[i].object = {};
    }
  }
  return fast;
}

Result<std::vector<Fast>> read_fast(const ObjectReader& objects,
                                    Address frame,
                                    Address code) {
  const ObjectLayout& at = objects.at();
  if (at.code_kinds == ObjectLayout::kAbsent) {
    return read_fast_310(objects, frame, code);
  }
  std::vector<Fast> fast;
  TRY(read_values(objects, frame, TRY(objects.pointer(code + at.code_names)), 0,
                  fast));
  const Address kinds = TRY(objects.pointer(code + at.code_kinds));
  std::vector<std::uint8_t> kind(fast.size());
  TRY(objects.memory().read(kinds + objects.layout().bytes_data,
                            std::as_writable_bytes(std::span(kind))));
  for (std::size_t i = 0; i < fast.size(); ++i) {
    fast[i].may_be_cell = (kind[i] & kCellOrFree) != 0;
  }
  return fast;
}

// What the body of a class or a module has given names to.
Status read_names(const ObjectReader& objects,
                  Address names,
                  std::vector<Variable>& variables) {
  if (!names) {
    return {};
  }
  return each_entry(objects, names, [&](const DictEntry& entry) {
    const auto name = objects.name(entry.key);
    if (name) {
      variables.push_back({*name, entry.value});
    }
    return variables.size() < kMaxVariables;
  });
}

Status check_stands(const ObjectReader& objects, Address frame, Address code) {
  const auto now = TRY(objects.word(frame + objects.layout().frame_code)) &
                   ~kPythonLocalsTags;
  if (now != code.value) {
    return fail(ErrorId::Unreadable, "the function has returned meanwhile");
  }
  return {};
}

Result<std::vector<Variable>> read_all(const ObjectReader& objects,
                                       Address frame,
                                       Address code) {
  TRY(check_stands(objects, frame, code));
  std::vector<Variable> variables;
  const auto flags = TRY(objects.memory().read_value<std::uint32_t>(
      code + objects.at().code_flags));
  if ((flags & kOptimized) == 0) {
    TRY(read_names(objects,
                   TRY(objects.pointer(frame + objects.at().frame_locals)),
                   variables));
  }
  for (Fast& fast : TRY(read_fast(objects, frame, code))) {
    if (fast.object && fast.may_be_cell) {
      fast.object = TRY(content_of_cell(objects, fast.object));
    }
    if (fast.object && std::ranges::find(variables, fast.name,
                                         &Variable::name) == variables.end()) {
      variables.push_back({std::move(fast.name), fast.object});
    }
  }
  return variables;
}

}  // namespace

Result<std::vector<Variable>> read_locals(const ObjectReader& objects,
                                          Address frame,
                                          Address code) {
  objects.allow_reads();
  auto variables = TRY(read_all(objects, frame, code));
  const bool of_module =
      TRY(objects.pointer(frame + objects.at().frame_locals)) ==
      TRY(objects.pointer(frame + objects.at().frame_globals));
  std::erase_if(variables, [&](const Variable& variable) {
    return is_interpreters_own(variable.name) ||
           (of_module && is_code(objects, variable.object));
  });
  return variables;
}

Result<std::vector<Variable>> read_globals(const ObjectReader& objects,
                                           Address frame,
                                           Address code) {
  objects.allow_reads();
  TRY(check_stands(objects, frame, code));
  std::vector<Variable> variables;
  TRY(read_names(objects,
                 TRY(objects.pointer(frame + objects.at().frame_globals)),
                 variables));
  std::erase_if(variables, [](const Variable& variable) {
    return is_interpreters_own(variable.name);
  });
  return variables;
}

Result<Address> find_name(const ObjectReader& objects,
                          Address frame,
                          Address code,
                          std::string_view name) {
  for (const Variable& variable : TRY(read_all(objects, frame, code))) {
    if (variable.name == name) {
      return variable.object;
    }
  }
  for (const auto names :
       {objects.at().frame_globals, objects.at().frame_builtins}) {
    const Address dict = TRY(objects.pointer(frame + names));
    if (const auto found = TRY(find_key(objects, dict, name))) {
      return *found;
    }
  }
  return fail(ErrorId::ExpressionFailed,
              fmt::format("NameError: name '{}' is not defined", name));
}

}  // namespace hangdbg
