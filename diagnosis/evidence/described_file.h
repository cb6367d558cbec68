// An open file with what is at its other end.
#pragma once

#include "diagnosis/snapshot/system_snapshot.h"
#include "tracee/net/descriptors.h"

namespace hangdbg {

// Of process `pid`: its TCP connection, or the other holders of its pipe.
Descriptor describe_file(SystemSnapshot& system, int pid, OpenFile file);

}  // namespace hangdbg
