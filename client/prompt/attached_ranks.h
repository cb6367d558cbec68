// AttachedRanks: the processes that a prompt has been in, or may go to: each
// stays attached, with what is held and set in it.
//
// Threads: one, but while attach_all() runs.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/options/options.h"
#include "client/prompt/break_events.h"
#include "client/prompt/hold_timer.h"
#include "client/prompt/prompt.h"
#include "client/terminal/render.h"
#include "inspector/jobs/jobs.h"
#include "protocol/requests/process_groups.h"
#include "server/session/hung_thread.h"
#include "server/session/session.h"

namespace hangdbg {

struct AttachedRank {
  int pid = 0;
  std::optional<int> rank;
  SourceText sources;
  ThreadSamples before;  // since an attach wakes the thread that it borrows
  std::chrono::nanoseconds took{};
  std::string raised;  // that it was waiting with, in one line
  std::unique_ptr<Session> session{};
  std::optional<PromptState> state{};  // once a prompt may be in it
};

class AttachedRanks {
 public:
  explicit AttachedRanks(const CommonOptions& options);
  ~AttachedRanks();

  // All of them at once. Those that could not be, and why.
  std::map<int, Error> attach_all(const std::vector<JobRank>& ranks);

  // With a place for the prompt, said as an attach says it. Errors:
  // Session::attach's, choose_thread's.
  Result<AttachedRank*> open(int pid,
                             std::optional<int> rank,
                             const PlaceOptions& place);
  // The same without a word.
  Status enter(AttachedRank& rank, const PlaceOptions& place);

  // Attached, and with a place: if it is neither, now.
  Result<AttachedRank*> join(const JobRank& rank);

  // The prompt in that process, and in the ranks that it is told to go to: for
  // one line after another, or until these commands are done. The exit code.
  int prompt(int pid, std::optional<std::deque<std::string>> commands);

  std::vector<AttachedRank*> all();
  AttachedRank* find_rank(int rank);

  // Takes in what they have said, without a wait.
  void look();
  // A rank, other than that, where a thread has stopped that the user has not
  // seen there.
  std::optional<int> stopped_elsewhere(const PromptState& than);
  // Until one of them says something. Errors: none; Ctrl-C ends it too.
  void await(Deadline deadline);

  // What process groups it has; `raise_by`: with their timeouts raised;
  // `recorded`: with what torch has recorded of them.
  Result<dap::ProcessGroups::Body> process_groups(
      AttachedRank& rank,
      std::optional<std::chrono::milliseconds> raise_by,
      Deadline deadline,
      bool recorded = false);

  // From now on threads are suspended no longer than these allow.
  Status limit(TimeoutOverride raised);
  HoldTimer* timer() { return timer_ ? &*timer_ : nullptr; }

  // The receiver of what happens as JSON; none by default. It must outlive
  // this.
  void tell(BreakEvents* events) { events_ = events; }
  BreakEvents* events() const { return events_; }

  const CommonOptions& options() const { return options_; }
  const Palette& out() const { return out_; }
  const Palette& err() const { return err_; }

 private:
  // What a prompt can do out of process, and what is done to several ranks
  // together cannot.
  enum class IfClosed { Refuse, LookFromOutside };
  Result<AttachedRank*> find_or_attach(int pid,
                                       std::optional<int> rank,
                                       IfClosed then);
  Result<std::unique_ptr<AttachedRank>> attach(int pid,
                                               std::optional<int> rank,
                                               IfClosed then);
  Result<int> go_to(int from, int rank);

  const CommonOptions& options_;
  const Palette out_;
  const Palette err_;
  BreakEvents* events_ = nullptr;
  std::map<int, std::unique_ptr<AttachedRank>> all_;  // by PID
  std::vector<std::unique_ptr<AttachedRank>> gone_;   // replaced by new ones
  std::optional<HoldTimer> timer_;
};

}  // namespace hangdbg
