// Address: a place in the target's memory. Never one of ours: it has no
// operator* and turns into no pointer; only a MemoryReader can look there.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

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

template <>
struct std::hash<hangdbg::Address> {
  std::size_t operator()(hangdbg::Address at) const noexcept {
    return std::hash<std::uint64_t>()(at.value);
  }
};
