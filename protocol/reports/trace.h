// What `trace --json` writes: an event a line, or with -c the sums.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hangdbg::reports {

// As JSON has it.
struct TracePlace {
  std::string function, file;
  std::int64_t line = 0;

  template <class V>
  void fields(V& v) {
    v("function", function);
    v("file", file);
    v("line", line);
  }
};

struct TraceCall {
  double at = 0;  // of the entry, seconds since 1970
  std::int64_t pid = 0, tid = 0;
  std::string call;
  std::vector<std::string> args;
  std::optional<std::int64_t> result;  // none: it is not over
  std::optional<std::string> error;    // "ENOENT"
  std::string text;                    // the result in words
  double duration_s = 0;               // so far
  std::optional<bool> resumed, left_alone;
  std::optional<std::vector<TracePlace>> python;

  template <class V>
  void fields(V& v) {
    v("at", at);
    v("pid", pid);
    v("tid", tid);
    v("call", call);
    v("args", args);
    v.nullable("result", result);
    v.nullable("error", error);
    v("text", text);
    v("duration_s", duration_s);
    v("resumed", resumed);
    v("left_alone", left_alone);
    v("python", python);
  }
};

struct TraceEvent {
  std::string event;
  double at = 0;
  std::int64_t pid = 0;
  std::optional<std::int64_t> tid, by, sender, exit_code;
  std::optional<std::string> signal;

  template <class V>
  void fields(V& v) {
    v("at", at);
    v("pid", pid);
    v("tid", tid);
    v("event", event);
    v("signal", signal);
    v("sender", sender);
    v("by", by);
    v("exit_code", exit_code);
  }
};

struct TraceSum {
  std::string call;
  std::int64_t calls = 0, errors = 0;
  double seconds = 0;

  template <class V>
  void fields(V& v) {
    v("call", call);
    v("calls", calls);
    v("errors", errors);
    v("seconds", seconds);
  }
};

struct TraceSums {
  std::vector<TraceSum> calls;

  template <class V>
  void fields(V& v) {
    v("calls", calls);
  }
};

}  // namespace hangdbg::reports
