// A .tar.gz of some files in one folder, as text in memory: made, and read
// again.
//
// The format is POSIX ustar (pax(1), "ustar Interchange Format") in one gzip
// member. Names of ours are short and files small, so that nothing of its
// extensions is needed; docs/decisions/0070 says why no library writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hangdbg {

struct ArchivedFile {
  std::string name;  // with its folders; at most 100 bytes
  std::string text;
};

// The same bytes for the same files: in this order, for their owner alone, all
// of the same time (seconds since 1970). Errors: System.
Result<std::string> pack(const std::vector<ArchivedFile>& files,
                         std::int64_t time);

// Its plain files; what else is in there is passed over. What would unpack to
// more than `most` bytes is refused. Error: BadMessage.
Result<std::vector<ArchivedFile>> unpack(std::string_view bytes,
                                         std::size_t most);

// By its first two bytes (RFC 1952).
bool is_gzip(std::string_view bytes);

}  // namespace hangdbg
