// The FIFO that a thread opens: open(2) waits until it is opened for the other
// direction (fifo(7)).
#pragma once

#include <optional>

#include "diagnosis/snapshot/process_snapshot.h"
#include "diagnosis/waits/holders.h"

namespace hangdbg {

struct OpenedFifo {
  SeenFile file;
  bool to_read = false;  // else to write
};

// By the path that the call was given. None: it opens something else, or its
// arguments cannot be read.
std::optional<OpenedFifo> opened_fifo(const ProcessSnapshot& of,
                                      const ThreadSnapshot& thread);

}  // namespace hangdbg
