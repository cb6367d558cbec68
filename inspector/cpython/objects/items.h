// What is in a tuple, list, set or deque.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/objects/object_reader.h"
#include "tracee/memory/address.h"

namespace hangdbg {

struct Items {
  std::vector<Address> items;  // objects; 0 where there is none yet
  std::uint64_t size = 0;      // of the whole: its len()
};

constexpr bool has_items(Kind kind) {
  return kind == Kind::Tuple || kind == Kind::List || kind == Kind::Deque ||
         kind == Kind::Set || kind == Kind::FrozenSet;
}

// At most `most` from the `first` on, in the order of iteration.
// Errors: Unreadable, also when there is no such object of that kind.
Result<Items> read_items(const ObjectReader& objects,
                         Address object,
                         Kind kind,
                         std::uint64_t first,
                         std::size_t most);

// The same of a tuple that must be one: of names, bases, arguments.
Result<Items> read_tuple(const ObjectReader& objects,
                         Address object,
                         std::size_t most);

// How many a container or text holds, as len() would say. Errors: Unreadable.
Result<std::uint64_t> read_size(const ObjectReader& objects,
                                Address object,
                                Kind kind);

}  // namespace hangdbg
