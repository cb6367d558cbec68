// Any text either becomes a message or a BadMessage; a message written out
// again is read back as the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "protocol/message.h"
#include "protocol/requests/evaluate.h"
#include "protocol/requests/stack_trace.h"

using namespace hangdbg;

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
    (void)dap::arguments_of<dap::Evaluate>(*request);
    (void)dap::arguments_of<dap::StackTrace>(*request);
  } else if (const auto* response = std::get_if<dap::Response>(&*message)) {
    (void)dap::body_of<dap::StackTrace>(*response);
    (void)dap::error_of(*response);
  }
  return 0;
}
