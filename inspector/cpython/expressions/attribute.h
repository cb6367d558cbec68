// One attribute of an object, found as Python's default lookup finds it: in
// the class, the instance's __dict__ and its slots. What that finds only by
// running code (a property, __getattr__) is named and left alone.
#pragma once

#include <string>

#include "base/result.h"
#include "inspector/cpython/expressions/value.h"
#include "inspector/cpython/objects/object_reader.h"
#include "tracee/memory/address.h"

namespace hangdbg {

// Errors: ExpressionFailed, Unreadable.
Result<Value> read_attribute(const ObjectReader& objects,
                             Address object,
                             const std::string& name);

// Whether a class written in Python has that method of its own. Errors:
// Unreadable.
Result<bool> has_own_method(const ObjectReader& objects,
                            const Type& type,
                            std::string_view name);

}  // namespace hangdbg
