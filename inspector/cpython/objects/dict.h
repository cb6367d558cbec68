// What is in a dict: combined or split, of any width of index, with keys of
// any type or of str alone.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "inspector/cpython/objects/object_reader.h"
#include "tracee/memory/address.h"

namespace hangdbg {

struct DictEntry {
  Address key;
  Address value;
};

// Returns whether to continue.
using VisitEntry = std::function<bool(const DictEntry&)>;

constexpr bool is_dict(Kind kind) {
  return kind == Kind::Dict || kind == Kind::OrderedDict ||
         kind == Kind::DefaultDict || kind == Kind::FrozenDict;
}

// The entries in order. Errors: Unreadable, also when there is no dict, or one
// too large to go through.
Status each_entry(const ObjectReader& objects,
                  Address dict,
                  const VisitEntry& visit);

// The same of attributes that an instance keeps beside the `keys` of its
// class. Errors: Unreadable.
Status each_value(const ObjectReader& objects,
                  Address keys,
                  Address values,
                  const VisitEntry& visit);

// The value of a key that is a str; none if there is none. Errors: Unreadable.
Result<std::optional<Address>> find_key(const ObjectReader& objects,
                                        Address dict,
                                        std::string_view key);

// A visitor that looks for this name, and leaves its value in `found`.
VisitEntry look_for(const ObjectReader& objects,
                    std::string_view name,
                    std::optional<Address>& found);

}  // namespace hangdbg
