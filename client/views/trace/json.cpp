#include "client/views/trace/json.h"

#include <optional>

#include "base/text.h"
#include "protocol/json.h"
#include "protocol/reports/trace.h"
#include "tracee/proc/signals.h"
#include "tracee/syscalls/call_text.h"
#include "tracee/syscalls/names.h"

namespace hangdbg {
namespace {

using std::chrono::system_clock;

double seconds(auto duration) {
  return std::chrono::duration<double>(duration).count();
}

reports::TraceEvent event_now(const char* name, const TraceThread& thread) {
  return {.event = name,
          .at = seconds(system_clock::now().time_since_epoch()),
          .pid = thread.pid,
          .tid = thread.tid};
}

void put(TraceOutput& output, const auto& what) {
  output.append(encode(what).dump() + "\n");
}

}  // namespace

void TraceJson::call(const CallRecord& record) {
  reports::TraceCall json{.at = seconds(record.at.time_since_epoch()),
                          .pid = record.thread.pid,
                          .tid = record.thread.tid,
                          .call = call_name(record.call),
                          .duration_s = seconds(record.took)};
  json.args = record.arguments;
  if (record.state == CallRecord::State::Over) {
    json.result = record.result;
    json.text = record.result_text;
    if (is_error(record.result)) {
      json.error = errno_name(static_cast<int>(-record.result));
    }
  }
  if (record.told_before || record.call.resumed) {
    json.resumed = true;
  }
  if (record.state == CallRecord::State::Alone) {
    json.left_alone = true;
  }
  if (!record.python.empty()) {
    json.python.emplace();
    for (const PythonFrame& frame : record.python) {
      json.python->push_back(
          {to_utf8(frame.function), to_utf8(frame.file), frame.line});
    }
  }
  put(output_, json);
}

void TraceJson::signal(const TraceThread& thread, const siginfo_t& info) {
  reports::TraceEvent json = event_now("signal", thread);
  json.signal = signal_name(info.si_signo);
  if (info.si_code <= 0) {
    json.sender = info.si_pid;
  }
  put(output_, json);
}

void TraceJson::stopped(int pid, int signal) {
  reports::TraceEvent json = event_now("stopped", {pid, pid});
  json.signal = signal_name(signal);
  put(output_, json);
}

void TraceJson::started(const TraceThread& thread, const TraceThread& parent) {
  reports::TraceEvent json = event_now("started", thread);
  json.by = parent.tid;
  put(output_, json);
}

void TraceJson::executed(int pid) {
  put(output_, event_now("executed", {pid, pid}));
}

void TraceJson::ended(const TraceThread& thread, const TracedEnd& how) {
  reports::TraceEvent json = event_now("ended", thread);
  if (how.signal) {
    json.signal = signal_name(*how.signal);
  } else {
    json.exit_code = how.exit_code;
  }
  put(output_, json);
}

}  // namespace hangdbg
