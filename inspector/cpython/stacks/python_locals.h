// The variables of a Python frame, read out of process: arguments and locals in
// their order, cells resolved, and where a name means something global.
//
// `frame` and `code` are a PythonFrame's addresses. Of a thread that has run
// since, they may be gone: then there is an error, or what took their place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/objects/object_reader.h"
#include "tracee/memory/address.h"

namespace hangdbg {

struct Variable {
  std::string name;
  Address object;
};

// Those that are set, but for __names__ of the interpreter's own: a function's
// locals, a class body's names so far, and a module's, without what it imports
// and defines. Errors: Unreadable.
Result<std::vector<Variable>> read_locals(const ObjectReader& objects,
                                          Address frame,
                                          Address code);

// Those of the frame's module, likewise. Errors: Unreadable.
Result<std::vector<Variable>> read_globals(const ObjectReader& objects,
                                           Address frame,
                                           Address code);

// What the name means in that frame: a local, a global, or a builtin.
// Errors: ExpressionFailed when nothing has that name; Unreadable.
Result<Address> find_name(const ObjectReader& objects,
                          Address frame,
                          Address code,
                          std::string_view name);

}  // namespace hangdbg
