// `net --probe`: on the nodes of --via, or on this machine.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "client/options/options.h"
#include "client/options/via_option.h"

namespace hangdbg {

struct ProbeOptions {
  const ViaOption& via;
  const CommonOptions& common;
  std::vector<std::string> services;  // "HOST:PORT"
};

// The exit code: 1 if something fails.
Result<int> probe_network(const ProbeOptions& options);

// On a node: `question` as probe_network() has sent it. Writes JSON.
Result<int> answer_probe(const std::string& question,
                         const CommonOptions& common);

}  // namespace hangdbg
