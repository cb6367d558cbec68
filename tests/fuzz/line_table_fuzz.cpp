// A line table of any bytes gives a line or none, for each of the formats.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "inspector/cpython/layout/line_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size < 2) {
    return 0;
  }
  const int minor = 6 + data[0] % 9;
  const std::int64_t offset = data[1] * std::int64_t{8} - 8;
  const auto table = std::as_bytes(std::span(data, size).subspan(2));
  if (hangdbg::line_at(table, minor, 1, offset) < 0) {
    std::abort();
  }
  return 0;
}
