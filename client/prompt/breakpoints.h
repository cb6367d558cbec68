// The breakpoints that the prompt has set, by the numbers that it gave them.
// The agent has those that are enabled, and knows them by numbers of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "protocol/breakpoint.h"
#include "protocol/events/stopped.h"
#include "server/session/session.h"

namespace hangdbg {

struct PromptBreakpoint {
  int number = 0;
  std::string path;  // of a line; of a function, that of its file or empty
  std::int64_t line = 0;
  std::string function;  // else empty
  // What is raised, as it was typed; else empty.
  std::string exception;
  std::vector<std::string> classes;  // of it, with their modules; none: any
  bool uncaught = false;             // only where nobody catches it
  std::string condition;
  std::string log;  // to be printed instead of a stop
  std::optional<std::vector<dap::Collective>> after;
  bool temporary = false;
  bool enabled = true;
  std::int64_t ignore = 0;            // so many hits, from the first one on
  std::vector<std::string> commands;  // to be run when a thread stops there
  bool silent = false;

  // As the agent has said.
  std::int64_t id = 0;
  std::int64_t hits = 0;
  bool verified = false;
  std::string message;
  std::string file;  // where its path is relative, and such code has been seen

  // "train.py:12", "Net.forward", "exception ValueError".
  std::string place() const;
};

class Breakpoints {
 public:
  // Sets it, and gives it a number. Errors: ExpressionFailed when the agent
  // says no; AgentSession::call's.
  Result<const PromptBreakpoint*> add(Session& session,
                                      PromptBreakpoint wanted,
                                      Deadline deadline);
  // The same in a file by another path.
  Result<const PromptBreakpoint*> move(Session& session,
                                       int number,
                                       const std::string& path,
                                       Deadline deadline);
  Status remove(Session& session, int number, Deadline deadline);

  // After a change of one: has the agent follow.
  Status update(Session& session, int number, Deadline deadline);
  // How often each was hit.
  Status refresh(Session& session, Deadline deadline);

  // As all are in the agent when a thread's time was up.
  void disable_all();

  // Null: there is none of that number.
  PromptBreakpoint* find(int number);
  std::vector<PromptBreakpoint>& all() { return all_; }
  // Whether a thread can stop at one.
  bool any_enabled() const;

  // At which a thread has stopped. Null: for another reason.
  const PromptBreakpoint* hit_by(const dap::Stopped::Body& stop) const;
  void forget_if_temporary(const dap::Stopped::Body& stop);

 private:
  Status send(Session& session,
              const PromptBreakpoint& like,
              Deadline deadline);
  Status send_lines(Session& session,
                    const std::string& path,
                    Deadline deadline);
  Status send_functions(Session& session, Deadline deadline);
  Status send_exceptions(Session& session, Deadline deadline);

  std::vector<PromptBreakpoint> all_;
  int last_number_ = 0;
};

}  // namespace hangdbg
