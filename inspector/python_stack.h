// The Python stack of a thread, read from outside: nothing is stopped and
// nothing runs in the target, so it can be had whoever has the GIL.
//
// A thread that sleeps is read exactly. One that runs meanwhile changes its
// frames under our eyes: what is read of it may be torn, from two moments.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspector/gil.h"
#include "inspector/python_runtime.h"
#include "tracee/address.h"
#include "tracee/memory.h"

namespace hangdbg {

struct PythonFrame {
  std::string function;  // its plain name
  std::string qualname;  // from 3.11 on; before, the plain name too
  std::string file;      // as in co_filename
  int line = 0;          // 0: the instruction belongs to none
  int first_line = 0;    // of the function
};

struct PythonStack {
  std::vector<PythonFrame> frames;  // innermost first
  bool complete = true;             // false: it is deeper than was asked for
  bool exact = false;               // the thread slept all the while
};

// For one target. Keeps what it has read of code objects, as far as they are
// the same still, so a deep recursion or a second look costs little. Not for
// two threads at once.
class PythonStackReader {
 public:
  static constexpr std::size_t kMostFrames = 100'000;

  // Both must outlive the reader.
  PythonStackReader(const MemoryReader& memory, const PythonRuntime& python)
      : memory_(memory), python_(python) {}

  // The `most` innermost frames. Never `exact`: memory alone does not tell.
  // Errors: Unreadable.
  Result<PythonStack> read(Address thread_state,
                           std::size_t most = kMostFrames);

  // Of a thread of the live process `pid`. Errors: Unreadable.
  Result<PythonStack> read(int pid,
                           const PythonThread& thread,
                           std::size_t most = kMostFrames);

 private:
  // What a code object says of itself.
  struct Code {
    Address name, qualname, file, table;
    std::int64_t first_traceable = 0;  // bytes from the first instruction
    std::vector<std::byte> lines;
    PythonFrame frame;  // but for the line

    // Whether these are one object, read twice, and not two of which the later
    // took the earlier's place in memory.
    bool is_same(const Code& other) const;
  };
  Result<const Code*> code_at(const MemoryReader& memory, Address object);
  Status read_frame(const MemoryReader& memory,
                    Address frame,
                    std::vector<PythonFrame>& frames);

  const MemoryReader& memory_;
  const PythonRuntime& python_;
  std::map<Address, Code> codes_;
};

}  // namespace hangdbg
