#include "inspector/cpython/expressions/value.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "inspector/cpython/layout/text.h"
#include "inspector/cpython/objects/numbers.h"

namespace hangdbg {
namespace {

constexpr std::size_t kValueMaxText = 1'000'000;

constexpr const char* kTypes[] = {"NoneType", "bool", "int",
                                  "float",    "str",  "bytes"};

Result<std::optional<Scalar>> bytes_at(const ObjectReader& objects,
                                       Address object,
                                       Address data) {
  const auto size = TRY(read_size(objects, object, Kind::Bytes));
  if (size > kValueMaxText) {
    return std::nullopt;
  }
  Bytes bytes(size);
  TRY(objects.memory().read(data, bytes));
  return Scalar(std::move(bytes));
}

}  // namespace

Scalar integer(std::string decimal) {
  return Scalar(std::in_place_type<Integer>, std::move(decimal));
}

Result<std::optional<Scalar>> scalar_of(const ObjectReader& objects,
                                        Address object) {
  const Type* const type = TRY(objects.type_of(object));
  switch (type->kind) {
    case Kind::None:
      return Scalar();
    case Kind::Bool:
      return Scalar(TRY(int_value(objects, object)) != 0);
    case Kind::Int:
      return integer(TRY(int_text(objects, object)));
    case Kind::Float:
      return Scalar(TRY(objects.memory().read_value<double>(
          object + objects.at().float_value)));
    case Kind::Str: {
      auto points = TRY(read_code_points(objects.memory(), objects.layout(),
                                         object, kValueMaxText));
      if (points.text.size() < points.length) {
        return std::nullopt;
      }
      Scalar text;
      text = std::move(points.text);
      return text;
    }
    case Kind::Bytes:
      return bytes_at(objects, object, object + objects.layout().bytes_data);
    case Kind::ByteArray:
      return bytes_at(
          objects, object,
          TRY(objects.pointer(object + objects.at().bytearray_start)));
    default:
      return std::nullopt;
  }
}

Result<std::optional<Scalar>> scalar_of(const ObjectReader& objects,
                                        const Value& value) {
  if (const auto* object = std::get_if<Address>(&value)) {
    return scalar_of(objects, *object);
  }
  const auto* scalar = std::get_if<Scalar>(&value);
  return scalar != nullptr ? std::optional(*scalar) : std::nullopt;
}

Result<std::string> describe(const ObjectReader& objects, const Value& value) {
  std::string name = "list";
  if (const auto* object = std::get_if<Address>(&value)) {
    name = TRY(objects.type_of(*object))->name;
  } else if (const auto* scalar = std::get_if<Scalar>(&value)) {
    name = kTypes[scalar->index()];
  } else if (const auto* told = std::get_if<Told>(&value)) {
    name = told->type;
  }
  return fmt::format("'{}' object", name);
}

std::unexpected<Error> raised(std::string_view type,
                              const std::string& message) {
  return fail(ErrorId::ExpressionFailed, fmt::format("{}: {}", type, message));
}

std::unexpected<Error> runs_code(const std::string& what) {
  return fail(ErrorId::ExpressionFailed,
              what + ", and peek runs no code of the program", kEvalHint);
}

}  // namespace hangdbg
