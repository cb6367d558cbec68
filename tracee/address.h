// Address: a place in the target's memory. Never one of ours: it has no
// operator* and turns into no pointer; only a MemoryReader can look there.
#pragma once

#include <compare>
#include <cstdint>

namespace hangdbg {

struct Address {
  std::uint64_t value = 0;

  constexpr explicit operator bool() const { return value != 0; }
  constexpr auto operator<=>(const Address&) const = default;
  constexpr Address operator+(std::uint64_t offset) const {
    return {value + offset};
  }
  constexpr Address operator-(std::uint64_t offset) const {
    return {value - offset};
  }
  constexpr std::uint64_t operator-(Address other) const {
    return value - other.value;
  }
};

}  // namespace hangdbg
