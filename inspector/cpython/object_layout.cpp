// The generated rows.
#include "inspector/cpython/object_layout.h"

#include <algorithm>
#include <iterator>

namespace hangdbg {
namespace {

constexpr ObjectLayout kGeneratedObjectLayouts[] = {
#include "inspector/cpython/object_layouts.inc"
};

}  // namespace

const ObjectLayout* object_layout(int minor, bool free_threaded) {
  const auto* found = std::ranges::find_if(
      kGeneratedObjectLayouts, [&](const ObjectLayout& row) {
        return row.minor == minor && row.free_threaded == free_threaded;
      });
  return found == std::end(kGeneratedObjectLayouts) ? nullptr : found;
}

}  // namespace hangdbg
