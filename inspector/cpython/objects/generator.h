// How far a generator, coroutine or asynchronous generator is.
#pragma once

#include <string>

#include "base/result.h"
#include "inspector/cpython/objects/object_reader.h"
#include "tracee/memory/address.h"

namespace hangdbg {

// "created", "suspended", "running", "closed". Errors: Unreadable.
Result<std::string> generator_state(const ObjectReader& objects,
                                    Address object);

}  // namespace hangdbg
