// The maker of a lock file, if recorded in it: newer versions of filelock's
// SoftFileLock do that.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "diagnosis/snapshot/process_snapshot.h"
#include "diagnosis/waits/holders.h"

namespace hangdbg {

struct FileOwner {
  int pid = 0;
  std::string host;
  // Of what is read from a file: its process is one of ours, by that number.
  bool here = false;
  bool alive = false;  // then it is there
};

// None: nothing is recorded in it, or in an unknown form.
std::optional<FileOwner> file_owner(const ProcessSnapshot& of,
                                    const SeenFile& file);

// The content of such a file: "4242\nada\n", or lines "pid=4242" and "host=ada"
// below "filelock/2".
std::optional<FileOwner> parse_file_owner(std::string_view text);

}  // namespace hangdbg
