#include "client/views/dump/json.h"

#include <fmt/core.h>
#include <cstdint>
#include <optional>
#include <string>

#include "base/host_name.h"
#include "client/terminal/json_error.h"

namespace hangdbg {
namespace {

struct JsonValue {
  std::string type;
  std::string repr;

  template <class V>
  void fields(V& v) {
    v("type", type);
    v("repr", repr);
  }
};

struct JsonLocals {
  std::vector<std::pair<std::string, JsonValue>> values;

  template <class V>
  void fields(V& v) {
    for (auto& [name, value] : values) {
      v(name, value);
    }
  }
};

struct JsonFrame {
  std::string function;
  std::string qualname;
  std::string file;
  std::optional<std::int64_t> line;
  std::string kind = "python";
  std::optional<std::int64_t> end_line = {}, column = {}, end_column = {};
  std::optional<std::string> module = {};   // of a native one
  std::optional<std::string> builtin = {};  // what Python calls it, if it does
  std::optional<bool> behind_gap = {};      // true, or left out
  std::optional<JsonLocals> locals = {};    // if they were asked for

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

struct JsonCall {
  std::string name;
  std::vector<std::string> args;

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("args", args);
  }
};

// How C and Python frames came together, if C frames were asked for.
struct JsonNative {
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

struct JsonThread {
  std::optional<std::int64_t> tid;
  std::string name;
  std::int64_t interpreter = 0;
  std::string state;
  std::optional<JsonCall> syscall;
  std::optional<double> waiting_s;
  bool has_gil = false;
  bool collects_garbage = false;
  std::optional<JsonValue> exception;
  bool exact = false;
  std::optional<bool> locals_exact = {};  // if they were asked for
  bool complete = true;
  std::optional<JsonNative> native = {};
  std::vector<JsonFrame> frames = {};
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

struct JsonTask {
  std::string name;
  std::string id;
  std::string state;
  std::optional<std::string> future;
  std::vector<std::string> waits_for;
  bool complete = true;
  std::vector<JsonFrame> frames = {};

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

struct JsonGreenlet {
  std::string name;
  std::string id;
  std::string type;
  std::string state;
  bool main = false;
  std::optional<std::int64_t> thread;
  std::optional<std::string> parent;
  bool exact = true;
  bool complete = true;
  std::vector<JsonFrame> frames = {};

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

struct JsonGil {
  bool locked = false;
  std::optional<std::int64_t> holder_tid;

  template <class V>
  void fields(V& v) {
    v("locked", locked);
    v.nullable("holder_tid", holder_tid);
  }
};

struct JsonEnd {
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

struct JsonProcess {
  std::int64_t pid = 0;
  std::optional<std::int64_t> rank, world_size;
  std::optional<std::string> job;
  std::optional<bool> child;  // of that rank; true, or left out
  std::string host;
  std::string python;
  std::vector<std::string> cmdline;
  std::optional<JsonGil> gil;
  std::optional<double> longest_stop_us;
  std::vector<JsonThread> threads;
  std::optional<bool> tasks_complete;  // if they were asked for
  std::optional<std::vector<JsonTask>> tasks;
  std::optional<std::string> greenlets_missing;  // why these are not all
  std::optional<std::vector<JsonGreenlet>> greenlets;
  std::optional<JsonEnd> end;
  std::optional<JsonError> error;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v.nullable("rank", rank);
    v.nullable("world_size", world_size);
    v.nullable("job", job);
    v("child", child);
    v("host", host);
    v("python", python);
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

struct JsonDumps {
  std::vector<Json> processes;
  std::optional<std::vector<int>> missing;  // of a job, if it was asked for

