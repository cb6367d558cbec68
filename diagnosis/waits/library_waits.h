// What the functions of libraries wait for: one reviewed table, a row each
// (library_waits_*.inc). A row says what its function waits for; whether that
// comes is for others to find out.
//
// Of a thread the table is asked with its frames. A row without `via` holds if
// all that its function has called is waiting, in the library itself or in the
// standard library's files for that. A row with `via` says more of a row that
// holds already: what requests waits for, of what urllib3 does. So a row never
// speaks for what the program has put between the two.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

enum class WaitKind {
  // Idle by design:
  Work,         // handed over by the program, or the worker's parent
  Connections,  // of a server
  Messages,     // of a broker, another process, the kernel
  Timer,        // the next time of a schedule
  Input,        // of a user
  // For somebody who owes it:
  Reply,   // of a server
  Lock,    // a lock that others have
  Slot,    // of a pool that is used up
  Child,   // the end, or the output, of a child process
  Thread,  // what another thread does
  Peers,   // other processes of the same job
  // For a time:
  Pause,  // before it tries or looks again
};
std::string_view kind_name(WaitKind kind);  // "reply"
bool is_idle_by_design(WaitKind kind);

struct LibraryWait {
  std::string_view library;  // its name on PyPI; "Python" for its own
  std::string_view file;     // how its path ends
  std::string_view function;
  std::string_view versions;  // of the library, in which the function was seen
  WaitKind kind;
  // What it does: "waits for the reply of {self.host}". {EXPRESSION} is read in
  // the function's frame, as by `hangdbg peek`, the first of {A|B} that can be
  // read; a [part] is left out if what it reads cannot be had, or None.
  std::string_view sentence;
  // Functions of this table, "/file.py:function" by spaces, of which one must
  // be what this one waits in.
  std::string_view via = {};
  // "EXPRESSION: WORDS": its value must be one of these.
  std::string_view when = {};
};

std::span<const LibraryWait>
library_waits();  // all, in the order of their text

struct KnownWait {
  const LibraryWait* row = nullptr;
  const PythonFrame* frame = nullptr;
};

// The row that says most of what the thread waits for, and can be said.
std::optional<KnownWait> known_wait(const ProcessSnapshot& of,
                                    const ThreadSnapshot& thread);
// Its sentence, with the values that it names.
std::string sentence_of(const ProcessSnapshot& of, const KnownWait& known);

// The expressions that a row reads.
std::vector<std::string_view> expressions_of(const LibraryWait& row);

// Threads that rest: in a loop of a library that waits for work or for
// connections, and all that the loop has called is waiting.
std::optional<KnownWait> worker_loop(const ThreadSnapshot& thread);
inline bool is_worker_loop(const ThreadSnapshot& thread) {
  return worker_loop(thread).has_value();
}

}  // namespace hangdbg
