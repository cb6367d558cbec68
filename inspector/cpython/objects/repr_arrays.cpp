// Arrays and tensors: their shape, dtype and device, and the values of a small
// array in the process's own memory.
#include <fmt/core.h>

#include "inspector/cpython/objects/arrays.h"
#include "inspector/cpython/objects/repr_writer.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostValues = 16;

Status write_numpy(ReprWriter& to, Address object, const Type& type) {
  const ArrayShape shape = TRY(read_array(to.objects, object));
  to.put(fmt::format("<{} shape={} dtype={}", type.name, shape.text(),
                     shape.dtype));
  const auto values = TRY(array_values(to.objects, object, kMostValues));
  for (std::size_t i = 0; i < values.size(); ++i) {
    to.put((i == 0 ? " values=[" : ", ") + values[i]);
  }
  to.put(values.empty() ? ">" : "]>");
  return {};
}

}  // namespace

Status write_array(ReprWriter& to, Address object, const Type& type) {
  if (type.kind == Kind::Array) {
    return write_numpy(to, object, type);
  }
  if (type.kind == Kind::ArrayScalar) {
    to.put(fmt::format("np.{}({})", type.name,
                       TRY(array_scalar(to.objects, object, type))));
    return {};
  }
  const auto shape = read_tensor(to.objects, object);
  if (!shape) {  // of a torch to come
    return write_plain(to, object, type);
  }
  to.put(fmt::format("<{} shape={} dtype={} device={}>", type.name,
                     shape->text(), shape->dtype, shape->device));
  return {};
}

}  // namespace hangdbg
