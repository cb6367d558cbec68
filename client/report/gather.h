// Has each part of a report made, one after the other: two commands at once
// would find each other in the process that both look at.
//
// Each is a hangdbg of its own with its own time (client/ranks/each_rank.h), so
// that one that is held up, or dies, costs the others nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "client/report/parts.h"
#include "inspector/jobs/jobs.h"
#include "protocol/json.h"

namespace hangdbg {

// The processes of the report.
struct ReportedProcesses {
  std::vector<JobRank> processes;  // their `rank` counts where there is a job
  std::optional<Job> job;
};

// A file of the archive.
struct GatheredText {
  std::string file;
  std::string_view what;
  std::string command;  // that shows the same
  std::string text;
};

struct GatheredJson {
  std::string part;
  std::optional<int> pid;  // of a part that is made for each process
  Json json;
};

// A part, or some of it, that there is not.
struct MissingPart {
  std::string part;
  std::optional<int> pid;
  std::string why;
  int code = 1;  // the command's exit code
};

struct Gathered {
  std::vector<GatheredText> texts;
  std::vector<GatheredJson> documents;
  std::vector<MissingPart> missing;
  std::string log;  // what each run has told of itself
};

// `progress`: a part begins, the so manieth of all. Errors: Interrupted, by
// Ctrl-C; System.
Result<Gathered> gather(const ReportedProcesses& whose,
                        const std::vector<ReportPart>& parts,
                        Deadline deadline,
                        const std::function<void(const ReportPart& part,
                                                 std::size_t number,
                                                 std::size_t count)>& progress);

}  // namespace hangdbg
