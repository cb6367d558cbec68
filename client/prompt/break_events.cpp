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
#include "protocol/reports/break.h"
#include "protocol/reports/error.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

double seconds(milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

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
  reports::JobEvent event{.job = job.id,
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
  tell(encode(
      reports::RaisedEvent{.ranks = raised.raised().numbers(),
                           .groups = static_cast<std::int64_t>(raised.groups()),
                           .by_s = seconds(raised.by()),
                           .held_for_s = seconds(raised.longest())}));
  for (const auto& [why, ranks] : raised.not_raised()) {
    tell(encode(reports::NotRaisedEvent{.ranks = ranks.numbers(), .why = why}));
  }
}

void BreakEvents::pending(const std::vector<OldCollective>& old) {
  for (const OldCollective& one : old) {
    tell(encode(reports::PendingEvent{.group = one.group,
                                      .number = one.number,
                                      .inside = one.inside.numbers(),
                                      .awaited = one.awaited.numbers(),
                                      .timeout_s = seconds(one.timeout)}));
  }
}

void BreakEvents::breakpoint(const std::string& place,
                             const RankSet& ranks,
                             const std::optional<std::string>& message) {
  tell(encode(reports::BreakpointEvent{
      .place = place, .ranks = ranks.numbers(), .message = message}));
}

void BreakEvents::shortened(const std::string& why, milliseconds left) {
  tell(encode(reports::ShortenedEvent{.why = why, .left_s = seconds(left)}));
}

void BreakEvents::waits(const RankSet& here, const RankSet& all) {
  tell(encode(
      reports::WaitsEvent{.ranks = here.numbers(), .until = all.numbers()}));
}

void BreakEvents::stop(const AttachedRank& rank) {
  const Place& place = rank.state->place;
  const dap::StackFrame& frame = place.frame();
  tell(encode(reports::StopEvent{
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
  tell(encode(reports::OutputEvent{.rank = number_of(rank),
                                   .command = command,
                                   .code = printed.code,
                                   .out = printed.out,
                                   .err = printed.err}));
}

void BreakEvents::log(int rank, const std::string& text) {
  tell(encode(reports::TextEvent{.event = "log", .rank = rank, .text = text}));
}

void BreakEvents::note(int rank, const std::string& text) {
  tell(encode(reports::TextEvent{.event = "note", .rank = rank, .text = text}));
}

void BreakEvents::error(const Error& error) {
  tell(encode(reports::ErrorEvent{.error = reported(error)}));
}

void BreakEvents::end(int code) {
  tell(encode(reports::EndEvent{.code = code}));
}

void BreakEvents::tell(const Json& event) {
  if (to_) {
    print_now(to_.get(), event.dump() + "\n");
  }
}

}  // namespace hangdbg
