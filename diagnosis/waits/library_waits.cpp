#include "diagnosis/waits/library_waits.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "base/secrets.h"
#include "base/text.h"
#include "diagnosis/waits/sleep_loop.h"

namespace hangdbg {
// A namespace of its own: the rows name kinds by their bare names.
namespace library_table {
namespace {

using enum WaitKind;

constexpr LibraryWait kRows[] = {
#include "diagnosis/waits/library_waits_brokers.inc"
#include "diagnosis/waits/library_waits_clients.inc"
#include "diagnosis/waits/library_waits_databases.inc"
#include "diagnosis/waits/library_waits_jobs.inc"
#include "diagnosis/waits/library_waits_processes.inc"
#include "diagnosis/waits/library_waits_python.inc"
#include "diagnosis/waits/library_waits_servers.inc"
};

constexpr std::size_t kMostFrames = 100;

template <std::size_t N>
bool ends_with_any(std::string_view file,
                   const std::array<std::string_view, N>& ends) {
  return std::ranges::any_of(
      ends, [file](std::string_view one) { return file.ends_with(one); });
}

// What a loop that waits for work calls to wait.
bool only_waits(std::string_view file) {
  constexpr std::array<std::string_view, 15> kFiles = {
      "/multiprocessing/queues.py",
      "/multiprocessing/connection.py",
      "/multiprocessing/synchronize.py",
      "/queue.py",
      "/threading.py",
      "/selectors.py",
      "/multiprocessing/pool.py",
      "/billiard/connection.py",
      "/billiard/queues.py",
      "/billiard/synchronize.py",
      "/multiprocess/connection.py",
      "/multiprocess/pool.py",
      "/multiprocess/queues.py",
      "/multiprocess/synchronize.py",
      "/sentry_sdk/_queue.py"};
  return ends_with_any(file, kFiles);
}

// What other waits call, too. A callback or a task is behind
// /asyncio/events.py, which is not among them.
bool passes_on(std::string_view file) {
  constexpr std::array<std::string_view, 12> kFiles = {
      "/asyncio/locks.py",
      "/asyncio/queues.py",
      "/asyncio/streams.py",
      "/asyncio/tasks.py",
      "/socket.py",
      "/ssl.py",
      "/contextlib.py",
      "/concurrent/futures/_base.py",
      "/asyncio/base_events.py",
      "/asyncio/runners.py",
      "/asyncio/unix_events.py",
      "/asyncio/windows_events.py"};
  return only_waits(file) || ends_with_any(file, kFiles);
}

std::span<const LibraryWait* const> rows_of(std::string_view function) {
  static const auto by_function = [] {
    std::map<std::string_view, std::vector<const LibraryWait*>> all;
    for (const LibraryWait& row : kRows) {
      all[row.function].push_back(&row);
    }
    return all;
  }();
  const auto found = by_function.find(function);
  return found == by_function.end()
             ? std::span<const LibraryWait* const>()
             : std::span<const LibraryWait* const>(found->second);
}

bool is_in(const PythonFrame& frame, const LibraryWait& row) {
  return frame.function == row.function && frame.file.ends_with(row.file);
}

// The folder of the row's package, found by one of its files; for a single
// module, the file itself.
std::string_view package_of(const KnownWait& known) {
  const std::string_view file = known.row->file;
  const std::size_t end = file.find('/', 1);
  const std::size_t folder = known.frame->file.size() - file.size();
  return std::string_view(known.frame->file)
      .substr(0, end == file.npos ? file.npos : folder + end + 1);
}

// Whether a frame that only waits is in the row's `via`.
bool names(std::string_view via, const PythonFrame& frame) {
  return std::ranges::any_of(split_words(via), [&](std::string_view one) {
    const std::size_t colon = one.rfind(':');
    return frame.function == one.substr(colon + 1) &&
           frame.file.ends_with(one.substr(0, colon));
  });
}

// Such functions may wait in other functions of their library; loops and waits
// for a turn do other things in those.
bool waits_in_own(WaitKind kind) {
  return kind == Reply || kind == Child || kind == Thread || kind == Peers;
}

// Whether all of these frames are waiting, and nothing else.
bool wait_for(std::span<const PythonFrame> frames,
              const KnownWait& known,
              const KnownWait* within) {
  const bool own_too = within != nullptr || waits_in_own(known.row->kind);
  const std::string_view own = package_of(known);
  const std::string_view other =
      within != nullptr ? package_of(*within) : std::string_view();
  return std::ranges::all_of(frames, [&](const PythonFrame& frame) {
    const std::string_view file = frame.file;
    return passes_on(file) || (own_too && file.starts_with(own)) ||
           (within != nullptr && file.starts_with(other));
  });
}

// The innermost row of a thread.
bool begins(std::span<const PythonFrame> inner, const KnownWait& known) {
  const std::string_view via = known.row->via;
  return wait_for(inner, known, nullptr) &&
         (via.empty() ||
          std::ranges::any_of(inner, [via](const PythonFrame& frame) {
            return passes_on(frame.file) && names(via, frame);
          }));
}

bool goes_through(const LibraryWait& row, const LibraryWait& inner) {
  return std::ranges::any_of(split_words(row.via), [&](std::string_view one) {
    const std::size_t colon = one.rfind(':');
    return one.substr(0, colon) == inner.file &&
           one.substr(colon + 1) == inner.function;
  });
}

// A thread that hands over a result has work; so has one that sleeps, or waits
// for a child, in a C function that it runs as work.
bool may_wait_for_work(const ThreadSnapshot& thread) {
  constexpr std::array<std::string_view, 8> kOthers = {
      "write",  "sendto",          "sendmsg", "wait4",
      "waitid", "clock_nanosleep", "flock",   "connect"};
  const std::string_view call = thread.wait.syscall;
  const bool sleeps_by_it =  // as time.sleep() did before 3.11
      (call == "select" || call == "pselect6" || call == "poll") &&
      is_timed_sleep(thread.wait.call);
  return !sleeps_by_it && std::ranges::find(kOthers, call) == kOthers.end();
}

// A process of a pool waits for work in functions of Python. If none is seen,
// it runs a function of C as its task; a thread of a ThreadPool waits in C.
bool runs_task_in_c(const ThreadSnapshot& thread, const LibraryWait& row) {
  constexpr std::array<std::string_view, 4> kPools = {
      "/concurrent/futures/process.py", "/loky/process_executor.py",
      "/multiprocess/pool.py", "/multiprocessing/pool.py"};
  return thread.id.tid == thread.id.pid && thread.sleeps_in("futex") &&
         (row.function == "_process_worker" || row.function == "worker") &&
         ends_with_any(row.file, kPools);
}

// ---- values

// Of a text in one line, "select * from t where ...".
std::string shortened(std::string_view text) {
  constexpr std::size_t kMost = 80;
  std::string line;
  for (const std::string_view word : split_words(text)) {
    line += line.empty() ? "" : " ";
    line += word;
    if (line.size() > kMost) {
      line.resize(kMost);
      while (!line.empty() && (line.back() & 0xc0) == 0x80) {
        line.pop_back();  // no half of a character
      }
      if (!line.empty() && (line.back() & 0x80) != 0) {
        line.pop_back();
      }
      return line + "...";
    }
  }
  return line;
}

// b'GET' as GET.
std::string_view without_quotes(std::string_view shown) {
  return shown.starts_with("b'") && shown.ends_with('\'')
             ? shown.substr(2, shown.size() - 3)
             : shown;
}

// ('127.0.0.1', 80) as 127.0.0.1:80; else as it is.
std::string as_address(std::string_view shown) {
  const std::size_t middle = shown.find("', ");
  if (!shown.starts_with("('") || !shown.ends_with(')') ||
      middle == shown.npos) {
    return std::string(shown);
  }
  const std::string_view port =
      shown.substr(middle + 3, shown.size() - middle - 4);
  return port.empty() || port.find_first_not_of("0123456789") != port.npos
             ? std::string(shown)
             : fmt::format("{}:{}", shown.substr(2, middle - 2), port);
}

// "" of None, and of what cannot be read.
std::string value_of_one(const ProcessSnapshot& of,
                         const PythonFrame& frame,
                         std::string_view expression) {
  std::string value;
  if (const auto text = of.text(frame, expression)) {
    value = *text;
  } else if (const auto number = of.number(frame, expression)) {
    value = std::to_string(*number);
  } else if (const std::string shown = of.shown(frame, expression);
             shown != "None" && shown != "?") {
    value = as_address(without_quotes(shown));
  }
  return printable(shortened(masked_text(value)));
}

// Of the first that can be read.
std::string value_of(const ProcessSnapshot& of,
                     const PythonFrame& frame,
                     std::string_view expressions) {
  for (const std::string_view one : split(expressions, '|')) {
    if (std::string value = value_of_one(of, frame, one); !value.empty()) {
      return value;
    }
  }
  return "";
}

// The end of the part that starts there with '[' or '{': expressions may
// contain brackets.
std::size_t end_of_part(std::string_view text, std::size_t begin) {
  const char close = text[begin] == '[' ? ']' : '}';
  bool in_expression = close == '}';
  for (std::size_t at = begin + 1; at < text.size(); ++at) {
    if (text[at] == close && (close == '}' || !in_expression)) {
      return at;
    }
    in_expression = text[at] == '{' || (in_expression && text[at] != '}');
  }
  return text.size();
}

// None if something that it reads is missing.
std::optional<std::string> filled(const ProcessSnapshot& of,
                                  const PythonFrame& frame,
                                  std::string_view text) {
  std::string said;
  bool all = true;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '[' && text[at] != '{') {
      said += text[at];
      continue;
    }
    const std::size_t end = end_of_part(text, at);
    const std::string_view part = text.substr(at + 1, end - at - 1);
    if (text[at] == '[') {
      said += filled(of, frame, part).value_or("");
    } else {
      const std::string value = value_of(of, frame, part);
      all = all && !value.empty();
      said += value;
    }
    at = end;
  }
  return all ? std::optional(said) : std::nullopt;
}

bool holds(const ProcessSnapshot& of,
           const PythonFrame& frame,
           std::string_view when) {
  if (when.empty()) {
    return true;
  }
  const std::size_t colon = when.find(": ");
  const auto words = split_words(when.substr(colon + 1));
  const std::string_view what = when.substr(0, colon);
  const auto is_word = [&](std::string_view value) {
    return std::ranges::find(words, value) != words.end();
  };
  return is_word(value_of(of, frame, what)) ||
         (is_word("None") && of.shown(frame, std::string(what)) == "None");
}

}  // namespace
}  // namespace library_table

