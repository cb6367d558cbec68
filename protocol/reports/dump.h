// What `dump --json` and `core --json` write (docs/usage.md), and as much of it
// as `merge` and `diff` read, perhaps on another machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocol/json.h"
#include "protocol/reports/error.h"

namespace hangdbg::reports {

struct DumpValue {
  std::string type;
  std::string repr;

  template <class V>
  void fields(V& v) {
    v("type", type);
    v("repr", repr);
  }
};

struct DumpLocals {
  std::vector<std::pair<std::string, DumpValue>> values;

  template <class V>
  void fields(V& v) {
    for (auto& [name, value] : values) {
      v(name, value);
    }
  }
};

struct DumpFrame {
  std::string function;
  std::string qualname;
  std::string file;
  std::optional<std::int64_t> line;
  std::string kind = "python";
  std::optional<std::int64_t> end_line = {}, column = {}, end_column = {};
  std::optional<std::string> module = {};   // of a native one
  std::optional<std::string> builtin = {};  // what Python calls it, if it does
  std::optional<bool> behind_gap = {};      // true, or left out
  std::optional<DumpLocals> locals = {};    // if they were asked for

  template <class V>
  void fields(V& v) {
    v("function", function);
    v("qualname", qualname);
    v("file", file);
    v.nullable("line", line);
    v("kind", kind);
    v("end_line", end_line);
    v("column", column);
    v("end_column", end_column);
    v("module", module);
    v("builtin", builtin);
    v("behind_gap", behind_gap);
    v("locals", locals);
  }
};

struct DumpCall {
  std::string name;
  std::vector<std::string> args;

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("args", args);
  }
};

// How C and Python frames came together, if C frames were asked for.
struct DumpNative {
  bool merged = true;
  bool complete = true;
  std::optional<std::string> reason;  // why either is not so

  template <class V>
  void fields(V& v) {
    v("merged", merged);
    v("complete", complete);
    v.nullable("reason", reason);
  }
};

struct DumpThread {
  std::optional<std::int64_t> tid;
  std::string name;
  std::int64_t interpreter = 0;
  std::string state;
  std::optional<DumpCall> syscall;
  std::optional<double> waiting_s;
  bool has_gil = false;
  bool collects_garbage = false;
  std::optional<DumpValue> exception;
  bool exact = false;
  std::optional<bool> locals_exact = {};  // if they were asked for
  bool complete = true;
  std::optional<DumpNative> native = {};
  std::vector<DumpFrame> frames = {};
  std::optional<std::string> error = {};

  template <class V>
  void fields(V& v) {
    v.nullable("tid", tid);
    v("name", name);
    v("interpreter", interpreter);
    v("state", state);
    v.nullable("syscall", syscall);
    v.nullable("waiting_s", waiting_s);
    v("has_gil", has_gil);
    v("collects_garbage", collects_garbage);
    v.nullable("exception", exception);
    v("exact", exact);
    v("locals_exact", locals_exact);
    v("complete", complete);
    v("native", native);
    v("frames", frames);
    v.nullable("error", error);
  }
};

struct DumpTask {
  std::string name;
  std::string id;
  std::string state;
  std::optional<std::string> future;
  std::vector<std::string> waits_for;
  bool complete = true;
  std::vector<DumpFrame> frames = {};

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("id", id);
    v("state", state);
    v.nullable("future", future);
    v("waits_for", waits_for);
    v("complete", complete);
    v("frames", frames);
  }
};

struct DumpGreenlet {
  std::string name;
  std::string id;
  std::string type;
  std::string state;
  bool main = false;
  std::optional<std::int64_t> thread;
  std::optional<std::string> parent;
  bool exact = true;
  bool complete = true;
  std::vector<DumpFrame> frames = {};

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("id", id);
    v("type", type);
    v("state", state);
    v("main", main);
    v.nullable("thread", thread);
    v.nullable("parent", parent);
    v("exact", exact);
    v("complete", complete);
    v("frames", frames);
  }
};

