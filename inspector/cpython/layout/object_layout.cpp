// The generated rows.
#include "inspector/cpython/layout/object_layout.h"

#include <algorithm>
#include <span>

namespace hangdbg {
namespace {

constexpr ObjectLayout kGeneratedObjectLayouts[] = {
#include "inspector/cpython/layout/object_layouts.inc"
};

constexpr ObjectLayout kCheckedObjectLayouts[] = {
#include "inspector/cpython/layout/checked_object_layouts.inc"
};

const ObjectLayout* find_row(std::span<const ObjectLayout> rows,
                             int minor,
                             bool free_threaded) {
  const auto found = std::ranges::find_if(rows, [&](const ObjectLayout& row) {
    return row.minor == minor && row.free_threaded == free_threaded;
  });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

const ObjectLayout* object_layout(int minor, bool free_threaded, bool checked) {
  const ObjectLayout* found =
      checked ? find_row(kCheckedObjectLayouts, minor, free_threaded) : nullptr;
  return found != nullptr
             ? found
             : find_row(kGeneratedObjectLayouts, minor, free_threaded);
}

const ObjectLayout& newest_object_layout(bool free_threaded) {
  const ObjectLayout* newest = nullptr;
  for (const ObjectLayout& row : kGeneratedObjectLayouts) {
    if (row.free_threaded == free_threaded &&
        (newest == nullptr || row.minor > newest->minor)) {
      newest = &row;
    }
  }
  return *newest;
}

}  // namespace hangdbg
