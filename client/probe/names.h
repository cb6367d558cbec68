// What names resolve to on this machine, for any program on it: /etc/hosts, DNS
// and what else nsswitch.conf has.
#pragma once

#include <string>
#include <vector>

#include "base/deadline.h"
#include "protocol/reports/net_probe.h"

namespace hangdbg {

// By getent(1), all at once.
std::vector<reports::ProbedName> resolve_names(
    const std::vector<std::string>& names,
    Deadline deadline);

// "10.0.0.3 STREAM n3", a line each: every address once.
std::vector<std::string> parse_getent(const std::string& text);

}  // namespace hangdbg
