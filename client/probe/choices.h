// Which interface gloo and NCCL choose on a machine, by the rules of their
// sources: nothing of them is run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/reports/net_probe.h"

namespace hangdbg {

// What decides: variables of a rank, or none.
struct ChoiceVariables {
  std::string gloo;  // GLOO_SOCKET_IFNAME
  std::string nccl;  // NCCL_SOCKET_IFNAME
  bool ranks = false;
};

// `host_addresses`: what the machine's own name resolves to there. gloo of
// torch takes the first of them that is its own, and else the loopback.
std::optional<reports::ProbedChoice> choice_of_gloo(
    const ChoiceVariables& variables,
    const std::vector<std::string>& host_addresses,
    const std::vector<reports::ProbedInterface>& interfaces);

// The first that its variable allows (beginnings of names, "=" whole ones, "^"
// all but these); without one "ib", then all but docker and loopback.
std::optional<reports::ProbedChoice> choice_of_nccl(
    const ChoiceVariables& variables,
    const std::vector<reports::ProbedInterface>& interfaces);

// 127.0.0.0/8, ::1.
bool is_loopback(std::string_view address);
// Also fe80::/10, which says nothing without an interface.
bool is_local_alone(std::string_view address);

}  // namespace hangdbg
