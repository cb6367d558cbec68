// A DWARF line table of any bytes gives some lines or none.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "tracee/elf/source_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  std::vector<hangdbg::Address> code;
  for (std::uint64_t at = 0; at < 64; ++at) {
    code.push_back({0x1000 + at});
  }
  hangdbg::FakeMemory file;
  file.add({}, {bytes.begin(), bytes.end()});
  hangdbg::SectionReader section(file, {}, size);
  const auto rest = bytes.subspan(size / 2);
  const auto lines = hangdbg::source_lines({section, rest, rest}, 0, code);
  if (lines.size() > code.size()) {
    std::abort();
  }
  return 0;
}
