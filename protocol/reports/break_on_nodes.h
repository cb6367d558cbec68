// What the two ends of `break --via` say to each other, a line of JSON each.
//
// The asking side orders, all nodes the same: "raise" the timeouts, "look" how
// far your ranks are, "arm" the breakpoint, "meet" at this collective, "go" on
// with the commands since all have come, "run" a command of the prompt,
// "interrupt" that command, "shorten" the limit of suspension, "end". A node
// sends the events of `break --json`, and these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/breakpoint.h"
#include "protocol/requests/process_groups.h"

namespace hangdbg::reports {

struct BreakOrder {
  std::string what;
  // raise: by how much. arm: limit of suspension. shorten: to that, from now.
  std::int64_t ms = 0;
  std::int64_t number = 0;  // look, meet, run, interrupt: of the question
  // arm, meet: where ranks of all nodes stop in the same round.
  std::optional<std::vector<dap::Collective>> place = {};
  std::string ranks = {};  // run: in which
  std::string text = {};   // run: the command

  template <class V>
  void fields(V& v) {
    v("what", what);
    v("ms", ms);
    v("number", number);
    v("place", place);
    v("ranks", ranks);
    v("text", text);
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

// The answer to a look, and to where to meet.
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

// These have stopped; their commands are run when told so (--hold-until).
struct ArrivedEvent {
  std::string event = "arrived";
  std::vector<int> ranks;

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("ranks", ranks);
  }
};

// A command of the prompt is done, in those of its ranks that were meant.
struct RanEvent {
  std::string event = "ran";
  std::int64_t number = 0;
  std::vector<int> suspended;  // its ranks that are, now

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("number", number);
    v("suspended", suspended);
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
