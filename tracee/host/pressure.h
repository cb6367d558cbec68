// How much of the time tasks wait for the CPU, memory or the disk: pressure
// stall information (Documentation/accounting/psi.rst), of the machine or of a
// cgroup of version 2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hangdbg {

struct Stall {
  double avg10 = 0, avg60 = 0, avg300 = 0;  // percent of the last so many s
  std::uint64_t total_us = 0;
};

struct Pressure {
  Stall some;  // at least one task waited
  Stall full;  // all did, none of them got on
};

// "/proc/pressure/memory", ".../memory.pressure". None of a kernel that does
// not count it.
std::optional<Pressure> read_pressure(const std::string& path);
std::optional<Pressure> parse_pressure(std::string_view text);

}  // namespace hangdbg
