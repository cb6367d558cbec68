#include "inspector/cpython/expressions/item.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "inspector/cpython/expressions/attribute.h"
#include "inspector/cpython/expressions/compare.h"
#include "inspector/cpython/objects/arrays.h"
#include "inspector/cpython/objects/dict.h"
#include "inspector/cpython/objects/numbers.h"
#include "inspector/cpython/objects/quoted.h"

namespace hangdbg {
namespace {

constexpr std::size_t kItemMaxItems = 10'000;  // of a slice

std::string shown(const Scalar& key) {
  if (const auto* text = std::get_if<std::u32string>(&key)) {
    return python_quoted(*text);
  }
  if (const auto* bytes = std::get_if<Bytes>(&key)) {
    return python_quoted(*bytes);
  }
  if (const auto* integer = std::get_if<Integer>(&key)) {
    return integer->decimal;
  }
  if (const auto* number = std::get_if<double>(&key)) {
    return float_text(*number);
  }
  const auto* truth = std::get_if<bool>(&key);
  return truth == nullptr ? "None" : *truth ? "True" : "False";
}

std::optional<std::int64_t> index_of(const Scalar& key) {
  if (const auto* truth = std::get_if<bool>(&key)) {
    return *truth ? 1 : 0;
  }
  const auto* integer = std::get_if<Integer>(&key);
  return integer != nullptr ? parse_number<std::int64_t>(integer->decimal)
                            : std::nullopt;
}

Result<Value> entry_of(const ObjectReader& objects,
                       Address dict,
                       const Scalar& key) {
  std::optional<Address> found;
  TRY(each_entry(objects, dict, [&](const DictEntry& entry) {
    const auto scalar = scalar_of(objects, entry.key);
    if (scalar && *scalar && equal(**scalar, key)) {
      found = entry.value;
    }
    return !found;
  }));
  return found ? Result<Value>(*found) : raised("KeyError", shown(key));
}

// One of a text is a text, one of bytes a number.
Result<Value> element_of(const Scalar& of, std::size_t index) {
  if (const auto* text = std::get_if<std::u32string>(&of)) {
    return Scalar(text->substr(index, 1));
  }
  return integer(
      std::to_string(std::to_integer<int>(std::get<Bytes>(of)[index])));
}

bool is_sequence(const Scalar& scalar) {
  return std::holds_alternative<std::u32string>(scalar) ||
         std::holds_alternative<Bytes>(scalar);
}

std::size_t length_of(const Scalar& scalar) {
  const auto* text = std::get_if<std::u32string>(&scalar);
  return text != nullptr ? text->size() : std::get<Bytes>(scalar).size();
}

// Which items a slice means, as PySlice_AdjustIndices has them.
std::vector<std::uint64_t> chosen(const SlicePart& slice, std::uint64_t size) {
  const auto end = static_cast<std::int64_t>(size);
  const std::int64_t step = slice.step.value_or(1);
  const auto clamp = [&](std::int64_t at) {
    at = at < 0 ? at + end : at;
    return std::clamp<std::int64_t>(at, step < 0 ? -1 : 0,
                                    step < 0 ? end - 1 : end);
  };
  const std::int64_t start =
      slice.start ? clamp(*slice.start) : (step < 0 ? end - 1 : 0);
  const std::int64_t stop =
      slice.stop ? clamp(*slice.stop) : (step < 0 ? -1 : end);
  std::vector<std::uint64_t> indices;
  for (std::int64_t at = start;
       (step < 0 ? at > stop : at < stop) && indices.size() <= kItemMaxItems;) {
    indices.push_back(static_cast<std::uint64_t>(at));
    if (__builtin_add_overflow(at, step, &at)) {
      break;
    }
  }
  return indices;
}

Result<Value> slice_of(const Scalar& of, const SlicePart& slice) {
  const auto indices = chosen(slice, length_of(of));
  if (const auto* text = std::get_if<std::u32string>(&of)) {
    std::u32string part;
    for (const auto index : indices) {
      part += (*text)[index];
    }
    return Scalar(std::move(part));
  }
  Bytes part;
  for (const auto index : indices) {
    part.push_back(std::get<Bytes>(of)[index]);
  }
  return Scalar(std::move(part));
}

Result<std::uint64_t> range_length(const ObjectReader& objects, Address range) {
  // start, stop, step, length
  const Address length =
      TRY(objects.pointer(range + objects.at().object_size + 24));
  const auto value = TRY(int_value(objects, length));
  return value && *value >= 0
             ? Result<std::uint64_t>(static_cast<std::uint64_t>(*value))
             : nothing_at("range", range);
}

bool is_ordered(Kind kind) {
  return kind == Kind::Tuple || kind == Kind::List || kind == Kind::Deque;
}

// Refuses a class in Python that has a method of its own for this.
Result<const Type*> type_without(const ObjectReader& objects,
                                 Address object,
                                 const char* method) {
  const Type* const type = TRY(objects.type_of(object));
  if (TRY(has_own_method(objects, *type, method))) {
    return runs_code(fmt::format("{} has a {} of its own", type->name, method));
  }
  return type;
}

std::unexpected<Error> no_items(const std::string& what) {
  return raised("TypeError", what + " has no items that peek can read");
}

}  // namespace

Result<Value> read_item(const ObjectReader& objects,
                        const Value& of,
                        const Value& index) {
  const auto key = TRY(scalar_of(objects, index));
  if (!key) {
    return fail(ErrorId::Usage, "peek takes numbers, text and None as a key",
                kEvalHint);
  }
  const auto* object = std::get_if<Address>(&of);
  const Type* type = nullptr;
  if (object != nullptr) {
    type = TRY(type_without(objects, *object, "__getitem__"));
    if (is_dict(type->kind)) {
      return entry_of(objects, *object, *key);
    }
  }
  const auto text = TRY(scalar_of(objects, of));
  const auto* slice = std::get_if<SliceOf>(&of);
  std::uint64_t size = 0;
  if (slice != nullptr) {
    size = slice->items.items.size();
  } else if (text && is_sequence(*text)) {
    size = length_of(*text);
  } else if (type != nullptr && is_ordered(type->kind)) {
    size = TRY(read_size(objects, *object, type->kind));
  } else {
    return no_items(TRY(describe(objects, of)));
  }
  const auto wanted = index_of(*key);
  if (!wanted) {
    return raised("TypeError",
                  fmt::format("indices are integers, not {}", shown(*key)));
  }
  const auto end = static_cast<std::int64_t>(size);
  const std::int64_t at = *wanted < 0 ? *wanted + end : *wanted;
  if (at < 0 || at >= end) {
    return raised("IndexError", fmt::format("{} is out of range: there are {}",
                                            *wanted, end));
  }
  const auto place = static_cast<std::uint64_t>(at);
  if (text) {
    return element_of(*text, place);
  }
  if (slice != nullptr) {
    return slice->items.items[place];
  }
  const Items items = TRY(read_items(objects, *object, type->kind, place, 1));
  return items.items.empty() ? Result<Value>(nothing_at("item", *object))
                             : items.items.front();
}

Result<Value> read_slice(const ObjectReader& objects,
                         const Value& of,
                         const SlicePart& slice) {
  if (const auto text = TRY(scalar_of(objects, of));
      text && is_sequence(*text)) {
    return slice_of(*text, slice);
  }
  const auto* object = std::get_if<Address>(&of);
  if (object == nullptr) {
    return no_items(TRY(describe(objects, of)));
  }
  const Type* const type = TRY(type_without(objects, *object, "__getitem__"));
  if (!is_ordered(type->kind) || type->kind == Kind::Deque) {
    return no_items(TRY(describe(objects, of)));
  }
  const auto size = TRY(read_size(objects, *object, type->kind));
  const auto indices = chosen(slice, size);
  SliceOf part{type->kind, {}};
  if (!indices.empty()) {
    const auto [low, high] = std::ranges::minmax(indices);
    const Items read =
        TRY(read_items(objects, *object, type->kind, low, high - low + 1));
    for (const auto index : indices) {
      part.items.items.push_back(read.items.at(index - low));
    }
  }
  part.items.size = part.items.items.size();
  return part;
}

Result<Value> read_length(const ObjectReader& objects, const Value& of) {
  const auto number = [](std::uint64_t size) -> Value {
    return integer(std::to_string(size));
  };
  if (const auto* slice = std::get_if<SliceOf>(&of)) {
    return number(slice->items.size);
  }
  if (const auto* scalar = std::get_if<Scalar>(&of)) {
    return is_sequence(*scalar)
               ? Result<Value>(number(length_of(*scalar)))
               : raised("TypeError",
                        TRY(describe(objects, of)) + " has no len()");
  }
  const auto* place = std::get_if<Address>(&of);
  if (place == nullptr) {
    return raised("TypeError", TRY(describe(objects, of)) + " has no len()");
  }
  const Address object = *place;
  const Type* const type = TRY(objects.type_of(object));
  if (type->kind == Kind::Array || type->kind == Kind::Tensor) {
    const ArrayShape shape =
        TRY(type->kind == Kind::Array ? read_array(objects, object)
                                      : read_tensor(objects, object));
    return shape.sizes.empty()
               ? Result<Value>(raised("TypeError", "it has no dimensions"))
               : number(static_cast<std::uint64_t>(shape.sizes[0]));
  }
  TRY(type_without(objects, object, "__len__"));
  if (type->kind == Kind::Range) {
    return number(TRY(range_length(objects, object)));
  }
  if (has_items(type->kind) || is_dict(type->kind) || type->kind == Kind::Str ||
      type->kind == Kind::Bytes || type->kind == Kind::ByteArray) {
    return number(TRY(read_size(objects, object, type->kind)));
  }
  return raised("TypeError",
                TRY(describe(objects, of)) + " has no len() in memory");
}

}  // namespace hangdbg
