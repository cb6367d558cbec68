// What is base64 is written again as it was; all else is refused.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "protocol/base64.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto bytes = hangdbg::from_base64(text);
  if (bytes && hangdbg::to_base64(*bytes) != text) {
    std::abort();
  }
  const auto again = hangdbg::from_base64(hangdbg::to_base64(text));
  if (!again || *again != text) {
    std::abort();
  }
  return 0;
}
