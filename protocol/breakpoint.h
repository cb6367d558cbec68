// Breakpoints as a client wants them, and as they were set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/types.h"

namespace hangdbg::dap {

// A collective of a process group, by its number there.
struct Collective {
  std::string group;
  std::string device;  // whose backend in that group counts it
  std::int64_t number = 0;

  template <class V>
  void fields(V& v) {
    v("group", group);
    v("device", device);
    v("number", number);
  }
};

struct SourceBreakpoint {
  std::int64_t line = 0;
  std::optional<std::int64_t> column;
  std::optional<std::string> condition;
  std::optional<std::string> hit_condition;
  std::optional<std::string> log_message;
  std::optional<std::int64_t> ignore;  // so many hits, from the first one on
  std::optional<bool> temporary;       // gone once a thread has stopped there
  // Not before this rank has begun one of these.
  std::optional<std::vector<Collective>> after;

  template <class V>
  void fields(V& v) {
    v("line", line);
    v("column", column);
    v("condition", condition);
    v("hitCondition", hit_condition);
    v("logMessage", log_message);
    v("hangdbg/ignore", ignore);
    v("hangdbg/temporary", temporary);
    v("hangdbg/after", after);
  }
};

struct FunctionBreakpoint {
  std::string name;
  std::optional<std::string> condition;
  std::optional<std::string> hit_condition;
  std::optional<std::string> log_message;
  std::optional<std::string> path;  // of functions in that file only
  std::optional<std::int64_t> ignore;
  std::optional<bool> temporary;
  std::optional<std::vector<Collective>> after;

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("condition", condition);
    v("hitCondition", hit_condition);
    v("hangdbg/logMessage", log_message);
    v("hangdbg/path", path);
    v("hangdbg/ignore", ignore);
    v("hangdbg/temporary", temporary);
    v("hangdbg/after", after);
  }
};

struct DataBreakpoint {
  std::string data_id;  // of dataBreakpointInfo
  std::optional<std::string> access_type;
  std::optional<std::string> condition;
  std::optional<std::string> hit_condition;

  template <class V>
  void fields(V& v) {
    v("dataId", data_id);
    v("accessType", access_type);
    v("condition", condition);
    v("hitCondition", hit_condition);
  }
};

struct ExceptionFilterOptions {
  std::string filter_id;
  std::optional<std::string> condition;

  template <class V>
  void fields(V& v) {
    v("filterId", filter_id);
    v("condition", condition);
  }
};

// Of a tree of exceptions, as Visual Studio shows one: its category, and below
// it names.
struct ExceptionPathSegment {
  std::optional<bool> negate;  // all but these
  std::vector<std::string> names;

  template <class V>
  void fields(V& v) {
    v("negate", negate);
    v("names", names);
  }
};

struct ExceptionOptions {
  std::optional<std::vector<ExceptionPathSegment>> path;  // none: all
  std::string break_mode;  // "never", "always", "unhandled", "userUnhandled"

  template <class V>
  void fields(V& v) {
    v("path", path);
    v("breakMode", break_mode);
  }
};

struct Breakpoint {
  std::optional<std::int64_t> id;
  bool verified = false;
  std::optional<std::string> message;  // why it is not verified
  std::optional<Source> source;
  std::optional<std::int64_t> line;
  std::optional<std::int64_t> column;
  std::optional<std::int64_t> end_line;
  std::optional<std::int64_t> end_column;
  std::optional<std::string> reason;  // not verified: "pending" or "failed"
  std::optional<std::int64_t> hits;

  template <class V>
  void fields(V& v) {
    v("id", id);
    v("verified", verified);
    v("message", message);
    v("source", source);
    v("line", line);
    v("column", column);
    v("endLine", end_line);
    v("endColumn", end_column);
    v("reason", reason);
    v("hangdbg/hits", hits);
  }
};

struct BreakpointLocation {
  std::int64_t line = 0;
  std::optional<std::int64_t> column;
  std::optional<std::int64_t> end_line;
  std::optional<std::int64_t> end_column;

  template <class V>
  void fields(V& v) {
    v("line", line);
    v("column", column);
    v("endLine", end_line);
    v("endColumn", end_column);
  }
};

}  // namespace hangdbg::dap
