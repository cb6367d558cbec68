#include "inspector/cpython/runtime/stripped_python.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

namespace hangdbg {
namespace {

constexpr std::uint64_t kStrippedPythonMaxSegment = 1U << 28;

// struct _Py_DebugOffsets (Include/internal/pycore_debug_offsets.h) starts so.
constexpr std::string_view kStrippedPythonCookie = "xdebugpy";

std::optional<std::size_t> find_text(const std::vector<char>& bytes,
                                     std::string_view text) {
  const auto at = std::string_view(bytes.data(), bytes.size()).find(text);
  return at == std::string_view::npos ? std::nullopt : std::optional(at);
}

std::optional<std::string> version_after_cookie(const std::vector<char>& data) {
  const auto at = find_text(data, kStrippedPythonCookie);
  std::uint64_t hex = 0;
  if (!at || *at + kStrippedPythonCookie.size() + sizeof hex > data.size()) {
    return {};
  }
  std::memcpy(&hex, data.data() + *at + kStrippedPythonCookie.size(),
              sizeof hex);
  return fmt::format("python {}.{}.{}", hex >> 24 & 0xff, hex >> 16 & 0xff,
                     hex >> 8 & 0xff);
}

}  // namespace

std::optional<std::string> find_stripped_python(const MemoryReader& memory,
                                                const Module& module) {
  // From Python/initconfig.c or random.c. In two parts, or our own program
  // would have it too.
  const std::string message = fmt::format("{} must be", "PYTHONHASHSEED");
  std::optional<std::string> found;
  std::vector<char> bytes;
  for (const Mapping& segment : module.segments) {
    if (!segment.readable ||
        segment.end - segment.start > kStrippedPythonMaxSegment) {
      continue;
    }
    bytes.resize(segment.end - segment.start);
    if (!memory.read(segment.start, std::as_writable_bytes(std::span(bytes)))) {
      continue;
    }
    if (segment.writable) {
      if (auto version = version_after_cookie(bytes)) {
        return version;
      }
    } else if (find_text(bytes, message)) {
      found = "a python";
    }
  }
  return found;
}

}  // namespace hangdbg
