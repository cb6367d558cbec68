// This machine's name, as it calls itself.
#pragma once

#include <unistd.h>

#include <array>
#include <string>

namespace hangdbg {

// "" if it has none (gethostname(2)).
inline std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace hangdbg
