#include "tracee/syscalls/quoted_bytes.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "base/text.h"

namespace hangdbg {
namespace {

constexpr std::size_t kLongestPath = 4096;  // PATH_MAX

}  // namespace

std::string quoted_bytes(std::string_view bytes, bool more) {
  std::string escaped;
  escaped.reserve(bytes.size() + 8);
  for (const char letter : bytes) {
    if (letter == '"' || letter == '\\') {
      escaped += '\\';
    }
    escaped += letter;
  }
  return "\"" + printable(escaped) + (more ? "\"..." : "\"");
}

std::string bytes_text(const MemoryReader& memory,
                       Address at,
                       std::uint64_t size,
                       std::size_t most) {
  std::string bytes(std::min<std::uint64_t>(size, most), '\0');
  if (!at || (!bytes.empty() &&
              !memory.read(at, std::as_writable_bytes(std::span(bytes))))) {
    return pointer_text(at.value);
  }
  return quoted_bytes(bytes, bytes.size() < size);
}

std::string path_text(const MemoryReader& memory, Address at) {
  const auto path = at ? memory.read_string(at, kLongestPath)
                       : fail(ErrorId::Unreadable, "no path");
  return path ? quoted_bytes(*path) : pointer_text(at.value);
}

std::string pointer_text(std::uint64_t value) {
  return value == 0 ? "NULL" : fmt::format("{:#x}", value);
}

}  // namespace hangdbg
