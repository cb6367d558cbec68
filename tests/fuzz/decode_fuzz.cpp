// Any text either becomes a message or a BadMessage; a message written out
// again is read back as the same, and so is each typed message that it can be
// taken for.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/dap/pairs.h"

using namespace hangdbg;

namespace {

template <class T>
void decode_typed(const Json& json) {
  const Result<T> value = decode<T>(json);
  if (!value) {
    return;
  }
  const Json written = encode(*value);
  const Result<T> again = decode<T>(written);
  if (!again || encode(*again).dump() != written.dump()) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto message = dap::parse_message(text);
  if (!message) {
    return 0;
  }
  const std::string written = dap::to_text(*message);
  const auto again = dap::parse_message(written);
  if (!again || dap::to_text(*again) != written) {
    std::abort();
  }
  if (const auto* request = std::get_if<dap::Request>(&*message)) {
    dap::each_request([&]<class Pair>() {
      decode_typed<typename Pair::Arguments>(request->arguments);
    });
  } else if (const auto* event = std::get_if<dap::Event>(&*message)) {
    dap::each_event(
        [&]<class Kind>() { decode_typed<typename Kind::Body>(event->body); });
  } else if (const auto* response = std::get_if<dap::Response>(&*message)) {
    dap::each_request([&]<class Pair>() {
      decode_typed<typename Pair::Body>(response->body);
    });
    (void)dap::error_of(*response);
  }
  return 0;
}
