#include "inspector/native/frame_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <span>

namespace hangdbg {
namespace {

constexpr std::uint64_t kMostOfSegment = 64U << 20;

// Behind a CIE's length: its mark, version 1, augmentation "zR" (how code
// addresses are written), code and data alignment, rip's number, the size of
// what augments, addresses as 4 bytes, PC-relative. So compilers for
// x86-64 write it for C.
constexpr std::array<unsigned char, 13> kCie = {0, 0, 0,    0,    1, 'z', 'R',
                                                0, 1, 0x78, 0x10, 1, 0x1b};
constexpr std::size_t kLength = 4;

// One segment of which we have the bytes.
class Records {
 public:
  Records(std::span<const std::byte> bytes, const Module& module, Address at)
      : bytes_(bytes), module_(module), at_(at) {}

  std::vector<FrameTableEntry> find() const {
    auto from = bytes_.begin();
    while (true) {
      const auto mark = std::ranges::search(std::span(from, bytes_.end()),
                                            std::as_bytes(std::span(kCie)));
      if (mark.empty()) {
        return {};
      }
      const auto found = static_cast<std::size_t>(
          std::span(bytes_.begin(), mark.begin()).size());
      if (found >= kLength) {
        if (auto entries = chain(found - kLength); !entries.empty()) {
          return entries;
        }
      }
      from = mark.begin() + 1;
    }
  }

 private:
  template <class T>
  std::optional<T> value(std::size_t at) const {
    T value{};
    if (at > bytes_.size() || bytes_.size() - at < sizeof value) {
      return {};
    }
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }

  // All records from the one at `at` up to the end mark, or to one that is
  // none.
  std::vector<FrameTableEntry> chain(std::size_t at) const {
    std::vector<FrameTableEntry> entries;
    std::set<std::size_t> cies;
    while (true) {
      const auto length = value<std::uint32_t>(at);
      const auto back = value<std::uint32_t>(at + kLength);
      if (!length || *length == 0 || !back ||
          bytes_.size() - at - kLength < *length) {
        return entries;
      }
      const std::size_t here = at + kLength;
      if (*back == 0) {
        cies.insert(at);
      } else if (*back > here || !cies.contains(here - *back)) {
        return entries;
      } else {
        add(entries, at);
      }
      at = here + *length;
    }
  }

  void add(std::vector<FrameTableEntry>& entries, std::size_t record) const {
    const std::size_t place = record + 2 * kLength;
    const auto relative = value<std::int32_t>(place);
    const std::uint64_t record_offset = at_ + record - module_.base;
    if (!relative) {
      return;
    }
    const Address code =
        at_ + place + static_cast<std::uint64_t>(std::int64_t{*relative});
    constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
    if (module_.contains(code) && code - module_.base <= kMost &&
        record_offset <= kMost) {
      entries.push_back({static_cast<std::int32_t>(code - module_.base),
                         static_cast<std::int32_t>(record_offset)});
    }
  }

  std::span<const std::byte> bytes_;
  const Module& module_;
  Address at_;
};

}  // namespace

std::vector<FrameTableEntry> find_frame_table(const MemoryReader& memory,
                                              const Module& module) {
  for (const Mapping& segment : module.segments) {
    if (!segment.readable || segment.writable ||
        segment.end - segment.start > kMostOfSegment) {
      continue;
    }
    std::vector<std::byte> bytes(segment.end - segment.start);
    if (!memory.read(segment.start, bytes)) {
      continue;
    }
    auto entries = Records(bytes, module, segment.start).find();
    if (!entries.empty()) {
      std::ranges::sort(entries, {}, &FrameTableEntry::code);
      return entries;
    }
  }
  return {};
}

}  // namespace hangdbg
