#include "client/views/dump/json.h"

#include <fmt/core.h>
#include <cstdint>
#include <optional>
#include <string>

#include "base/host_name.h"
#include "client/terminal/reported.h"
#include "protocol/reports/dump.h"

namespace hangdbg {
namespace {

reports::DumpFrame json_of(const PythonFrame& frame) {
  reports::DumpFrame json{
      frame.function, frame.qualname, frame.file,
      frame.line > 0 ? std::optional(frame.line) : std::nullopt};
  if (frame.span.column >= 0) {
    json.end_line = frame.span.end_line;
    json.column = frame.span.column;
    json.end_column = frame.span.end_column;
  }
  return json;
}

reports::DumpFrame json_of(const DumpedThread& thread, std::size_t index) {
  reports::DumpFrame json = json_of(thread.stack.frames[index]);
  if (index < thread.locals.size()) {
    auto& locals = json.locals.emplace();
    for (const DumpedVariable& variable : thread.locals[index]) {
      locals.values.push_back({variable.name, {variable.type, variable.text}});
    }
  }
  return json;
}

reports::DumpFrame json_of(const NativeSymbol& symbol, bool behind_gap) {
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

reports::DumpThread json_of(const DumpedThread& thread) {
  reports::DumpThread json{.tid = thread.tid,
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
    json.syscall = reports::DumpCall{thread.call->name, thread.call->arguments};
  }
  if (thread.exception) {
    json.exception =
        reports::DumpValue{thread.exception->type, thread.exception->text};
  }
  if (thread.error) {
    json.error = thread.error->text();
  }
  if (thread.merged) {
    const MergedStack& merged = *thread.merged;
    json.native = reports::DumpNative{
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

reports::DumpTask json_of(const AsyncioTask& task) {
  reports::DumpTask json{
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

reports::DumpGreenlet json_of(const Greenlet& greenlet) {
  reports::DumpGreenlet json{.name = greenlet.name,
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
  reports::DumpProcess json{
      .pid = dump.pid,
      .host = host_name(),
      .python = dump.python + (dump.free_threaded ? "t" : ""),
      .cmdline = dump.command_line};
  if (!dump.note.empty()) {
    json.note = dump.note;
  }
  if (dump.rank) {
    json.rank = dump.rank->rank;
    json.world_size = dump.rank->world_size;
    json.job = dump.rank->job;
    json.child = dump.rank->child ? std::optional(true) : std::nullopt;
  }
  if (dump.gil) {
    json.gil = reports::DumpGil{dump.gil->locked, dump.gil->holder};
  }
  if (dump.end) {
    json.end = reports::CoreEnd{.signal = dump.end->signal,
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
  return encode(reports::DumpProcess{
      .pid = pid, .host = host_name(), .error = reported(error)});
}

Json dumps_json(const std::vector<Json>& processes,
                const std::optional<std::vector<int>>& missing) {
  return encode(reports::Dumps{processes, missing});
}

}  // namespace hangdbg
