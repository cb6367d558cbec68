// What the commands that show one kind of evidence share: which processes, all
// of them read at once, and what becomes of one that cannot be.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parallel_map.h"
#include "client/options/processes_or_job.h"
#include "protocol/json.h"

namespace hangdbg {

struct ProcessesOption {
  PidsOption named;
  JobOptions job;
  bool children = false;
};

// And --children, --job, --ranks.
void add_processes_option(cli::Command command, ProcessesOption& option);

// Each once, as named, or by rank; then those that they have started, if asked
// for. Without any the only one that hangs. `command`: "threads". Errors:
// Usage, NoSuchProcess.
struct ChosenProcesses {
  std::vector<int> pids;
  std::map<int, int> ranks;  // by pid, where a job was asked for
};
Result<ChosenProcesses> chosen_processes(const ProcessesOption& option,
                                         std::string_view command,
                                         Deadline deadline);

// What has been shown, and what is still to be printed as JSON.
class EvidenceOutput {
 public:
  EvidenceOutput(const CommonOptions& common,
                 std::string_view command,
                 const ChosenProcesses& chosen)
      : common_(common), command_(command), chosen_(chosen) {}

  void show(Json json) { processes_.push_back(std::move(json)); }
  void show(int pid, const std::string& text);
  void show(int pid, Error error);
  bool as_json() const { return common_.json; }
  Palette out() const { return Palette(common_.colour, stdout); }
  // The exit code: that of the error where one process was asked for, 1 where
  // some of several could not be read.
  int finish();

 private:
  const CommonOptions& common_;
  std::string command_;
  const ChosenProcesses& chosen_;
  std::vector<Json> processes_;
  std::optional<int> failed_;
  bool any_ = false;
};

// `see` has a little less time than there is, to tell what it has found so far.
template <class T>
int show_each(const CommonOptions& common,
              std::string_view command,
              const ChosenProcesses& chosen,
              const std::function<Result<T>(int, Deadline)>& see,
              const std::function<std::string(const T&, const Palette&)>& text,
              const std::function<Json(const T&)>& json) {
  EvidenceOutput output(common, command, chosen);
  const Deadline deadline = common.deadline();
  parallel_map<T>(
      chosen.pids, deadline,
      [see, theirs = deadline.capped(deadline.left() * 8 / 10)](int pid) {
        return see(pid, theirs);
      },
      [&](int pid, std::optional<Result<T>> seen) {
        if (!seen) {
          output.show(pid, {.id = ErrorId::TimedOut,
                            .message = "timeout while reading process " +
                                       std::to_string(pid)});
        } else if (!*seen) {
          output.show(pid, (*seen).error());
        } else if (output.as_json()) {
          output.show(json(**seen));
        } else {
          output.show(pid, text(**seen, output.out()));
        }
      });
  return output.finish();
}

}  // namespace hangdbg
