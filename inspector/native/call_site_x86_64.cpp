#include "inspector/native/call_site_x86_64.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace hangdbg {
namespace {

constexpr std::uint64_t kCallSitePage = 4096;
constexpr std::uint64_t kMostOfFunction = 1U << 16;

constexpr std::uint8_t kCall = 0xe8;  // by a displacement
constexpr std::uint8_t kJump = 0xe9;
constexpr std::size_t kDirectSize = 5;
constexpr std::uint8_t kIndirect = 0xff;  // what is done is in its ModRM byte
constexpr int kIndirectCall = 2;
constexpr int kIndirectJump = 4;
constexpr std::size_t kRipRelativeSize = 6;

constexpr std::array<std::uint8_t, 4> kEndBranch = {0xf3, 0x0f, 0x1e, 0xfa};
constexpr std::uint8_t kBranchPrefix = 0xf2;

// Intel's manual, volume 2, "ModR/M and SIB Bytes".
int operation(std::uint8_t modrm) {
  return (modrm >> 3) & 7;
}

bool is_rip_relative(std::uint8_t modrm) {
  return (modrm & 0xc7) == 0x05;
}

// Of an indirect call or jump without prefixes: `code` is from its first byte
// on, as far as it is there.
std::size_t indirect_size(std::span<const std::uint8_t> code) {
  const int mode = code[1] >> 6;
  if (mode == 3) {
    return 2;
  }
  const bool has_sib = (code[1] & 7) == 4;
  const bool wide =
      mode == 2 || (mode == 0 && is_rip_relative(code[1])) ||
      (mode == 0 && has_sib && code.size() > 2 && (code[2] & 7) == 5);
  return 2 + (has_sib ? 1 : 0) + (wide ? 4 : mode == 1 ? 1 : 0);
}

// `next` is the address behind the displacement.
Address displaced(std::span<const std::uint8_t> displacement, Address next) {
  std::int32_t distance = 0;
  std::memcpy(&distance, displacement.data(), sizeof distance);
  return next + static_cast<std::uint64_t>(std::int64_t{distance});
}

Address pointer_at(const MemoryReader& memory, Address at) {
  return memory.read_address(at).value_or(Address{});
}

}  // namespace

std::optional<CallSite> call_before(const MemoryReader& memory, Address after) {
  // Code may begin on this page.
  const std::uint64_t room = (after.value - 1) % kCallSitePage + 1;
  std::array<std::uint8_t, 7> bytes{};
  const auto code =
      std::span(bytes).first(std::min<std::uint64_t>(room, bytes.size()));
  if (!memory.read(after - code.size(), std::as_writable_bytes(code))) {
    return {};
  }
  if (code.size() >= kDirectSize) {
    const auto call = code.last(kDirectSize);
    const Address target = displaced(call.subspan(1), after);
    if (call[0] == kCall && memory.read_value<std::uint8_t>(target)) {
      return CallSite{target};
    }
  }
  for (std::size_t size = 2; size <= code.size(); ++size) {
    const auto call = code.last(size);
    if (call[0] == kIndirect && operation(call[1]) == kIndirectCall &&
        indirect_size(call) == size) {
      return CallSite{
          is_rip_relative(call[1])
              ? pointer_at(memory, displaced(call.subspan(2), after))
              : Address{}};
    }
  }
  return {};
}

Address behind_stub(const MemoryReader& memory, Address code) {
  std::array<std::uint8_t, 11> bytes{};
  if (!memory.read(code, std::as_writable_bytes(std::span(bytes)))) {
    return code;
  }
  std::size_t at = 0;
  if (std::ranges::equal(std::span(bytes).first(kEndBranch.size()),
                         kEndBranch)) {
    at += kEndBranch.size();
  }
  if (bytes[at] == kBranchPrefix) {
    ++at;
  }
  if (bytes[at] != kIndirect || operation(bytes[at + 1]) != kIndirectJump ||
      !is_rip_relative(bytes[at + 1])) {
    return code;
  }
  const Address next = code + at + kRipRelativeSize;
  const Address target =
      pointer_at(memory, displaced(std::span(bytes).subspan(at + 2), next));
  return target ? target : code;
}

std::vector<Address> jumps_out_of(const MemoryReader& memory,
                                  AddressRange function) {
  std::vector<std::uint8_t> code(
      std::min(function.end - function.start, kMostOfFunction));
  std::vector<Address> targets;
  if (!memory.read(function.start, std::as_writable_bytes(std::span(code)))) {
    return targets;
  }
  for (std::size_t at = 0; at + 2 <= code.size(); ++at) {
    const auto left = std::span(code).subspan(at);
    if (left[0] == kJump && left.size() >= kDirectSize) {
      const Address target =
          displaced(left.subspan(1), function.start + at + kDirectSize);
      if (!function.contains(target)) {
        targets.push_back(target);
      }
    } else if (left[0] == kIndirect && operation(left[1]) == kIndirectJump) {
      targets.push_back({});
    }
  }
  return targets;
}

}  // namespace hangdbg
