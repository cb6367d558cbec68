// Numbers and texts as DWARF writes them, taken off the front of a section.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace hangdbg {

// Once there is not enough, all are 0.
class DwarfCursor {
 public:
  using Bytes = std::span<const std::byte>;

  explicit DwarfCursor(Bytes bytes) : bytes_(bytes) {}

  bool done() const { return bytes_.empty(); }
  bool failed() const { return failed_; }

  template <class T>
  T take() {
    T value{};
    const Bytes from = skip(sizeof value);
    if (!from.empty()) {
      std::memcpy(&value, from.data(), sizeof value);
    }
    return value;
  }
  std::uint64_t leb128() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = take<std::uint8_t>();
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80U) == 0) {
        break;
      }
    }
    return value;
  }
  std::int64_t signed_leb128() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
      const auto byte = take<std::uint8_t>();
      value |= std::uint64_t{byte & 0x7fU} << shift;
      shift += 7;
      if ((byte & 0x80U) == 0) {
        if ((byte & 0x40U) != 0 && shift < 64) {
          value |= ~std::uint64_t{0} << shift;
        }
        break;
      }
    }
    return static_cast<std::int64_t>(value);
  }
  std::string_view text() {
    const auto end = std::ranges::find(bytes_, std::byte{0});
    const auto size = static_cast<std::size_t>(end - bytes_.begin());
    const auto* start = reinterpret_cast<const char*>(bytes_.data());
    return skip(size + 1).empty() ? std::string_view()
                                  : std::string_view(start, size);
  }
  Bytes rest() const { return bytes_; }
  // So many bytes, or none if there are fewer.
  Bytes skip(std::uint64_t size) {
    if (size > bytes_.size()) {
      failed_ = true;
      bytes_ = {};
      return {};
    }
    return std::exchange(bytes_, bytes_.subspan(size)).first(size);
  }

 private:
  Bytes bytes_;
  bool failed_ = false;
};

}  // namespace hangdbg
