// A DWARF line table of any bytes gives some lines or none.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "tracee/source_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  std::vector<hangdbg::Address> code;
  for (std::uint64_t at = 0; at < 64; ++at) {
    code.push_back({0x1000 + at});
  }
  const auto lines =
      hangdbg::source_lines({bytes, bytes.subspan(size / 2)}, 0, code);
  if (lines.size() > code.size()) {
    std::abort();
  }
  return 0;
}
