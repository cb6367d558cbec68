// A process's stacks as a program reads them (the shape is cli.md's).
#pragma once

#include <optional>
#include <vector>

#include "base/error.h"
#include "inspector/snapshot/process_dump.h"
#include "protocol/json.h"

namespace hangdbg {

Json dump_json(const ProcessDump& dump);

// Of a process that could not be read.
Json dump_json(int pid, const Error& error);

// {"processes": [...]}; of a job also {"missing": [ranks]}.
Json dumps_json(const std::vector<Json>& processes,
                const std::optional<std::vector<int>>& missing = {});

}  // namespace hangdbg
