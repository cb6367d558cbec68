// FrameChain: the place of a thread, as the few raw words of its frames and of
// their code objects that may change while it runs.
//
// The words fit together only if all of them are from one moment. So this is
// what is read of a thread that we have stopped: as little as possible, in as
// few system calls as possible. All else (names, lines) is derived later
// (python_stack.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/layout/layout.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"

namespace hangdbg {

struct RawFrame {
  Address address;
  Address code;
  std::uint64_t position = 0;  // f_lasti, or an instruction's address
  std::int32_t bytecode = 0;   // which copy of it; free-threaded 3.14 only
  std::uint8_t owner = 0;      // enum _frameowner; from 3.11 on
  bool entry = false;          // the outermost of a C eval loop's frames
  Address loop;  // of an entry: in that loop's C frame; from 3.12 on
};

// What tells a code object from another that took its place in memory.
struct CodeWords {
  Address type, name, qualname, file, table;
  std::int32_t first_line = 0;

  bool operator==(const CodeWords&) const = default;
};

struct FrameChain {
  std::vector<RawFrame> frames;  // innermost first
  std::unordered_map<Address, CodeWords> codes;
  // False: deeper than was requested, or it leads back into itself.
  bool complete = true;
};

// The `most` innermost frames, without those that the interpreter keeps for
// itself. What is `expected` (a look a moment ago, perhaps a wrong one) is
// fetched at once. Errors: Unreadable.
Result<FrameChain> read_frame_chain(const MemoryReader& memory,
                                    const CPythonLayout& at,
                                    Address thread_state,
                                    std::size_t most,
                                    const FrameChain* expected = nullptr);

// The same from a frame on, as a suspended greenlet's.
Result<FrameChain> read_frames_from(const MemoryReader& memory,
                                    const CPythonLayout& at,
                                    Address innermost,
                                    std::size_t most,
                                    const FrameChain* expected = nullptr);

// One that no thread runs, as a suspended coroutine's. Errors: Unreadable.
Result<RawFrame> read_frame(const MemoryReader& memory,
                            const CPythonLayout& at,
                            Address frame);

// Errors: Unreadable.
Result<CodeWords> read_code_words(const MemoryReader& memory,
                                  const CPythonLayout& at,
                                  Address code);

}  // namespace hangdbg
