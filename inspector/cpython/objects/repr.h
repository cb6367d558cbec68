// The text of an object as repr() would print it, made from its memory alone:
// no code of the target runs, so a class's own __repr__ is never called. An
// instance of such a class shows its attributes instead, <Point x=1, y=2>.
#pragma once

#include <cstddef>
#include <string>

#include "inspector/cpython/objects/object_reader.h"
#include "tracee/memory/address.h"

namespace hangdbg {

struct ReprLimits {
  std::size_t depth = 2;          // of containers and instances in each other
  std::size_t items = 20;         // of each
  std::size_t text = 200;         // code points or bytes of each
  std::size_t characters = 2000;  // bytes of the whole
};

// Never fails: what cannot be read is "<unreadable at 0x7f…>", what is left
// out "…". Safe to print: control characters are escaped.
std::string repr(const ObjectReader& objects,
                 Address object,
                 const ReprLimits& limits = {});

}  // namespace hangdbg
