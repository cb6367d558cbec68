// What hangdbg itself has run out of.
#pragma once

#include "base/error.h"

namespace hangdbg {

// The error to report for `noticed`. Without descriptors a process that exists
// is not found, and one that may be traced seems not to be: where they ran out,
// that is the error.
Error with_its_cause(const Error& noticed);

}  // namespace hangdbg
