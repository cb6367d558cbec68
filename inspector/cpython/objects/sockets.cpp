#include "inspector/cpython/objects/sockets.h"

#include <cstdint>

#include "inspector/cpython/objects/attributes.h"
#include "inspector/cpython/objects/numbers.h"

namespace hangdbg {
namespace {

constexpr int kMostBases = 8;

std::optional<int> open_one(std::optional<std::int64_t> number) {
  return number && *number >= 0 && *number < INT32_MAX
             ? std::optional(static_cast<int>(*number))
             : std::nullopt;
}

}  // namespace

std::optional<int> socket_descriptor(const ObjectReader& objects,
                                     Address object) {
  const auto own = objects.type_of(object);
  if (!own) {
    return {};
  }
  if ((*own)->in_python() && (*own)->name == "Connection") {
    const auto handle = find_in_instance(objects, object, **own, "_handle");
    const auto number = handle && *handle ? int_value(objects, **handle)
                                          : std::unexpected(Error());
    return number ? open_one(*number) : std::nullopt;
  }
  auto type = own;
  for (int i = 0; i < kMostBases && type; ++i) {
    if ((*type)->path == "_socket.socket") {
      const auto number = objects.memory().read_value<std::int32_t>(
          object + objects.at().object_size);
      return number ? open_one(*number) : std::nullopt;
    }
    if (!(*type)->base) {
      break;
    }
    type = objects.type_at((*type)->base);
  }
  return {};
}

}  // namespace hangdbg
