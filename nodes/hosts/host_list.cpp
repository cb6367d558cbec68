#include "nodes/hosts/host_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/path_error.h"
#include "base/text.h"

namespace hangdbg {
namespace {

constexpr std::string_view kHint =
    "hosts are written as node1,node[02-16]; ^FILE reads a hostfile";

std::unexpected<Error> bad_hosts(std::string_view list, std::string_view why) {
  return fail(
      ErrorId::Usage,
      fmt::format("\"{}\" is no list of hosts: {}", printable(list), why),
      std::string(kHint));
}

// At the commas outside brackets.
std::vector<std::string_view> pieces_of(std::string_view list) {
  std::vector<std::string_view> pieces;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i == list.size() || (list[i] == ',' && depth == 0)) {
      pieces.push_back(trim(list.substr(begin, i - begin)));
      begin = i + 1;
    } else {
      depth += list[i] == '[' ? 1 : list[i] == ']' ? -1 : 0;
    }
  }
  return pieces;
}

bool is_host_name(std::string_view name) {
  constexpr std::string_view kOthers = "._-:@%/";
  return !name.empty() && name.size() <= 255 && name.front() != '-' &&
         std::ranges::all_of(name, [&](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                  (c >= 'A' && c <= 'Z') ||
                  kOthers.find(c) != std::string_view::npos;
         });
}

using Names = std::vector<std::string>;

// "[1-3,07]" with what precedes and follows it.
Status unfold(std::string_view piece, std::string_view list, Names& into) {
  const auto open = piece.find('[');
  if (open == std::string_view::npos) {
    if (!is_host_name(piece)) {
      return bad_hosts(list, "a name is of letters, digits and ._-:@");
    }
    into.emplace_back(piece);
    return {};
  }
  const auto close = piece.find(']', open);
  if (close == std::string_view::npos) {
    return bad_hosts(list, "a bracket is not closed");
  }
  for (const std::string_view range :
       split(piece.substr(open + 1, close - open - 1), ',')) {
    const auto dash = range.find('-');
    const std::string_view low = range.substr(0, dash);
    const std::string_view high =
        dash == std::string_view::npos ? low : range.substr(dash + 1);
    const auto first = parse_number<std::uint32_t>(low);
    const auto last = parse_number<std::uint32_t>(high);
    if (!first || !last || *first > *last || *last - *first >= kMostHosts) {
      return bad_hosts(list, "brackets hold numbers: [1-16,20]");
    }
    for (std::uint64_t number = *first; number <= *last; ++number) {
      const std::string name =
          fmt::format("{}{:0{}}{}", piece.substr(0, open), number, low.size(),
                      piece.substr(close + 1));
      TRY(unfold(name, list, into));
      if (into.size() > kMostHosts) {
        return bad_hosts(list, "too many hosts");
      }
    }
  }
  return {};
}

Status read_host_file(const std::string& path, Names& into) {
  std::ifstream file(path);
  if (!file) {
    return cannot_read(path, errno);
  }
  std::string line;
  while (std::getline(file, line) && into.size() <= kMostHosts) {
    const auto words =
        split_words(std::string_view(line).substr(0, line.find('#')));
    if (words.empty()) {
      continue;
    }
    // "host:8" is Hydra's number of slots.
    std::string_view name = words.front();
    const auto colon = name.find(':');
    if (colon == name.rfind(':') && colon != std::string_view::npos &&
        parse_number<int>(name.substr(colon + 1))) {
      name = name.substr(0, colon);
    }
    TRY(unfold(name, name, into));
  }
  return {};
}

// A name with its last number taken out.
struct Numbered {
  std::string before, behind;
  std::size_t width = 0;  // of a number that begins with 0; else 0
  auto operator<=>(const Numbered&) const = default;
};

struct NumberedName {
  Numbered of;
  std::uint32_t number = 0;
};

std::optional<NumberedName> take_number(const std::string& name) {
  const auto last = name.find_last_of("0123456789");
  if (last == std::string::npos) {
    return std::nullopt;
  }
  const auto before = name.find_last_not_of("0123456789", last);
  const std::size_t first = before == std::string::npos ? 0 : before + 1;
  const std::string digits = name.substr(first, last - first + 1);
  const auto number = parse_number<std::uint32_t>(digits);
  if (!number || *number == UINT32_MAX) {
    return std::nullopt;
  }
  return NumberedName{
      {name.substr(0, first), name.substr(last + 1),
       digits.front() == '0' && digits.size() > 1 ? digits.size() : 0},
      *number};
}

std::string ranges_text(const std::set<std::uint32_t>& numbers,
                        std::size_t width) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const std::uint32_t first = *at;
    std::uint32_t last = first;
    while (++at != numbers.end() && *at == last + 1) {
      last = *at;
    }
    text += fmt::format("{}{:0{}}", text.empty() ? "" : ",", first, width);
    if (last != first) {
      text += fmt::format("-{:0{}}", last, width);
    }
  }
  return text;
}

}  // namespace

Result<Names> parse_hosts(std::string_view list) {
  Names all;
  if (list.starts_with('^')) {
    TRY(read_host_file(std::string(list.substr(1)), all));
  } else {
    for (const std::string_view piece : pieces_of(list)) {
      TRY(unfold(piece, list, all));
    }
  }
  if (all.empty() || all.size() > kMostHosts) {
    return bad_hosts(list, all.empty() ? "it is empty" : "too many hosts");
  }
  std::set<std::string_view> seen;
  Names once;
  for (const std::string& name : all) {
    if (seen.insert(name).second) {
      once.push_back(name);
    }
  }
  return once;
}

std::string fold_hosts(const Names& hosts) {
  std::map<Numbered, std::set<std::uint32_t>> numbers;
  for (const std::string& host : hosts) {
    if (const auto numbered = take_number(host)) {
      numbers[numbered->of].insert(numbered->number);
    }
  }
  // Numbers of one width, where some begin with 0: "08", "09", "10".
  for (const std::string& host : hosts) {
    const auto one = take_number(host);
    if (!one || one->of.width != 0) {
      continue;
    }
    Numbered padded = one->of;
    padded.width = fmt::format("{}", one->number).size();
    const auto wide = numbers.find(padded);
    if (wide != numbers.end() && wide->first.width > 1) {
      wide->second.insert(one->number);
      numbers[one->of].erase(one->number);
    }
  }
  std::string text;
  std::set<Numbered> said;
  const auto say = [&](const Numbered& of, const auto& its) {
    if (its.empty() || !said.insert(of).second) {
      return;
    }
    const std::string ranges = ranges_text(its, of.width);
    text += fmt::format("{}{}{}{}{}{}", text.empty() ? "" : ",", of.before,
                        its.size() > 1 ? "[" : "", ranges,
                        its.size() > 1 ? "]" : "", of.behind);
  };
  std::set<std::string_view> plain;
  for (const std::string& host : hosts) {
    const auto one = take_number(host);
    if (!one) {
      if (plain.insert(host).second) {
        text += (text.empty() ? "" : ",") + host;
      }
      continue;
    }
    Numbered padded = one->of;
    if (padded.width == 0) {
      padded.width = fmt::format("{}", one->number).size();
    }
    const auto wide = numbers.find(padded);
    if (padded.width > 1 && wide != numbers.end() &&
        wide->second.contains(one->number)) {
      say(wide->first, wide->second);
    } else {
      say(one->of, numbers[one->of]);
    }
  }
  return text;
}

}  // namespace hangdbg