  template <class V>
  void fields(V& v) {
    v("processes", processes);
    v("missing", missing);
  }
};

JsonFrame json_of(const PythonFrame& frame) {
  JsonFrame json{frame.function, frame.qualname, frame.file,
                 frame.line > 0 ? std::optional(frame.line) : std::nullopt};
  if (frame.span.column >= 0) {
    json.end_line = frame.span.end_line;
    json.column = frame.span.column;
    json.end_column = frame.span.end_column;
  }
  return json;
}

JsonFrame json_of(const DumpedThread& thread, std::size_t index) {
  JsonFrame json = json_of(thread.stack.frames[index]);
  if (index < thread.locals.size()) {
    auto& locals = json.locals.emplace();
    for (const DumpedVariable& variable : thread.locals[index]) {
      locals.values.push_back({variable.name, {variable.type, variable.text}});
    }
  }
  return json;
}

JsonFrame json_of(const NativeSymbol& symbol, bool behind_gap) {
  return {.function = symbol.function,
          .qualname = symbol.function,
          .file = symbol.file,
          .line = symbol.line > 0 ? std::optional(symbol.line) : std::nullopt,
          .kind = "native",
          .module = symbol.module,
          .builtin = symbol.builtin.empty() ? std::nullopt
                                            : std::optional(symbol.builtin),
          .behind_gap = behind_gap ? std::optional(true) : std::nullopt};
}

JsonThread json_of(const DumpedThread& thread) {
  JsonThread json{.tid = thread.tid,
                  .name = thread.name,
                  .interpreter = thread.interpreter,
                  .state = thread.state,
                  .waiting_s = thread.waiting_s,
                  .has_gil = thread.has_gil,
                  .collects_garbage = thread.collects_garbage,
                  .exact = thread.stack.exact,
                  .complete = thread.stack.complete};
  if (!thread.locals.empty()) {
    json.locals_exact = thread.locals_exact;
  }
  if (thread.call) {
    json.syscall = JsonCall{thread.call->name, thread.call->arguments};
  }
  if (thread.exception) {
    json.exception = JsonValue{thread.exception->type, thread.exception->text};
  }
  if (thread.error) {
    json.error = thread.error->text();
  }
  if (thread.merged) {
    const MergedStack& merged = *thread.merged;
    json.native = JsonNative{
        merged.merged, merged.complete,
        merged.reason.empty() ? std::nullopt : std::optional(merged.reason)};
  }
  for (const StackEntry& entry : thread.entries()) {
    json.frames.push_back(entry.kind == StackEntry::Kind::Python
                              ? json_of(thread, entry.frame)
                              : json_of(entry.native, entry.behind_gap));
  }
  return json;
}

std::string id_of(Address object) {
  return fmt::format("{:#x}", object.value);
}

JsonTask json_of(const AsyncioTask& task) {
  JsonTask json{
      .name = task.name,
      .id = id_of(task.address),
      .state = task.state,
      .future = task.future.empty() ? std::nullopt : std::optional(task.future),
      .complete = task.stack.complete};
  for (const Address other : task.waits_for) {
    json.waits_for.push_back(id_of(other));
  }
  for (const PythonFrame& frame : task.stack.frames) {
    json.frames.push_back(json_of(frame));
  }
  return json;
}

JsonGreenlet json_of(const Greenlet& greenlet) {
  JsonGreenlet json{.name = greenlet.name,
                    .id = id_of(greenlet.address),
                    .type = greenlet.type,
                    .state = greenlet.state,
                    .main = greenlet.main,
                    .thread = greenlet.tid,
                    .exact = greenlet.stack.exact,
                    .complete = greenlet.stack.complete};
  if (greenlet.parent) {
    json.parent = id_of(greenlet.parent);
  }
  for (const PythonFrame& frame : greenlet.stack.frames) {
    json.frames.push_back(json_of(frame));
  }
  return json;
}

}  // namespace

Json dump_json(const ProcessDump& dump) {
  JsonProcess json{.pid = dump.pid,
                   .host = host_name(),
                   .python = dump.python + (dump.free_threaded ? "t" : ""),
                   .cmdline = dump.command_line};
  if (dump.rank) {
    json.rank = dump.rank->rank;
    json.world_size = dump.rank->world_size;
    json.job = dump.rank->job;
    json.child = dump.rank->child ? std::optional(true) : std::nullopt;
  }
  if (dump.gil) {
    json.gil = JsonGil{dump.gil->locked, dump.gil->holder};
  }
  if (dump.end) {
    json.end = JsonEnd{.signal = dump.end->signal,
                       .tid = dump.end->tid,
                       .sender = dump.end->sender};
    if (dump.end->address) {
      json.end->address = fmt::format("{:#x}", dump.end->address->value);
    }
  }
  json.longest_stop_us =
      std::chrono::duration<double, std::micro>(dump.longest_stop).count();
  for (const DumpedThread& thread : dump.threads) {
    json.threads.push_back(json_of(thread));
  }
  if (dump.tasks) {
    json.tasks_complete = dump.tasks->complete;
    json.tasks.emplace();
    for (const AsyncioTask& task : dump.tasks->tasks) {
      json.tasks->push_back(json_of(task));
    }
  }
  if (dump.greenlets) {
    if (!dump.greenlets->missing.empty()) {
      json.greenlets_missing = dump.greenlets->missing;
    }
    json.greenlets.emplace();
    for (const Greenlet& greenlet : dump.greenlets->greenlets) {
      json.greenlets->push_back(json_of(greenlet));
    }
  }
  return encode(json);
}

Json dump_json(int pid, const Error& error) {
  return encode(JsonProcess{
      .pid = pid, .host = host_name(), .error = JsonError::of(error)});
}

Json dumps_json(const std::vector<Json>& processes,
                const std::optional<std::vector<int>>& missing) {
  return encode(JsonDumps{processes, missing});
}

}  // namespace hangdbg
