// What two nodes say to each other over a connection of the probe:
//
//   connector: greeting, kProbeBulk bytes
//   listener:  greeting; once it has all of the connector's, one byte that says
//              so, and kProbeBulk bytes
//
// A greeting carries a secret of this probe, so that neither side takes another
// program for a node. Bulk goes out in segments as large as the path is
// believed to allow: a path that drops large packets shows by that.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"

namespace hangdbg {

constexpr std::size_t kProbeSecret = 32;  // hexadecimal digits
constexpr std::size_t kProbeGreeting = 14 + kProbeSecret + 1 + 6 + 1;
constexpr std::size_t kProbeBulk = 64 << 10;
constexpr std::string_view kProbeArrived = ".";
constexpr int kMostProbeNodes = 256;

inline std::string probe_greeting(const std::string& secret, int number) {
  return fmt::format("hangdbg-probe {} {:06}\n", secret, number);
}

// The number in it; none if it is no greeting of that probe.
inline std::optional<int> read_probe_greeting(std::string_view text,
                                              const std::string& secret) {
  if (text.size() != kProbeGreeting) {
    return std::nullopt;
  }
  const auto number = parse_number<int>(text.substr(text.size() - 7, 6));
  return number && text == probe_greeting(secret, *number) ? number
                                                           : std::nullopt;
}

}  // namespace hangdbg
