// RanksOnNodes: the ranks of a job as its nodes tell of them, while `break
// --via` runs. What a node says may be hostile: it is decoded, and its text
// escaped.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "client/options/options.h"
#include "client/prompt/break_events.h"
#include "client/terminal/render.h"
#include "inspector/ranks/rank_set.h"
#include "nodes/asking/live_nodes.h"
#include "protocol/json.h"
#include "protocol/reports/break_on_nodes.h"

namespace hangdbg {

struct RanksOfOne {
  std::string name;
  std::optional<reports::PreparedEvent> prepared;
  std::vector<reports::RankGroups> groups;  // of its last look
  std::int64_t looked = 0;                  // the number of that
  std::int64_t ran = 0;                     // of the last command of a prompt
  std::optional<int> done;                  // the exit code
};

class RanksOnNodes {
 public:
  // `commands`: so many are run at each stop; none: a rank stays there.
  RanksOnNodes(LiveNodes& live,
               const std::vector<std::string>& nodes,
               const CommonOptions& common,
               std::size_t commands,
               BreakEvents* events);

  const std::vector<RanksOfOne>& nodes() const { return nodes_; }
  // Ranks that have stopped, and whose commands are not done.
  const std::set<int>& standing() const { return standing_; }
  // Those of --hold-until whose commands wait for the others.
  const RankSet& arrived() const { return arrived_; }

  // Called before anything is shown.
  void set_before_showing(std::function<void()> make_room) {
    before_showing_ = std::move(make_room);
  }

  void tell(const reports::BreakOrder& order);
  // Shows what they say. Errors: LiveNodes::hear's.
  Status hear(Deadline deadline);
  // Errors: also TimedOut, with the missing ranks and `what`.
  Status await_all(const std::function<bool(const RanksOfOne&)>& there,
                   Deadline deadline,
                   const std::string& what);
  // How far all ranks are now.
  Status look(Deadline deadline);
  // The same without a wait for it.
  void tell_look();
  // Those with the breakpoint stop from there on.
  Status meet(const std::vector<dap::Collective>& place, Deadline deadline);
  // A command of the prompt; Ctrl-C goes there, a second one is an error.
  Status run(const RankSet& in, const std::string& command);
  void shorten(std::chrono::milliseconds time, const std::string& why);
  // Readable when Ctrl-C has come: hear() says so.
  int interrupt_fd() const { return live_.interrupt_fd(); }

 private:
  Status take(RanksOfOne& node, const Json& json, const std::string& event);
  void show(const RanksOfOne& node,
            int rank,
            std::FILE* stream,
            const std::string& text) const;
  void begin_showing() const {
    if (before_showing_) {
      before_showing_();
    }
  }
  // With the node's name, for --json.
  template <class T>
  void pass_on(const RanksOfOne& node, T event) const {
    if (events_ != nullptr) {
      event.node = node.name;
      events_->tell(encode(event));
    }
  }

  LiveNodes& live_;
  BreakEvents* events_;
  Palette out_, err_;
  std::function<void()> before_showing_;
  std::size_t commands_;
  std::vector<RanksOfOne> nodes_;
  std::set<int> standing_;
  std::map<int, std::size_t> left_;  // commands of those
  RankSet arrived_;
  std::int64_t looks_ = 0;
  std::int64_t commands_run_ = 0;
  std::optional<std::chrono::milliseconds> shortened_;
};

}  // namespace hangdbg
