// What `dump` shows of the processes that it has read: each at once, one tree
// of all, or JSON.
#pragma once

#include <optional>
#include <vector>

#include "client/options/options.h"
#include "client/options/processes_or_job.h"
#include "client/options/via_option.h"
#include "client/terminal/render.h"
#include "client/views/dump/options.h"
#include "client/views/dump/picture_file.h"
#include "client/views/dump/text.h"
#include "client/views/dump/tree.h"
#include "inspector/jobs/jobs.h"
#include "inspector/snapshot/process_dump.h"
#include "protocol/json.h"

namespace hangdbg {

struct DumpCommandOptions {
  CommonOptions common;
  ViaOption via;
  PidsOption pids;
  bool all = false;
  bool children = false;
  bool nonblocking = false;
  bool merge = false;
  bool to_merge = false;  // another machine does (--via)
  JobOptions job;
  ShownOptions shown;
  PictureOptions picture;
};

// What has been shown, and what is still to be printed as JSON.
struct DumpOutput {
  const DumpCommandOptions& options;
  DumpStyle style;
  Palette out{options.common.colour, stdout};
  Palette err{options.common.colour, stderr};
  bool any = false;
  std::optional<Error> failed = {};
  std::vector<Json> processes = {};
  std::vector<ProcessDump> to_merge = {};
  std::vector<MissingMember> missing = {};
  std::optional<ChosenRanks> ranks = {};
  std::optional<Jobs> jobs = {};  // where all processes were looked at

  void place(ProcessDump& dump) const;
  void show(const ProcessDump& dump);
  void show(int pid, const Error& error);
  void show_absent();
  std::optional<int> rank_of(int pid) const;
  int finish();  // the exit code
  void show_merged();
  void print_tree() const;
};

}  // namespace hangdbg
