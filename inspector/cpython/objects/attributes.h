// The attributes of an object, as far as they lie in memory: what its
// __dict__ and its slots hold, and what its class and that one's bases do.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/objects/dict.h"
#include "inspector/cpython/objects/object_reader.h"
#include "tracee/memory/address.h"

namespace hangdbg {

// The entries of the instance's own __dict__, if it has one.
// Errors: Unreadable.
Status each_in_instance(const ObjectReader& objects,
                        Address object,
                        const Type& type,
                        const VisitEntry& visit);

// A field of the instance that has a name: one of __slots__, or one that C
// shows as an attribute.
struct Member {
  std::string name;
  int type = 0;  // Py_T_... (Include/descrobject.h)
  std::int64_t offset = 0;

  bool is_object() const { return type == 6 || type == 16; }
};

// Those that this class itself adds. Errors: Unreadable.
Result<std::vector<Member>> members_of(const ObjectReader& objects,
                                       const Type& type);

// The class and its bases, in the order of lookup. Errors: Unreadable.
Result<std::vector<const Type*>> bases_of(const ObjectReader& objects,
                                          const Type& type);

// In the class or one of its bases, as it lies there: a method is a function.
// Errors: Unreadable.
Result<std::optional<Address>> find_in_class(const ObjectReader& objects,
                                             const Type& type,
                                             std::string_view name);

// In the __dict__ of the instance. Errors: Unreadable.
Result<std::optional<Address>> find_in_instance(const ObjectReader& objects,
                                                Address object,
                                                const Type& type,
                                                std::string_view name);

// What a plain class written in Python gave its instance: slots, the most
// basic class's first, then the __dict__. Errors: Unreadable.
Status each_attribute(
    const ObjectReader& objects,
    Address object,
    const Type& type,
    const std::function<bool(const std::string& name, Address value)>& visit);

// "collections.deque", "__main__.Outer.Inner", "int". Errors: Unreadable.
Result<std::string> qualified_name(const ObjectReader& objects,
                                   const Type& type);

}  // namespace hangdbg
