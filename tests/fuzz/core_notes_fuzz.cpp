// The notes of a core file, of any bytes, are threads and files or an error.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "tracee/elf/core_notes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto notes =
      hangdbg::parse_core_notes(std::as_bytes(std::span(data, size)));
  if (notes && notes->threads.empty()) {
    std::abort();
  }
  return 0;
}
