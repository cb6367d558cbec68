// Bytecode of any bytes, of each version: instructions and the loops around
// each of them, or nothing.
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "inspector/cpython/code/flow.h"
#include "inspector/cpython/code/loop_conditions.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size < 2 || size > 400) {
    return 0;
  }
  const int minor = 6 + data[0] % 10;
  const auto all = std::as_bytes(std::span(data, size)).subspan(2);
  const auto bytes =
      all.first(std::min<std::size_t>(all.size(), data[1] & 254U));
  auto code = hangdbg::read_instructions(bytes, minor);
  if (code) {
    hangdbg::CodeObject made{.minor = minor};
    made.flow = hangdbg::make_flow(*std::move(code), all.subspan(bytes.size()));
    made.names = {"a", "b"};
    made.locals = {"c"};
    made.constants = {"1", ""};
    made.keywords = {{}, {"k"}};
    for (std::int32_t at = 0; at < made.flow.size(); ++at) {
      hangdbg::frame_loops(made, made.flow.code[hangdbg::slot(at)].start);
    }
  }
  return 0;
}
