#include "tracee/syscalls/named_values.h"

#include <fmt/core.h>

namespace hangdbg {

std::string flags_text(std::uint64_t value, std::span<const NamedValue> names) {
  std::string text;
  std::uint64_t left = value;
  for (const NamedValue& each : names) {
    if (each.value == 0 ? value == 0 : (left & each.value) == each.value) {
      append_name(text, each.name);
      left &= ~each.value;
    }
  }
  if (left != 0) {
    append_name(text, fmt::format("{:#x}", left));
  }
  return text.empty() ? "0" : text;
}

std::string value_text(std::int64_t value, std::span<const NamedValue> names) {
  for (const NamedValue& each : names) {
    // Those of ioctl and the like are unsigned.
    if (static_cast<std::uint32_t>(each.value) ==
        static_cast<std::uint32_t>(value)) {
      return std::string(each.name);
    }
  }
  return fmt::format("{}", value);
}

std::string number_text(std::uint64_t value) {
  constexpr std::uint64_t kSmall = 4096;
  const auto number = static_cast<std::int64_t>(value);
  return number > -static_cast<std::int64_t>(kSmall) &&
                 number < static_cast<std::int64_t>(kSmall)
             ? fmt::format("{}", number)
             : fmt::format("{:#x}", value);
}

void append_name(std::string& text, std::string_view name) {
  text += text.empty() ? "" : "|";
  text += name;
}

}  // namespace hangdbg
