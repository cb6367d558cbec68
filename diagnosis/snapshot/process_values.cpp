// Values of Python in a ProcessSnapshot, by expressions as of `hangdbg peek`.
#include <variant>

#include "diagnosis/snapshot/process_snapshot.h"
#include "inspector/cpython/expressions/peek.h"
#include "inspector/cpython/expressions/value.h"
#include "inspector/cpython/objects/numbers.h"
#include "inspector/cpython/objects/repr.h"

namespace hangdbg {
namespace {

std::optional<Address> object_of(const ObjectReader& objects,
                                 const PythonFrame& frame,
                                 std::string_view expression) {
  const auto parsed = parse_expression(expression);
  const auto value = parsed ? evaluate(objects, frame, *parsed)
                            : std::unexpected(parsed.error());
  const auto* const object = value ? std::get_if<Address>(&*value) : nullptr;
  return object != nullptr ? std::optional(*object) : std::nullopt;
}

std::optional<std::int64_t> number_at(const ObjectReader& objects,
                                      Address object) {
  const auto type = objects.type_of(object);
  if (!type || ((*type)->kind != Kind::Int && (*type)->kind != Kind::Bool)) {
    return std::nullopt;
  }
  const auto value = int_value(objects, object);
  return value ? *value : std::nullopt;
}

}  // namespace

std::optional<Address> ProcessSnapshot::object(
    const PythonFrame& frame,
    std::string_view expression) const {
  if (!objects_) {
    return {};
  }
  objects_->allow_reads();
  return object_of(*objects_, frame, expression);
}

std::optional<std::string> ProcessSnapshot::text(
    const PythonFrame& frame,
    std::string_view expression) const {
  const auto found = object(frame, expression);
  const auto type =
      found ? objects_->type_of(*found) : std::unexpected(Error());
  const auto name = type && (*type)->kind == Kind::Str
                        ? objects_->name(*found)
                        : std::unexpected(Error());
  return name ? std::optional(*name) : std::nullopt;
}

std::optional<std::int64_t> ProcessSnapshot::number(
    const PythonFrame& frame,
    std::string_view expression) const {
  const auto found = object(frame, expression);
  return found ? number_at(*objects_, *found) : std::nullopt;
}

std::string ProcessSnapshot::shown(const PythonFrame& frame,
                                   std::string_view expression) const {
  const auto found = object(frame, expression);
  return found ? repr(*objects_, *found, {.depth = 1, .items = 5, .text = 80})
               : "?";
}

std::optional<FrameLoops> ProcessSnapshot::loops(
    const PythonFrame& frame) const {
  if (!objects_) {
    return {};
  }
  objects_->allow_reads();
  auto read = read_frame_loops(*objects_, frame.code, frame.offset);
  return read ? std::optional(*std::move(read)) : std::nullopt;
}

std::vector<std::int64_t> ProcessSnapshot::numbers_now(
    const PythonFrame& frame,
    const std::function<std::string(int)>& expression,
    int most) const {
  std::vector<std::int64_t> numbers;
  const auto objects =
      process_ ? ObjectReader::open(process_->memory, process_->python)
               : std::unexpected(Error());
  if (objects) {
    objects->allow_reads();
  }
  for (int i = 0; objects && i < most; ++i) {
    const auto found = object_of(*objects, frame, expression(i));
    const auto number = found ? number_at(*objects, *found) : std::nullopt;
    if (!number) {
      break;
    }
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace hangdbg
