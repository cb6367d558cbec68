#include "client/probe/names.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/parallel_map.h"
#include "base/text.h"
#include "tracee/host/child_output.h"

namespace hangdbg {

std::vector<reports::ProbedName> resolve_names(
    const std::vector<std::string>& names,
    Deadline deadline) {
  using Addresses = std::vector<std::string>;
  std::vector<int> places(names.size());
  std::iota(places.begin(), places.end(), 0);
  std::vector<reports::ProbedName> all(names.size());
  parallel_map<Addresses>(
      places, deadline,
      [names, deadline](int at) -> Result<Addresses> {
        // It says "not found" by its exit code.
        const auto text =
            output_of({"getent", "ahosts", names[static_cast<std::size_t>(at)]},
                      deadline);
        if (!text && text.error().id == ErrorId::TimedOut) {
          return std::unexpected(text.error());
        }
        return parse_getent(text.value_or(""));
      },
      [&](int at, std::optional<Result<Addresses>> found) {
        reports::ProbedName& one = all[static_cast<std::size_t>(at)];
        one.name = names[static_cast<std::size_t>(at)];
        if (found && *found) {
          one.addresses = **std::move(found);
        }
      });
  return all;
}

std::vector<std::string> parse_getent(const std::string& text) {
  std::vector<std::string> all;
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split_words(line);
    if (words.empty()) {
      continue;
    }
    // A v4 address as v6, where both were requested.
    std::string_view address = words.front();
    if (address.starts_with("::ffff:") &&
        address.find('.') != std::string_view::npos) {
      address.remove_prefix(7);
    }
    if (std::ranges::find(all, address) == all.end()) {
      all.emplace_back(address);
    }
  }
  return all;
}

}  // namespace hangdbg
