// Lists of hosts as clusters write them: "node[001-128,130],login", and back.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hangdbg {

constexpr std::size_t kMostHosts = 100'000;

// Each once, in their order. "^FILE": a hostfile, one host a line; what follows
// it there ("slots=8", ":8", "#...") is ignored. A name is of letters, digits
// and ".-_:@%/": no launcher takes it for an option. Errors: Usage.
Result<std::vector<std::string>> parse_hosts(std::string_view list);

// "node[001-003],other": names that differ in their last number alone share a
// bracket. In the order of the first of each.
std::string fold_hosts(const std::vector<std::string>& hosts);

}  // namespace hangdbg
