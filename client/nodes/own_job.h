// `--via auto`: the nodes of the job that this machine is part of, by what can
// be seen here: its Slurm job, its pod's labels, the hostfile of its launcher,
// or the clients of the store where its ranks meet.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "client/options/options.h"
#include "client/options/via_option.h"
#include "nodes/launchers/launcher.h"

namespace hangdbg {

// That of --via. Of `auto`: says in one line on stderr what was chosen, and
// why. Errors: make_launcher's; Usage, NoSuchRank, where nothing tells of other
// nodes.
Result<std::unique_ptr<Launcher>> chosen_launcher(const ViaOption& via,
                                                  const CommonOptions& common);

// "ssh:^/job/hosts" of a launcher's words, "" if they name no hosts. `folder`:
// where it was started.
std::string hosts_of_launcher(const std::vector<std::string>& words,
                              const std::string& folder);

// The labels of a pod, as kubectl prints it in JSON: "app=train", by the first
// of those that a job's pods have in common; "" if it has none.
std::string label_of_job(const std::string& pod);

}  // namespace hangdbg
