// Which objects of a newer Python than we know are as they were before.
//
// The interpreter has objects whose content is known: sys.maxsize,
// sys.platform, sys.float_info, the module sys and its __spec__. A kind of
// object is trusted if such a one reads as it must, by the newest row that
// there is.
#pragma once

#include "base/result.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/runtime/python_runtime.h"
#include "tracee/memory/memory.h"

namespace hangdbg {

// `python` is `unknown`. Errors: UnsupportedPython, where not even types, dicts
// and str read as they must, or variables are not where they were.
Result<TrustedKinds> prove_objects(const MemoryReader& memory,
                                   const PythonRuntime& python);

}  // namespace hangdbg
