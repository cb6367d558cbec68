// What is seen of a system call at its entry and at its exit.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

namespace hangdbg {

struct TraceThread {
  int pid = 0;
  int tid = 0;
};

struct TracedCall {
  long number = -1;
  std::array<std::uint64_t, 6> args{};
  bool compat = false;   // of the 32-bit table (int 0x80)
  bool resumed = false;  // it had begun before, and was interrupted by a stop
};

struct TracedResult {
  std::int64_t value = 0;  // -4095 to -1: an error's number, negative
  std::chrono::nanoseconds took{};
};

struct TracedEnd {
  int exit_code = 0;
  std::optional<int> signal = {};  // that has killed it
};

}  // namespace hangdbg
