// What the two ends of `break --via` say to each other, a line of JSON each.
//
// The asking side orders, all nodes the same: "raise" the timeouts, "look" how
// far your ranks are, "arm" the breakpoint, "shorten" the limit of suspension,
// "end". A node sends the events of `break --json`, and these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/requests/process_groups.h"

namespace hangdbg::reports {

struct BreakOrder {
  std::string what;
  // raise: by how much. arm: limit of suspension. shorten: to that, from now.
  std::int64_t ms = 0;
  std::int64_t number = 0;  // look: of the question

  template <class V>
  void fields(V& v) {
    v("what", what);
    v("ms", ms);
    v("number", number);
  }
};

struct RankGroups {
  int rank = 0;
  std::optional<dap::ProcessGroups::Body> groups;
  std::optional<std::string> failed;  // why not

  template <class V>
  void fields(V& v) {
    v("rank", rank);
    v("groups", groups);
    v("failed", failed);
  }
};

// A node has raised what it could.
struct PreparedEvent {
  std::string event = "prepared";
  std::string job, kind;
  std::optional<int> world_size;
  std::vector<RankGroups> ranks;

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("job", job);
    v("kind", kind);
    v("world_size", world_size);
    v("ranks", ranks);
  }
};

// The answer to a look.
struct GroupsEvent {
  std::string event = "groups";
  std::int64_t number = 0;
  std::vector<RankGroups> ranks;

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("number", number);
    v("ranks", ranks);
  }
};

// Its ranks have stopped, or will not. It stays until the end.
struct DoneEvent {
  std::string event = "done";
  int code = 0;

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("code", code);
  }
};

// Any of these.
struct AnyEvent {
  std::string event;

  template <class V>
  void fields(V& v) {
    v("event", event);
  }
};

}  // namespace hangdbg::reports
