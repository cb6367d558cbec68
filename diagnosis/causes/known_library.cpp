// A thread in a library function whose purpose is known (library_waits.h): that
// replaces what the kernel sees of it, "waits for events on 1 descriptor". The
// awaited process or thread and what a rule has proved stay.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/awaited_files.h"
#include "diagnosis/waits/library_waits.h"
#include "diagnosis/waits/native_waits.h"
#include "diagnosis/waits/waits_inside.h"

namespace hangdbg::causes {
namespace {

// Causes that say little about the awaited event.
bool may_be_said_better(const Cause& cause) {
  constexpr std::array kIds = {
      CauseId::Condition, CauseId::Future, CauseId::Idle,   CauseId::PeerSilent,
      CauseId::Polls,     CauseId::Serves, CauseId::Sleeps, CauseId::Unknown,
  };
  return std::ranges::find(kIds, cause.id) != kIds.end();
}

// Whether the kernel's wait can be of that kind: a thread that sleeps for a
// time, or waits for another thread, does not read from a server.
bool may_be(WaitKind kind, CauseId id, const ThreadSnapshot& thread) {
  const bool sleeps = id == CauseId::Polls || id == CauseId::Sleeps;
  const bool in_futex = thread.wait.syscall == "futex";
  switch (kind) {
    case WaitKind::Pause:
      return sleeps;
    case WaitKind::Connections:
      return !sleeps || in_futex;
    case WaitKind::Reply:
      return !sleeps || in_futex;
    default:
      return true;
  }
}

CauseId id_of(WaitKind kind, CauseId found) {
  const bool says_little =
      found == CauseId::Unknown || found == CauseId::Idle ||
      found == CauseId::Serves ||
      // It sleeps between two polls.
      (found == CauseId::Sleeps && !is_idle_by_design(kind));
  if (!says_little) {
    return found;
  }
  switch (kind) {
    case WaitKind::Connections:
      return CauseId::Serves;
    case WaitKind::Reply:
      return CauseId::PeerSilent;
    case WaitKind::Child:
      return CauseId::Child;
    case WaitKind::Lock:
    case WaitKind::Slot:
    case WaitKind::Thread:
    case WaitKind::Peers:
      return CauseId::Condition;
    case WaitKind::Pause:
      return CauseId::Sleeps;
    default:
      return CauseId::Idle;
  }
}

// The progress that follows: a wait for work is no hang, and a wait for a reply
// that is due is not idle.
void take_progress(WaitKind kind, Cause& cause) {
  if (kind == WaitKind::Messages && cause.id == CauseId::PeerSilent &&
      cause.progress == Progress::Blocked) {
    cause.progress = Progress::Idle;  // of a broker that has no messages
  } else if (is_idle_by_design(kind)) {
    if ((cause.progress == Progress::Blocked ||
         cause.progress == Progress::Unknown) &&
        cause.blocked_by.empty()) {
      cause.progress = Progress::Idle;
      cause.id =
          kind == WaitKind::Connections ? CauseId::Serves : CauseId::Idle;
      cause.confidence = Confidence::Likely;
      cause.next.clear();
    }
  } else if (kind != WaitKind::Pause &&
             (cause.progress == Progress::Unknown ||
              // Other rules find the process that has the pipe of a child.
              (cause.progress == Progress::Idle && kind != WaitKind::Child))) {
    cause.progress = Progress::Blocked;
    cause.confidence = Confidence::Possible;
  }
}

// No other process can send to a descriptor that it watches, it has no timer,
// and no other thread.
bool hears_nobody(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  return awaited.any && !awaited.with_time && !awaited.files.empty() &&
         awaited_from_others(of, awaited).empty() && !hears_from_others(of) &&
         of.python_threads().size() == 1;
}

// pyzmq keeps the type of a socket ("REQ") where Python code can read it, also
// where its C function has been called: `self.socket.recv()`.
std::string type_of_zmq_socket(const ProcessSnapshot& of,
                               const PythonFrame& frame) {
  if (frame.file.ends_with("/zmq/sugar/socket.py")) {
    return of.text(frame, "self._type_name").value_or("");
  }
  const auto read = of.loops(frame);
  const std::string_view callee = read ? read->call.callee : "";
  const auto dot = callee.rfind('.');
  return dot == callee.npos ? ""
                            : of.text(frame, fmt::format("{}._type_name",
                                                         callee.substr(0, dot)))
                                  .value_or("");
}

struct Said {
  WaitKind kind;
  std::string sentence;
  std::string source;
};

// A socket that asks waits for a reply, which is due.
Said by_its_socket(Said said,
                   const ProcessSnapshot& of,
                   const PythonFrame& frame) {
  if (said.kind == WaitKind::Messages &&
      type_of_zmq_socket(of, frame) == "REQ") {
    said.kind = WaitKind::Reply;
    said.sentence = "waits for the reply to what its ZeroMQ socket (REQ) asks";
  }
  return said;
}

// Found by a function of Python, else by one of C.
std::optional<Said> said_of_library(const ProcessSnapshot& of,
                                    const ThreadSnapshot& thread) {
  if (const auto known = known_wait(of, thread)) {
    const Said said{
        known->row->kind, sentence_of(of, *known),
        fmt::format("{} {} waits for {} in {}", known->row->library,
                    known->row->versions, kind_name(known->row->kind),
                    place_of(*known->frame))};
    return known->row->library == "pyzmq"
               ? by_its_socket(said, of, *known->frame)
               : said;
  }
  if (const NativeWait* const row = native_wait(of, thread)) {
    const Said said{row->kind, std::string(row->sentence),
                    fmt::format("{} waits for {} in {}()", row->library,
                                kind_name(row->kind), row->function)};
    return row->library == "ZeroMQ" && !thread.frames().empty()
               ? by_its_socket(said, of, thread.frames().front())
               : said;
  }
  return std::nullopt;
}

}  // namespace

void refine_by_library(const ProcessSnapshot& of,
                       const ThreadSnapshot& thread,
                       Cause& cause) {
  if (!of.is_python() || thread.wait.state == 'R' || cause.of_tasks ||
      !may_be_said_better(cause)) {
    return;
  }
  auto known = said_of_library(of, thread);
  if (!known || !may_be(known->kind, cause.id, thread) ||
      known->sentence.empty() ||
      known->sentence == cause.summary) {  // by the rule for idle workers
    return;
  }
  std::string& said = known->sentence;
  if (known->kind == WaitKind::Timer && cause.id == CauseId::Polls) {
    // It asks the clock for the time: that is no poll.
    cause.id = CauseId::Sleeps;
    cause.progress = Progress::Idle;
    cause.evidence = {thread.place()};
    cause.next.clear();
    said.swap(cause.summary);
    said = cause.summary;
  }
  cause.id = id_of(known->kind, cause.id);
  take_progress(known->kind, cause);
  if (known->kind == WaitKind::Messages && cause.progress == Progress::Idle &&
      hears_nobody(of, thread)) {
    cause.progress = Progress::Unknown;
    cause.confidence = Confidence::Possible;
    cause.evidence.push_back(
        "it watches no descriptor by which another process could send any");
  }
  if (said == cause.summary) {
    // nothing to add
  } else if (cause.blocked_by.empty() && !cause.by_some_thread) {
    std::swap(cause.summary, said);
    cause.evidence.push_back(said);
  } else {
    cause.summary = fmt::format("{}: {}", said, cause.summary);
  }
  cause.evidence.push_back(known->source);
}

}  // namespace hangdbg::causes
