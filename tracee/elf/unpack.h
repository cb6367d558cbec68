// A file that may be compressed, as the plain one that it was.
#pragma once

#include "base/fd.h"
#include "base/result.h"

namespace hangdbg {

// The file itself, or (of gzip and zstd) what is in it, unpacked into a file
// without a name under $TMPDIR or /var/tmp. Stretches of zeros take no room
// there. Errors: Unreadable, when it is damaged or there is no room.
Result<Fd> unpacked(Fd file);

}  // namespace hangdbg
