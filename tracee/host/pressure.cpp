#include "tracee/host/pressure.h"

#include <charconv>
#include <fstream>
#include <iterator>

#include "base/text.h"

namespace hangdbg {
namespace {

std::optional<double> share(std::string_view text) {
  double value = 0;
  const auto [stop, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size()
             ? std::optional(value)
             : std::nullopt;
}

// "avg10=0.12"
void set_number(Stall& stall, std::string_view word) {
  const auto equals = word.find('=');
  const auto value =
      equals == word.npos ? std::nullopt : share(word.substr(equals + 1));
  const std::string_view name = word.substr(0, equals);
  if (!value) {
    return;
  }
  if (name == "avg10") {
    stall.avg10 = *value;
  } else if (name == "avg60") {
    stall.avg60 = *value;
  } else if (name == "avg300") {
    stall.avg300 = *value;
  } else if (name == "total") {
    stall.total_us = static_cast<std::uint64_t>(*value);
  }
}

}  // namespace

std::optional<Pressure> read_pressure(const std::string& path) {
  std::ifstream file(path);
  return parse_pressure(std::string(std::istreambuf_iterator<char>(file), {}));
}

// "some avg10=0.00 avg60=0.12 avg300=0.04 total=236067633"
std::optional<Pressure> parse_pressure(std::string_view text) {
  Pressure found;
  bool any = false;
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split_words(line);
    if (words.size() < 5 || (words[0] != "some" && words[0] != "full")) {
      continue;
    }
    Stall& stall = words[0] == "some" ? found.some : found.full;
    for (const std::string_view word : words) {
      set_number(stall, word);
    }
    any = true;
  }
  return any ? std::optional(found) : std::nullopt;
}

}  // namespace hangdbg
