// The value stack of a Python frame: what its code is working with.
//
// How many values there are is known only while the frame is suspended. But
// each block that handles exceptions says down to where it will unwind: what
// lies below that is there for sure.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/stacks/python_stack.h"
#include "tracee/memory/address.h"

namespace hangdbg {

// The values below the innermost block that handles exceptions, the lowest
// first; empty places are left out. Sources: f_blockstack (up to 3.10,
// Include/frameobject.h), co_exceptiontable
// (Objects/exception_handling_notes.txt). Errors: Unreadable.
Result<std::vector<Address>> values_below_handler(const ObjectReader& objects,
                                                  const PythonFrame& frame);

// Of a `with` whose __enter__ has just been called: the values that will be
// below its handler, and then what __enter__ has returned, or is called by.
// From 3.14 on, where that call is an instruction of its own; else, and at
// other instructions, empty. Errors: Unreadable.
Result<std::vector<Address>> values_of_entered(const ObjectReader& objects,
                                               const PythonFrame& frame);

// The lowest `most` places of the stack; 0 where nothing is.
std::vector<Address> places_of(const ObjectReader& objects,
                               const PythonFrame& frame,
                               std::size_t most);

// The lowest `most` places of the stack, whatever is in them: values, some of
// which are there no more.
std::vector<Address> possible_values(const ObjectReader& objects,
                                     const PythonFrame& frame,
                                     std::size_t most);

}  // namespace hangdbg