struct DumpGil {
  bool locked = false;
  std::optional<std::int64_t> holder_tid;

  template <class V>
  void fields(V& v) {
    v("locked", locked);
    v.nullable("holder_tid", holder_tid);
  }
};

struct CoreEnd {
  std::string signal;
  std::int64_t tid = 0;
  std::optional<std::string> address;
  std::optional<std::int64_t> sender;

  template <class V>
  void fields(V& v) {
    v("signal", signal);
    v("tid", tid);
    v.nullable("address", address);
    v.nullable("sender", sender);
  }
};

struct DumpProcess {
  std::int64_t pid = 0;
  std::optional<std::int64_t> rank, world_size;
  std::optional<std::string> job;
  std::optional<bool> child;  // of that rank; true, or left out
  std::string host;
  std::string python;
  std::optional<std::string> note;  // of a version that is not known
  std::vector<std::string> cmdline;
  std::optional<DumpGil> gil;
  std::optional<double> longest_stop_us;
  std::vector<DumpThread> threads;
  std::optional<bool> tasks_complete;  // if they were asked for
  std::optional<std::vector<DumpTask>> tasks;
  std::optional<std::string> greenlets_missing;  // why these are not all
  std::optional<std::vector<DumpGreenlet>> greenlets;
  std::optional<CoreEnd> end;
  std::optional<ReportedError> error;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v.nullable("rank", rank);
    v.nullable("world_size", world_size);
    v.nullable("job", job);
    v("child", child);
    v("host", host);
    v("python", python);
    v("note", note);
    v("cmdline", cmdline);
    v.nullable("gil", gil);
    v.nullable("longest_stop_us", longest_stop_us);
    v("threads", threads);
    v("tasks_complete", tasks_complete);
    v("tasks", tasks);
    v("greenlets_missing", greenlets_missing);
    v("greenlets", greenlets);
    v("end", end);
    v.nullable("error", error);
  }
};

struct Dumps {
  std::vector<Json> processes;
  std::optional<std::vector<int>> missing;  // of a job, if it was asked for

  template <class V>
  void fields(V& v) {
    v("processes", processes);
    v("missing", missing);
  }
};

struct DumpedFrame {
  std::string qualname;
  std::string file;
  std::optional<std::int64_t> line;
  std::optional<std::string> module;   // of a native one
  std::optional<std::string> builtin;  // what Python calls it, if it does

  template <class V>
  void fields(V& v) {
    v("qualname", qualname);
    v("file", file);
    v.nullable("line", line);
    v("module", module);
    v("builtin", builtin);
  }
};

struct DumpedThread {
  std::optional<std::int64_t> tid;
  std::optional<std::string> name;
  std::string state;
  std::optional<double> waiting_s;
  std::vector<DumpedFrame> frames;  // innermost first

  template <class V>
  void fields(V& v) {
    v.nullable("tid", tid);
    v("name", name);
    v("state", state);
    v.nullable("waiting_s", waiting_s);
    v("frames", frames);
  }
};

struct DumpedProcess {
  std::int64_t pid = 0;
  std::optional<std::int64_t> rank, world_size;
  std::optional<std::string> job;
  std::optional<bool> child;
  std::string host;
  std::optional<std::string> python;
  std::optional<std::vector<std::string>> cmdline;
  std::vector<DumpedThread> threads;
  std::optional<ReportedError> error;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v.nullable("rank", rank);
    v.nullable("world_size", world_size);
    v("job", job);
    v("child", child);
    v("host", host);
    v("python", python);
    v("cmdline", cmdline);
    v("threads", threads);
    v("error", error);
  }
};

struct DumpedProcesses {
  std::vector<DumpedProcess> processes;

  template <class V>
  void fields(V& v) {
    v("processes", processes);
  }
};

}  // namespace hangdbg::reports
