#include "client/prompt/break_events.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "base/fd.h"
#include "client/prompt/attached_ranks.h"
#include "client/prompt/together.h"
#include "client/terminal/render.h"
#include "client/terminal/reported.h"
#include "protocol/reports/error.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

double seconds(milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

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

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("place", place);
    v("ranks", ranks);
    v("message", message);
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
  }
};

struct OutputEvent {
  std::string event = "output";
  int rank = 0;
  std::string command;
  int code = 0;
  std::string out;
  std::string err;

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("rank", rank);
    v("command", command);
    v("code", code);
    v("out", out);
    v("err", err);
  }
};

// A breakpoint's own message; or what is to be known of a rank beside.
struct TextEvent {
  std::string event;
  int rank = 0;
  std::string text;

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("rank", rank);
    v("text", text);
  }
};

struct ErrorEvent {
  std::string event = "error";
  reports::ReportedError error;

  template <class V>
  void fields(V& v) {
    v("event", event);
    v("error", error);
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

int number_of(const AttachedRank& rank) {
  return rank.rank.value_or(0);
}

}  // namespace

BreakEvents::BreakEvents() : to_(nullptr, std::fclose) {
  answer_is_written();
  flush_output(stdout);
  Fd kept(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  to_.reset(kept ? ::fdopen(kept.release(), "w") : nullptr);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

void BreakEvents::job(const Job& job) {
  JobEvent event{.job = job.id,
                 .kind = job.kind,
                 .launcher = job.launcher,
                 .world_size = job.world_size,
                 .missing = job.missing.numbers(),
                 .findings = findings(job)};
  for (const JobRank& rank : job.ranks) {
    event.ranks.push_back(rank.rank);
  }
  tell(encode(event));
}

void BreakEvents::raised(const TimeoutOverride& raised) {
  tell(encode(RaisedEvent{.ranks = raised.raised().numbers(),
                          .groups = static_cast<std::int64_t>(raised.groups()),
                          .by_s = seconds(raised.by()),
                          .held_for_s = seconds(raised.longest())}));
  for (const auto& [why, ranks] : raised.not_raised()) {
    tell(encode(NotRaisedEvent{.ranks = ranks.numbers(), .why = why}));
  }
}

void BreakEvents::pending(const std::vector<OldCollective>& old) {
  for (const OldCollective& one : old) {
    tell(encode(PendingEvent{.group = one.group,
                             .number = one.number,
                             .inside = one.inside.numbers(),
                             .awaited = one.awaited.numbers(),
                             .timeout_s = seconds(one.timeout)}));
  }
}

void BreakEvents::breakpoint(const std::string& place,
                             const RankSet& ranks,
                             const std::optional<std::string>& message) {
  tell(encode(BreakpointEvent{
      .place = place, .ranks = ranks.numbers(), .message = message}));
}

void BreakEvents::shortened(const std::string& why, milliseconds left) {
  tell(encode(ShortenedEvent{.why = why, .left_s = seconds(left)}));
}

void BreakEvents::waits(const RankSet& here, const RankSet& all) {
  tell(encode(WaitsEvent{.ranks = here.numbers(), .until = all.numbers()}));
}

void BreakEvents::stop(const AttachedRank& rank) {
  const Place& place = rank.state->place;
  const dap::StackFrame& frame = place.frame();
  tell(encode(StopEvent{
      .rank = number_of(rank),
      .pid = rank.pid,
      .thread = place.thread().tid,
      .thread_name = place.thread().name,
      .file = frame.source ? frame.source->path : std::nullopt,
      .line = frame.line,
      .function = frame.name,
  }));
}

void BreakEvents::output(const AttachedRank& rank,
                         const std::string& command,
                         const RankPrinted& printed) {
  tell(encode(OutputEvent{.rank = number_of(rank),
                          .command = command,
                          .code = printed.code,
                          .out = printed.out,
                          .err = printed.err}));
}

void BreakEvents::log(int rank, const std::string& text) {
  tell(encode(TextEvent{.event = "log", .rank = rank, .text = text}));
}

void BreakEvents::note(int rank, const std::string& text) {
  tell(encode(TextEvent{.event = "note", .rank = rank, .text = text}));
}

void BreakEvents::error(const Error& error) {
  tell(encode(ErrorEvent{.error = reported(error)}));
}

void BreakEvents::end(int code) {
  tell(encode(EndEvent{.code = code}));
}

void BreakEvents::tell(const Json& event) {
  if (to_) {
    print_now(to_.get(), event.dump() + "\n");
  }
}

}  // namespace hangdbg
