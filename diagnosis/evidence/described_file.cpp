#include "diagnosis/evidence/described_file.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hangdbg {

Descriptor describe_file(SystemSnapshot& system, int pid, OpenFile file) {
  Descriptor one{.file = std::move(file), .tcp = {}, .other_ends = {}};
  if (one.file.kind == FileKind::Socket) {
    one.tcp = system.tcp_socket(pid, one.file.inode);
  } else if (one.file.is_pipe()) {
    std::ranges::copy_if(system.pipe_ends(one.file.inode, one.file.device),
                         std::back_inserter(one.other_ends),
                         [&](const PipeEnd& end) {
                           return (one.file.reads() && end.writes) ||
                                  (one.file.writes() && end.reads);
                         });
  }
  return one;
}

}  // namespace hangdbg