std::string_view kind_name(WaitKind kind) {
  switch (kind) {
    case WaitKind::Work:
      return "work";
    case WaitKind::Connections:
      return "connections";
    case WaitKind::Messages:
      return "messages";
    case WaitKind::Timer:
      return "a time";
    case WaitKind::Input:
      return "input";
    case WaitKind::Reply:
      return "a reply";
    case WaitKind::Lock:
      return "a lock";
    case WaitKind::Slot:
      return "a slot";
    case WaitKind::Child:
      return "a child";
    case WaitKind::Thread:
      return "a thread";
    case WaitKind::Peers:
      return "peers";
    case WaitKind::Pause:
      return "the next try";
  }
  return "";
}

bool is_idle_by_design(WaitKind kind) {
  return kind <= WaitKind::Input;
}

std::span<const LibraryWait> library_waits() {
  return library_table::kRows;
}

std::optional<KnownWait> known_wait(const ProcessSnapshot& of,
                                    const ThreadSnapshot& thread) {
  using namespace library_table;
  std::optional<KnownWait> known, can_be_said;
  const std::span<const PythonFrame> frames = thread.frames();
  std::size_t known_at = 0;
  const std::size_t most = std::min(frames.size(), kMostFrames);
  for (std::size_t at = 0; at < most; ++at) {
    for (const LibraryWait* const row : rows_of(frames[at].function)) {
      if (!is_in(frames[at], *row)) {
        continue;
      }
      if (row->kind == WaitKind::Work &&
          (!may_wait_for_work(thread) ||
           (at == 0 && runs_task_in_c(thread, *row)))) {
        continue;
      }
      const KnownWait candidate{row, &frames[at]};
      const bool fits =
          !known ? begins(frames.first(at), candidate)
                 : goes_through(*row, *known->row) &&
                       wait_for(frames.subspan(known_at + 1, at - known_at - 1),
                                candidate, &*known);
      if (fits && holds(of, frames[at], row->when)) {
        known = candidate;
        known_at = at;
        if (filled(of, frames[at], row->sentence)) {
          can_be_said = candidate;
        }
        break;
      }
    }
  }
  return can_be_said;
}

