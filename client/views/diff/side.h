// One side of a comparison: a report, as an archive or its report.json, or what
// `dump --json` has written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/ranks/dump_file.h"
#include "client/report/document.h"

namespace hangdbg {

struct Side {
  std::string path;
  reports::ReportDocument
      report;  // of a dump alone, with nothing but that in it
  std::vector<reports::DumpedProcess>
      processes;  // that could be read; at least one

  bool is_dump_alone() const { return report.made.empty(); }
};

// Error: Usage, with the file and what is wrong with it.
Result<Side> read_side(const std::string& path);

// What is in such a file. Error: BadMessage.
Result<Side> parse_side(std::string_view bytes);

}  // namespace hangdbg
