#include "client/views/trace/text.h"

#include <fmt/core.h>

#include <ctime>

#include "base/text.h"
#include "tracee/proc/signals.h"
#include "tracee/syscalls/call_text.h"

namespace hangdbg {
namespace {

using std::chrono::system_clock;

std::string sender_of(const siginfo_t& info);

}  // namespace

void TraceText::call(const CallRecord& record) {
  std::string text = record.told_before || record.call.resumed
                         ? palette_.dim("resumed ")
                         : std::string();
  text += palette_.bold(call_name(record.call)) + "(";
  for (std::size_t i = 0; i < record.arguments.size(); ++i) {
    text += i == 0 ? "" : ", ";
    text += record.arguments[i];
  }
  text += ") = ";
  switch (record.state) {
    case CallRecord::State::Over:
      text += is_error(record.result) ? palette_.red(record.result_text)
                                      : record.result_text;
      text += palette_.dim(fmt::format(" <{}>", human_duration(record.took)));
      break;
    case CallRecord::State::Waiting:
      text += palette_.dim(
          fmt::format("? still in it after {}", human_duration(record.took)));
      break;
    case CallRecord::State::Alone:
      text += palette_.dim("? still in it, and not disturbed");
      break;
    case CallRecord::State::Gone:
      text += "?";
      break;
  }
  line(record.thread.tid, record.at, text + place(record.python));
}

void TraceText::signal(const TraceThread& thread, const siginfo_t& info) {
  remark(thread.tid, "--- " + signal_name(info.si_signo) + sender_of(info));
}

void TraceText::stopped(int pid, int signal) {
  remark(pid, fmt::format("--- stopped by {}", signal_name(signal)));
}

void TraceText::started(const TraceThread& thread, const TraceThread& parent) {
  remark(
      parent.tid,
      fmt::format("--- started {} {}",
                  thread.pid == parent.pid ? "thread" : "process", thread.tid));
}

void TraceText::executed(int pid) {
  remark(pid, "--- runs another program");
}

void TraceText::ended(const TraceThread& thread, const TracedEnd& how) {
  if (how.signal) {
    remark(thread.tid,
           fmt::format("+++ killed by {}", signal_name(*how.signal)));
  } else if (thread.tid == thread.pid) {
    remark(thread.tid, fmt::format("+++ ended with {}", how.exit_code));
  } else {
    remark(thread.tid, "+++ thread ended");
  }
}

void TraceText::line(int tid,
                     system_clock::time_point at,
                     std::string_view text) {
  std::string when;
  if (options_.time) {
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(
                            at.time_since_epoch())
                            .count();
    const std::time_t seconds = micros / 1'000'000;
    std::tm local{};
    ::localtime_r(&seconds, &local);
    when = fmt::format("{:02}:{:02}:{:02}.{:06} ", local.tm_hour, local.tm_min,
                       local.tm_sec, micros % 1'000'000);
  }
  output_.append(fmt::format("{}{:<7} {}\n", when, tid, text));
}

void TraceText::remark(int tid, std::string_view text) {
  line(tid, system_clock::now(), palette_.cyan(text));
}

std::string TraceText::place(const std::vector<PythonFrame>& frames) const {
  std::string text;
  for (const PythonFrame& frame : frames) {
    text += (text.empty() ? "  " : " ") + std::string(palette_.dim("<- ")) +
            listed_frame(frame.function, frame.file, frame.line,
                         options_.full_filenames, palette_);
  }
  return text;
}

namespace {

// A code above 0 is the kernel's (sigaction(2)).
std::string sender_of(const siginfo_t& info) {
  if (info.si_code <= 0) {
    return fmt::format(", sent by {}", info.si_pid);
  }
  switch (info.si_signo) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
      return fmt::format(" at {:#x}",
                         reinterpret_cast<std::uintptr_t>(info.si_addr));
    case SIGCHLD:
      return fmt::format(", of child {}", info.si_pid);
    default:
      return "";
  }
}

}  // namespace
}  // namespace hangdbg
