#include "inspector/cpython/expressions/peek.h"

#include <utility>

#include "base/text.h"
#include "inspector/cpython/expressions/attribute.h"
#include "inspector/cpython/expressions/compare.h"
#include "inspector/cpython/expressions/item.h"
#include "inspector/cpython/objects/numbers.h"
#include "inspector/cpython/objects/quoted.h"
#include "inspector/cpython/objects/repr_writer.h"
#include "inspector/cpython/stacks/python_locals.h"

namespace hangdbg {
namespace {

struct Evaluator {
  const ObjectReader& objects;
  const PythonFrame& frame;

  Result<Value> operator()(const Expression& expression) const {
    return std::visit(*this, expression.is);
  }

  Result<Value> operator()(const Scalar& literal) const { return literal; }

  Result<Value> operator()(const NamePart& part) const {
    return TRY(find_name(objects, frame.address, frame.code, part.name));
  }

  Result<Value> operator()(const AttributePart& part) const {
    const Value of = TRY((*this)(*part.of));
    const auto* object = std::get_if<Address>(&of);
    if (object == nullptr) {
      return raised("AttributeError", TRY(describe(objects, of)) +
                                          " has no attributes in memory");
    }
    return read_attribute(objects, *object, part.name);
  }

  Result<Value> operator()(const ItemPart& part) const {
    const Value of = TRY((*this)(*part.of));
    return read_item(objects, of, TRY((*this)(*part.index)));
  }

  Result<Value> operator()(const SlicePart& part) const {
    return read_slice(objects, TRY((*this)(*part.of)), part);
  }

  Result<Value> operator()(const LengthPart& part) const {
    return read_length(objects, TRY((*this)(*part.of)));
  }

  Result<Value> operator()(const ComparisonPart& part) const {
    const Value left = TRY((*this)(*part.left));
    const Value right = TRY((*this)(*part.right));
    return Scalar(TRY(compare(objects, left, part.how, right)));
  }
};

Peeked show(const Scalar& scalar, const ReprLimits& limits) {
  if (const auto* integer = std::get_if<Integer>(&scalar)) {
    return {"int", integer->decimal};
  }
  if (const auto* number = std::get_if<double>(&scalar)) {
    return {"float", float_text(*number)};
  }
  if (const auto* text = std::get_if<std::u32string>(&scalar)) {
    return {"str", printable(python_quoted(text->substr(0, limits.text)) +
                             rest_of(text->size(), limits.text))};
  }
  if (const auto* bytes = std::get_if<Bytes>(&scalar)) {
    const std::span all(*bytes);
    return {"bytes",
            python_quoted(all.first(std::min(all.size(), limits.text))) +
                rest_of(all.size(), limits.text)};
  }
  const auto* truth = std::get_if<bool>(&scalar);
  return truth == nullptr ? Peeked{"NoneType", "None"}
                          : Peeked{"bool", *truth ? "True" : "False"};
}

Peeked show(const ObjectReader& objects,
            const SliceOf& slice,
            const ReprLimits& limits) {
  ReprWriter writer(objects, limits);
  const bool tuple = slice.kind == Kind::Tuple;
  Listing listing(writer, tuple ? "(" : "[", slice.items.size);
  for (std::size_t i = 0; listing.next(); ++i) {
    writer.write(slice.items.items[i]);
  }
  listing.close(!tuple ? "]" : slice.items.size == 1 ? ",)" : ")");
  return {tuple ? "tuple" : "list", printable(writer.text())};
}

}  // namespace

Result<Value> evaluate(const ObjectReader& objects,
                       const PythonFrame& frame,
                       const Expression& expression) {
  return Evaluator{objects, frame}(expression);
}

Result<Peeked> peek(const ObjectReader& objects,
                    const PythonFrame& frame,
                    const Expression& expression,
                    const ReprLimits& limits) {
  const Value value = TRY(evaluate(objects, frame, expression));
  if (const auto* scalar = std::get_if<Scalar>(&value)) {
    return show(*scalar, limits);
  }
  if (const auto* slice = std::get_if<SliceOf>(&value)) {
    return show(objects, *slice, limits);
  }
  if (const auto* told = std::get_if<Told>(&value)) {
    return Peeked{told->type, printable(told->text)};
  }
  const Address object = std::get<Address>(value);
  const Type* const type = TRY(objects.type_of(object));
  return Peeked{type->name, repr(objects, object, limits)};
}

}  // namespace hangdbg
