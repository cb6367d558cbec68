// A process's stacks as a person reads them.
#pragma once

#include <string>

#include "client/terminal/render.h"
#include "inspector/snapshot/process_dump.h"
#include "server/session/source_text.h"

namespace hangdbg {

struct DumpStyle {
  bool full_filenames = false;
  int source_lines = 0;  // around each frame's line
  std::string sysroot;   // where the sources are, if no live process knows
};

std::string dump_text(const ProcessDump& dump,
                      const DumpStyle& style,
                      const Palette& out);

}  // namespace hangdbg
