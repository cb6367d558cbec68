// What the functions of libraries wait for: one reviewed table, a row each
// (library_waits_*.inc). A row says what its function waits for; other rules
// find whether that comes.
//
// The table is searched by a thread's frames. A row without `via` applies if
// all that its function has called is waiting, in the library itself or in the
// standard library's files for that. A row with `via` refines a row that
// already applies: what requests waits for, of what urllib3 does. So a row
// never covers the program's own code between the two.
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
  // For a reply or an action that is due:
  Reply,   // of a server
  Lock,    // held by others
  Slot,    // of a pool that is used up
  Child,   // the end, or the output, of a child process
  Thread,  // the action of another thread
  Peers,   // other processes of the same job
  // For a time:
  Pause,  // before it tries or polls again
};
std::string_view kind_name(WaitKind kind);  // "reply"
bool is_idle_by_design(WaitKind kind);

struct LibraryWait {
  std::string_view library;  // its name on PyPI; "Python" for its own
  std::string_view file;     // the end of its path
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
