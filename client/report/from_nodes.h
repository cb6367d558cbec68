// `report --via HOW`: each node makes a report, and all of them become one
// archive with a folder for each node.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "client/nodes/gather.h"
#include "client/report/archive.h"
#include "client/report/document.h"

namespace hangdbg {

struct ReportsOfNodes {
  std::vector<ArchivedFile> files;  // "FOLDER/n3/dump.txt"
  std::vector<reports::ReportMissing> missing;
};

// Errors: those of gather_from_nodes; that of the first node, where none has
// answered.
Result<ReportsOfNodes> reports_from_nodes(const ViaOption& via,
                                          const CommonOptions& common,
                                          const std::string& folder);

// The files of one node's archive, in `folder`. What it has called them goes no
// way out of that. Errors: BadMessage.
Result<std::vector<ArchivedFile>> files_of_node(const std::string& archive,
                                                const std::string& folder);

}  // namespace hangdbg
