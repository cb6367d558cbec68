// The dumps of several machines, gathered one after the other, and what is said
// of all of them: one tree, missing ranks, what is wrong.
//
// Of each stack only its places are kept, each once: 30,000 ranks take some ten
// megabytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/views/dump/tree.h"
#include "inspector/jobs/stack_tree.h"
#include "protocol/reports/dump.h"
#include "protocol/reports/node_tree.h"

namespace hangdbg {

class GatheredDumps {
 public:
  // `where`: in none of "these files", "these nodes".
  explicit GatheredDumps(std::string where) : where_(std::move(where)) {}

  // Of one machine; `host` in place of what it calls itself, if not "".
  void add(const std::vector<reports::DumpedProcess>& processes,
           const std::string& host = {});
  // Of a node of --via. Errors: BadMessage; then nothing of it is added.
  Status add(const reports::NodeTree& tree, const std::string& host);
  // A machine, or a file, of which there is nothing.
  void miss(const std::string& whose, Error why);

  bool empty() const { return processes_.empty(); }
  const std::vector<std::string>& findings() const { return findings_; }

  struct Merged {
    StackTree tree;
    TreeLabels labels;
    std::string title;
    std::vector<MissingMember> missing;
    std::vector<std::string> findings;
    bool failed = false;  // some could not be read
  };
  // Of this job; "": of the only one. Errors: Usage. Once.
  Result<Merged> merge(const std::string& job);

 private:
  struct Thread {
    bool main = false;
    std::string state;
    double waiting_s = 0;
    std::vector<StackMerger::Place> way;  // outermost first
  };
  struct Process {
    std::int64_t pid = 0;
    std::optional<std::int64_t> rank, world_size;
    std::optional<std::string> job;
    bool child = false;
    std::string host;
    std::optional<std::string> error;
    std::vector<Thread> threads;
  };

  Status keep_job(const std::string& job);
  bool keep_ranks();
  TreeLabels label(bool ranks) const;
  void find_absent();
  StackTree tree(bool ranks);
  std::string title(const StackTree& tree, bool ranks) const;

  std::string where_;
  StackMerger merger_;
  std::vector<Process> processes_;
  std::vector<MissingMember> missing_;
  std::vector<std::string> findings_;
};

}  // namespace hangdbg
