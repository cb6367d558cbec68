// None, numbers, text and bytes.
#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "inspector/cpython/layout/text.h"
#include "inspector/cpython/objects/numbers.h"
#include "inspector/cpython/objects/quoted.h"
#include "inspector/cpython/objects/repr_writer.h"

namespace hangdbg {
namespace {

struct Complex {
  double real, imaginary;
};

Status write_str(ReprWriter& to, Address object) {
  TRY(read_size(to.objects, object, Kind::Str));  // or it has none
  const CodePoints points = TRY(read_code_points(
      to.objects.memory(), to.objects.layout(), object, to.limits.text));
  to.put(python_quoted(points.text));
  to.put(rest_of(points.length, points.text.size()));
  return {};
}

Status write_bytes(ReprWriter& to, Address object, Address data) {
  const auto size = TRY(read_size(to.objects, object, Kind::Bytes));
  std::vector<std::byte> bytes(std::min<std::uint64_t>(size, to.limits.text));
  TRY(to.objects.memory().read(data, bytes));
  to.put(python_quoted(bytes));
  to.put(rest_of(size, bytes.size()));
  return {};
}

}  // namespace

Status write_scalar(ReprWriter& to, Address object, const Type& type) {
  const MemoryReader& memory = to.objects.memory();
  const ObjectLayout& at = to.objects.at();
  switch (type.kind) {
    case Kind::None:
      to.put("None");
      return {};
    case Kind::Ellipsis:
      to.put("Ellipsis");
      return {};
    case Kind::NotImplemented:
      to.put("NotImplemented");
      return {};
    case Kind::Bool:
      to.put(TRY(int_value(to.objects, object)) == 0 ? "False" : "True");
      return {};
    case Kind::Int:
      to.put(TRY(int_text(to.objects, object)));
      return {};
    case Kind::Float:
      to.put(
          float_text(TRY(memory.read_value<double>(object + at.float_value))));
      return {};
    case Kind::Complex: {
      const auto value =
          TRY(memory.read_value<Complex>(object + at.complex_value));
      to.put(complex_text(value.real, value.imaginary));
      return {};
    }
    case Kind::Str:
      return write_str(to, object);
    case Kind::Bytes:
      return write_bytes(to, object, object + to.objects.layout().bytes_data);
    case Kind::ByteArray:
      to.put(type.name + "(");
      TRY(write_bytes(to, object,
                      TRY(to.objects.pointer(object + at.bytearray_start))));
      to.put(")");
      return {};
    default:
      return write_plain(to, object, type);
  }
}

}  // namespace hangdbg
