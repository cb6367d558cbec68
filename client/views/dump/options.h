// What of the stacks is shown, and how: the flags that `dump` and `core` share.
#pragma once

#include <string>

#include "base/result.h"
#include "client/options/options.h"
#include "client/views/dump/text.h"
#include "inspector/snapshot/process_dump.h"

namespace hangdbg {

struct ShownOptions {
  bool native = false;
  bool native_all = false;
  bool tasks = false;
  bool full_filenames = false;
  // Flags that may have a value, so that "-l PID" is a flag and a PID. Empty:
  // not given; "true": without one.
  std::string locals;
  std::string source;

  // Errors: Usage.
  Result<DumpOptions> dump_options() const;
  Result<DumpStyle> style() const;
};

void add_shown_options(cli::Command command, ShownOptions& options);

}  // namespace hangdbg