std::string sentence_of(const ProcessSnapshot& of, const KnownWait& known) {
  return library_table::filled(of, *known.frame, known.row->sentence)
      .value_or("");
}

std::vector<std::string_view> expressions_of(const LibraryWait& row) {
  std::vector<std::string_view> all;
  const std::string_view text = row.sentence;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '{') {
      const std::size_t end = library_table::end_of_part(text, at);
      std::ranges::move(split(text.substr(at + 1, end - at - 1), '|'),
                        std::back_inserter(all));
      at = end;
    }
  }
  if (!row.when.empty()) {
    all.push_back(row.when.substr(0, row.when.find(": ")));
  }
  return all;
}

std::optional<KnownWait> worker_loop(const ThreadSnapshot& thread) {
  using namespace library_table;
  if (!may_wait_for_work(thread)) {
    return std::nullopt;
  }
  const std::span<const PythonFrame> frames = thread.frames();
  for (std::size_t at = 0; at < frames.size(); ++at) {
    for (const LibraryWait* const row : rows_of(frames[at].function)) {
      if (!is_idle_by_design(row->kind) && row->when.empty() &&
          row->via.empty() && is_in(frames[at], *row)) {
        return std::nullopt;  // for something that is due, inside of its loop
      }
      if ((row->kind == WaitKind::Work || row->kind == WaitKind::Connections) &&
          row->when.empty() && is_in(frames[at], *row) &&
          !(at == 0 && runs_task_in_c(thread, *row)) &&
          (row->via.empty() ||
           std::ranges::any_of(frames.first(at), [row](const auto& inner) {
             return names(row->via, inner);
           }))) {
        return KnownWait{row, &frames[at]};
      }
    }
    if (!only_waits(frames[at].file)) {
      break;
    }
  }
  return std::nullopt;
}

}  // namespace hangdbg
