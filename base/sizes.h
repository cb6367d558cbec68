// Sizes as one says them.
#pragma once

#include <fmt/core.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace hangdbg {

// "512 bytes", "1.5 KiB", "80 GiB".
inline std::string human_size(std::uint64_t bytes) {
  constexpr std::array kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (size >= 1024 && unit + 1 < kUnits.size()) {
    size /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", size, unit == 0 || size >= 10 ? 0 : 1,
                     kUnits[unit]);
}

}  // namespace hangdbg
