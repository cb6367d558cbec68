#include "inspector/cpython/expressions/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <compare>
#include <cstdlib>
#include <optional>

#include "inspector/cpython/expressions/attribute.h"
#include "inspector/cpython/objects/dict.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMaxItems = 1'000'000;

std::string_view sign_of(Comparing how) {
  switch (how) {
    case Comparing::Less:
      return "<";
    case Comparing::LessOrEqual:
      return "<=";
    case Comparing::Greater:
      return ">";
    default:
      return ">=";
  }
}

// A bool is an int too.
std::optional<Integer> integer_of(const Scalar& scalar) {
  if (const auto* truth = std::get_if<bool>(&scalar)) {
    return Integer{*truth ? "1" : "0"};
  }
  const auto* integer = std::get_if<Integer>(&scalar);
  return integer != nullptr ? std::optional(*integer) : std::nullopt;
}

std::optional<double> number_of(const Scalar& scalar) {
  if (const auto* number = std::get_if<double>(&scalar)) {
    return *number;
  }
  const auto integer = integer_of(scalar);
  return integer ? std::optional(std::strtod(integer->decimal.c_str(), nullptr))
                 : std::nullopt;
}

std::strong_ordering order(const Integer& a, const Integer& b) {
  const bool a_negative = a.decimal.starts_with('-');
  const bool b_negative = b.decimal.starts_with('-');
  if (a_negative != b_negative) {
    return b_negative <=> a_negative;
  }
  const auto magnitude = a.decimal.size() != b.decimal.size()
                             ? a.decimal.size() <=> b.decimal.size()
                             : a.decimal <=> b.decimal;
  return a_negative ? 0 <=> magnitude : magnitude;
}

// None where Python would not order them.
std::optional<std::partial_ordering> order(const Scalar& a, const Scalar& b) {
  const auto a_integer = integer_of(a);
  const auto b_integer = integer_of(b);
  if (a_integer && b_integer) {
    return order(*a_integer, *b_integer);
  }
  const auto a_number = number_of(a);
  const auto b_number = number_of(b);
  if (a_number && b_number) {
    return *a_number <=> *b_number;
  }
  if (a.index() != b.index() || std::holds_alternative<std::monostate>(a)) {
    return std::nullopt;
  }
  if (const auto* text = std::get_if<std::u32string>(&a)) {
    return *text <=> std::get<std::u32string>(b);
  }
  return std::get<Bytes>(a) <=> std::get<Bytes>(b);
}

Result<bool> same_object(const ObjectReader& objects,
                         const Value& a,
                         const Value& b) {
  const auto* a_object = std::get_if<Address>(&a);
  const auto* b_object = std::get_if<Address>(&b);
  if (a_object != nullptr && b_object != nullptr) {
    return *a_object == *b_object;
  }
  const auto a_scalar = TRY(scalar_of(objects, a));
  const auto b_scalar = TRY(scalar_of(objects, b));
  const auto is_single = [](const std::optional<Scalar>& scalar) {
    return scalar && scalar->index() <= 1;  // None, True, False
  };
  if (!is_single(a_scalar) && !is_single(b_scalar)) {
    return fail(ErrorId::Usage,
                "peek compares with is only objects, None, True and False",
                kEvalHint);
  }
  return a_scalar == b_scalar;
}

// Two values of which one is neither number, text nor None are equal only if
// code says so.
Result<bool> equal_values(const ObjectReader& objects,
                          const Value& a,
                          const Value& b) {
  const auto a_scalar = TRY(scalar_of(objects, a));
  const auto b_scalar = TRY(scalar_of(objects, b));
  if (a_scalar && b_scalar) {
    return equal(*a_scalar, *b_scalar);
  }
  for (const Value* side : {&a, &b}) {
    const auto* object = std::get_if<Address>(side);
    if (object != nullptr) {
      const Type* const type = TRY(objects.type_of(*object));
      if (TRY(has_own_method(objects, *type, "__eq__"))) {
        return runs_code(type->name + " has an __eq__ of its own");
      }
    }
  }
  if (!a_scalar && !b_scalar) {
    return fail(ErrorId::Usage, "peek compares with numbers, text and None",
                kEvalHint);
  }
  return false;
}

Result<bool> contains_text(const Scalar& part, const Scalar& whole) {
  const auto* wanted = std::get_if<std::u32string>(&part);
  const auto* text = std::get_if<std::u32string>(&whole);
  if (wanted == nullptr || text == nullptr) {
    return fail(ErrorId::Usage, "peek looks for text in text only", kEvalHint);
  }
  return text->find(*wanted) != text->npos;
}

Result<bool> contains(const ObjectReader& objects,
                      const Value& item,
                      const Value& in) {
  const auto wanted = TRY(scalar_of(objects, item));
  if (const auto whole = TRY(scalar_of(objects, in)); whole && wanted) {
    return contains_text(*wanted, *whole);
  }
  const auto* object = std::get_if<Address>(&in);
  if (!wanted || object == nullptr) {
    return fail(ErrorId::Usage, "peek looks for numbers, text and None only",
                kEvalHint);
  }
  const Type* const type = TRY(objects.type_of(*object));
  if (TRY(has_own_method(objects, *type, "__contains__"))) {
    return runs_code(type->name + " has a __contains__ of its own");
  }
  bool found = false;
  const auto look = [&](Address at) {
    const auto scalar = scalar_of(objects, at);
    found = scalar && *scalar && equal(**scalar, *wanted);
    return !found;
  };
  if (is_dict(type->kind)) {
    TRY(each_entry(objects, *object,
                   [&](const DictEntry& entry) { return look(entry.key); }));
  } else if (has_items(type->kind)) {
    const Items items =
        TRY(read_items(objects, *object, type->kind, 0, kMaxItems));
    (void)std::ranges::all_of(items.items, look);
  } else {
    return runs_code("what is in a " + type->name + " is told by its code");
  }
  return found;
}

}  // namespace

Result<bool> compare(const ObjectReader& objects,
                     const Value& left,
                     Comparing how,
                     const Value& right) {
  switch (how) {
    case Comparing::Equal:
      return equal_values(objects, left, right);
    case Comparing::NotEqual:
      return !TRY(equal_values(objects, left, right));
    case Comparing::Is:
      return same_object(objects, left, right);
    case Comparing::IsNot:
      return !TRY(same_object(objects, left, right));
    case Comparing::In:
      return contains(objects, left, right);
    case Comparing::NotIn:
      return !TRY(contains(objects, left, right));
    default:
      break;
  }
  const auto a = TRY(scalar_of(objects, left));
  const auto b = TRY(scalar_of(objects, right));
  const auto ordering = a && b ? order(*a, *b) : std::nullopt;
  if (!ordering) {
    return raised("TypeError",
                  fmt::format("'{}' is not known between {} and {}",
                              sign_of(how), TRY(describe(objects, left)),
                              TRY(describe(objects, right))));
  }
  switch (how) {
    case Comparing::Less:
      return *ordering < 0;
    case Comparing::LessOrEqual:
      return *ordering <= 0;
    case Comparing::Greater:
      return *ordering > 0;
    default:
      return *ordering >= 0;
  }
}

bool equal(const Scalar& a, const Scalar& b) {
  const auto ordering = order(a, b);
  return ordering ? *ordering == 0 : a.index() == 0 && b.index() == 0;
}

}  // namespace hangdbg
