// What `break --json` writes, an object a line, as it happens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/reports/error.h"

namespace hangdbg::reports {

struct JobEvent {
  std::string event = "job";
  std::string job;
  std::string kind;
  std::optional<int> launcher;
  std::optional<int> world_size;
  std::vector<int> ranks;
  std::vector<int> missing;
  std::vector<std::string> findings;

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("job", job);
    v("kind", kind);
    v("launcher", launcher);
    v("world_size", world_size);
    v("ranks", ranks);
    v("missing", missing);
    v("findings", findings);
  }
};

struct RaisedEvent {
  std::string event = "timeouts raised";
  std::vector<int> ranks;
  std::int64_t groups = 0;
  double by_s = 0;
  double held_for_s = 0;  // at most, now

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("ranks", ranks);
    v("groups", groups);
    v("by_s", by_s);
    v("held_for_s", held_for_s);
  }
};

struct NotRaisedEvent {
  std::string event = "timeouts stay";
  std::vector<int> ranks;
  std::string why;

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("ranks", ranks);
    v("why", why);
  }
};

struct PendingEvent {
  std::string event = "old collective";
  std::string group;
  std::int64_t number = 0;
  std::vector<int> inside;
  std::vector<int> awaited;
  double timeout_s = 0;

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("group", group);
    v("number", number);
    v("inside", inside);
    v("awaited", awaited);
    v("timeout_s", timeout_s);
  }
};

struct BreakpointEvent {
  std::string event = "breakpoint";
  std::string place;
  std::vector<int> ranks;
  std::optional<std::string> message;
  std::optional<std::string> node = {};  // of --via

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("place", place);
    v("ranks", ranks);
    v("message", message);
    v("node", node);
  }
};

struct ShortenedEvent {
  std::string event = "less time";
  std::string why;
  double left_s = 0;

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("why", why);
    v("left_s", left_s);
  }
};

struct WaitsEvent {
  std::string event = "waits";
  std::vector<int> ranks;
  std::vector<int> until;  // all of these have come

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("ranks", ranks);
    v("until", until);
  }
};

struct StopEvent {
  std::string event = "stop";
  int rank = 0;
  int pid = 0;
  std::int64_t thread = 0;
  std::string thread_name;
  std::optional<std::string> file;
  std::int64_t line = 0;
  std::string function;
  std::optional<std::string> node = {};  // of --via

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("rank", rank);
    v("pid", pid);
    v("thread", thread);
    v("thread_name", thread_name);
    v("file", file);
    v("line", line);
    v("function", function);
    v("node", node);
  }
};

struct OutputEvent {
  std::string event = "output";
  int rank = 0;
  std::string command;
  int code = 0;
  std::string out;
  std::string err;
  std::optional<std::string> node = {};  // of --via

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("rank", rank);
    v("command", command);
    v("code", code);
    v("out", out);
    v("err", err);
    v("node", node);
  }
};

// A breakpoint's own message; or what is to be known of a rank beside.
struct TextEvent {
  std::string event;
  int rank = 0;
  std::string text;
  std::optional<std::string> node = {};  // of --via

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("rank", rank);
    v("text", text);
    v("node", node);
  }
};

struct ErrorEvent {
  std::string event = "error";
  ReportedError error;
  std::optional<std::string> node = {};  // of --via

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("error", error);
    v("node", node);
  }
};

struct EndEvent {
  std::string event = "end";
  int code = 0;

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("code", code);
  }
};

}  // namespace hangdbg::reports
