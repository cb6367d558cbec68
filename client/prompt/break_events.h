// BreakEvents: what `hangdbg break --json` tells as it happens, an object a
// line, each with its "event". What is in words goes to stderr as ever; nothing
// but this goes to stdout.
#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "inspector/jobs/choice.h"
#include "inspector/ranks/rank_set.h"
#include "protocol/json.h"
#include "server/rank_breakpoints/original_timeouts.h"
#include "server/rank_breakpoints/timeout_override.h"

namespace hangdbg {

struct AttachedRank;
struct RankPrinted;

class BreakEvents {
 public:
  // From here on whatever is printed to stdout comes out on stderr.
  BreakEvents();
  BreakEvents(const BreakEvents&) = delete;
  BreakEvents& operator=(const BreakEvents&) = delete;

  void job(const Job& job);
  // Which timeouts were raised, which stay and why, and what follows.
  void raised(const TimeoutOverride& raised);
  void pending(const std::vector<OldCollective>& old);
  void breakpoint(const std::string& place,
                  const RankSet& ranks,
                  const std::optional<std::string>& message);
  // All resume sooner than was said.
  void shortened(const std::string& why, std::chrono::milliseconds left);
  // Some have arrived, and are suspended until all of these have.
  void waits(const RankSet& here, const RankSet& all);
  void stop(const AttachedRank& rank);
  void output(const AttachedRank& rank,
              const std::string& command,
              const RankPrinted& printed);
  void log(int rank, const std::string& text);
  void note(int rank, const std::string& text);
  void error(const Error& error);
  void end(int code);

  // Another event, as it is.
  void tell(const Json& event);

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> to_;
};

}  // namespace hangdbg
