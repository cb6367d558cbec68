// The Python stack of a thread, read out of process: nothing runs in the
// target, so it does not depend on the GIL.
//
// What a thread's words say (frame_chain.h) becomes names and lines here. Of a
// thread that runs meanwhile the words may be torn, from two moments;
// thread_sample.h avoids that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/layout/line_table.h"
#include "inspector/cpython/runtime/frame_chain.h"
#include "inspector/cpython/runtime/gil.h"
#include "inspector/cpython/runtime/python_runtime.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"

namespace hangdbg {

struct PythonFrame {
  std::string function;     // its plain name
  std::string qualname;     // from 3.11 on; before, the plain name too
  std::string file;         // as in co_filename
  int line = 0;             // 0: the instruction belongs to none
  SourceSpan span;          // what of the source it is, line and columns
  int first_line = 0;       // of the function
  Address address;          // of the frame itself
  Address code;             // of its code object
  std::int64_t offset = 0;  // of the instruction in it: bytes from the first
  bool entry = false;       // the outermost of a C eval loop's frames
  Address loop;             // of an entry: in that loop's C frame; from 3.12 on
};

// Safe to print: "lock.py:42", "lock.py:42 in wait".
std::string line_of(const PythonFrame& frame);
std::string place_of(const PythonFrame& frame);

// Whether it is code of ours that runs in the target (agent/).
bool is_frame_of_agent(const PythonFrame& frame);
// How many of the innermost are no frames of the program: what a thread that a
// client has suspended runs for us, an expression that it evaluates included.
std::size_t count_frames_of_agent(const std::vector<PythonFrame>& frames);

struct PythonStack {
  std::vector<PythonFrame> frames;  // innermost first
  bool complete = true;             // false: deeper than was requested
  bool exact = false;               // all of it is from one moment
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

  // The `most` innermost frames as they are right now. Never `exact`: memory
  // alone does not tell. Errors: Unreadable.
  Result<PythonStack> read(Address thread_state,
                           std::size_t most = kMostFrames);

  // What those words say. Errors: Unreadable, also when a code object that it
  // has not met before is gone.
  Result<PythonStack> name(const FrameChain& chain);

 private:
  // What a code object says of itself.
  struct Code {
    CodeWords words;
    std::int64_t first_traceable = 0;  // bytes from the first instruction
    std::vector<std::byte> lines;
    PythonFrame frame;                   // the last one that was met
    std::optional<std::int64_t> offset;  // of it, in bytes as above
  };
  Result<Code*> code_at(const MemoryReader& memory,
                        Address object,
                        const CodeWords& words);
  Result<Code> read_code(const MemoryReader& memory,
                         Address object,
                         const CodeWords& words) const;

  const MemoryReader& memory_;
  const PythonRuntime& python_;
  std::unordered_map<Address, Code> codes_;
};

}  // namespace hangdbg
