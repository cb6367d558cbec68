#include "client/probe/choices.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "base/text.h"

namespace hangdbg {
namespace {

using Interfaces = std::vector<reports::ProbedInterface>;
using reports::ProbedChoice;
using reports::ProbedInterface;

const std::string* usable_address(const ProbedInterface& one) {
  const auto found =
      std::ranges::find_if(one.addresses, [](const std::string& address) {
        return !is_local_alone(address) || is_loopback(address);
      });
  return one.state != "up" || found == one.addresses.end() ? nullptr : &*found;
}

std::optional<ProbedChoice> first_of(
    const Interfaces& interfaces,
    const std::function<bool(const std::string&)>& wanted,
    ProbedChoice choice) {
  for (const ProbedInterface& one : interfaces) {
    const std::string* const address = usable_address(one);
    if (address != nullptr && wanted(one.name)) {
      choice.interface = one.name;
      choice.address = *address;
      return choice;
    }
  }
  return std::nullopt;
}

bool is_named(const std::string& name, std::string_view list, bool whole) {
  return std::ranges::any_of(split(list, ','), [&](std::string_view one) {
    one = one.substr(0, one.find(':'));  // a port, of InfiniBand
    return !one.empty() && (whole ? name == one : name.starts_with(one));
  });
}

}  // namespace

std::optional<ProbedChoice> choice_of_gloo(
    const ChoiceVariables& variables,
    const std::vector<std::string>& host_addresses,
    const Interfaces& interfaces) {
  ProbedChoice choice{.library = "gloo", .ranks = variables.ranks};
  if (!variables.gloo.empty()) {
    const std::string first(split(variables.gloo, ',').front());
    choice.reason = "GLOO_SOCKET_IFNAME=" + variables.gloo;
    return first_of(
        interfaces, [&](const std::string& name) { return name == first; },
        choice);
  }
  for (const std::string& address : host_addresses) {
    for (const ProbedInterface& one : interfaces) {
      const bool own =
          std::ranges::find(one.addresses, address) != one.addresses.end() ||
          (is_loopback(address) && one.name == "lo");
      if (own) {
        choice.interface = one.name;
        choice.address = address;
        choice.reason = "the host's own name is " + address;
        return choice;
      }
    }
  }
  choice.reason =
      host_addresses.empty()
          ? "the host's own name does not resolve"
          : fmt::format("the host's own name is {}, no address of it",
                        host_addresses.front());
  choice.interface = "lo";
  choice.address = "127.0.0.1";
  return choice;
}

std::optional<ProbedChoice> choice_of_nccl(const ChoiceVariables& variables,
                                           const Interfaces& interfaces) {
  ProbedChoice choice{.library = "NCCL", .ranks = variables.ranks};
  std::string_view list = variables.nccl;
  if (!list.empty()) {
    choice.reason = "NCCL_SOCKET_IFNAME=" + variables.nccl;
    const bool others = list.starts_with('^');
    list.remove_prefix(others ? 1 : 0);
    const bool whole = list.starts_with('=');
    list.remove_prefix(whole ? 1 : 0);
    return first_of(
        interfaces,
        [&](const std::string& name) {
          return is_named(name, list, whole) != others;
        },
        choice);
  }
  choice.reason = "the first that is no loopback";
  if (auto found = first_of(
          interfaces,
          [](const std::string& name) { return name.starts_with("ib"); },
          choice)) {
    return found;
  }
  for (const std::string_view unwanted : {"docker,lo", "lo", ""}) {
    if (auto found = first_of(
            interfaces,
            [&](const std::string& name) {
              return !is_named(name, unwanted, /*whole=*/false);
            },
            choice)) {
      return found;
    }
  }
  return std::nullopt;
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1";
}

bool is_local_alone(std::string_view address) {
  return is_loopback(address) || address.starts_with("fe80:");
}

}  // namespace hangdbg
