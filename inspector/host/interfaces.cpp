#include "inspector/host/interfaces.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {

Result<std::vector<NetworkInterface>> read_network_interfaces(int pid) {
  return parse_network_interfaces(TRY(read_proc_file(pid, "net/dev")));
}

// "  eth0: 1500 10 0 0 0 0 0 0 900 9 0 0 0 0 0 0": what came, what was sent
std::vector<NetworkInterface> parse_network_interfaces(std::string_view text) {
  std::vector<NetworkInterface> found;
  for (const std::string_view line : split(text, '\n')) {
    const auto colon = line.rfind(':');
    const auto words = colon == line.npos ? split_words("")
                                          : split_words(line.substr(colon + 1));
    if (words.size() < 16) {
      continue;
    }
    found.push_back(
        {.name = std::string(trim(line.substr(0, colon))),
         .receive_errors = parse_number<std::uint64_t>(words[2]).value_or(0),
         .send_errors = parse_number<std::uint64_t>(words[10]).value_or(0)});
  }
  return found;
}

// NCCL takes beginnings of names; "=" in front means whole ones, "^" others.
std::vector<std::string> missing_interfaces(
    const std::vector<EnvironmentVariable>& variables,
    const std::vector<NetworkInterface>& interfaces) {
  std::vector<std::string> missing;
  if (interfaces.empty()) {
    return missing;
  }
  for (const std::string_view variable :
       {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"}) {
    const std::string_view value = value_of(variables, variable).value_or("");
    const bool nccl = variable.starts_with("NCCL");
    if (value.empty() || value.starts_with('^')) {
      continue;
    }
    const bool whole = !nccl || value.starts_with('=');
    const auto names =
        split(value.substr(nccl && value.starts_with('=') ? 1 : 0), ',');
    const bool any = std::ranges::any_of(names, [&](std::string_view name) {
      return std::ranges::any_of(interfaces, [&](const NetworkInterface& one) {
        return whole ? one.name == name : one.name.starts_with(name);
      });
    });
    if (!any) {
      missing.push_back(
          fmt::format("{}={}: there is no such interface", variable, value));
    }
  }
  return missing;
}

}  // namespace hangdbg
