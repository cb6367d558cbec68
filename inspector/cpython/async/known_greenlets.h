// Greenlets whose addresses are known: read without the search for all of them
// (greenlets.h).
#pragma once

#include "base/result.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/stacks/python_stack.h"
#include "tracee/memory/address.h"

namespace hangdbg {

// The first greenlet of the thread that `greenlet` belongs to, which has begun.
// Errors: Unreadable, also if it is no greenlet.
Result<Address> main_greenlet_of(const ObjectReader& objects, Address greenlet);

// Where a suspended one left off. Errors: Unreadable, also if it is no
// greenlet, or not suspended.
Result<PythonStack> stack_of_greenlet(const ObjectReader& objects,
                                      PythonStackReader& stacks,
                                      Address greenlet);

}  // namespace hangdbg
