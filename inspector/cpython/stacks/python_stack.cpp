#include "inspector/cpython/stacks/python_stack.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "inspector/cpython/layout/line_table.h"
#include "inspector/cpython/layout/text.h"
#include "tracee/memory/cached_memory.h"

namespace hangdbg {
namespace {

constexpr std::size_t kPythonStackMaxName = 4096;  // code points
constexpr std::size_t kMaxTable = 16U << 20;       // bytes
constexpr std::size_t kMaxCodes = 50'000;          // that are kept
constexpr std::uint8_t kOwnedByGenerator = 1;      // enum _frameowner
constexpr std::int64_t kPythonStackUnitSize = 2;   // of an instruction
constexpr std::int32_t kMaxBytecodes = 4096;       // copies of one function's

// ---- where a frame is in its code

// A free-threaded 3.14 runs a copy of the bytecode in each thread.
Result<Address> instructions_of(const MemoryReader& memory,
                                const CPythonLayout& at,
                                const RawFrame& frame) {
  if (at.code_bytecodes == CPythonLayout::kAbsent) {
    return frame.code + at.code_instructions;
  }
  if (frame.bytecode < 0 || frame.bytecode >= kMaxBytecodes) {
    return fail(ErrorId::Unreadable,
                fmt::format("no frame at {:#x}", frame.address.value));
  }
  // struct _PyCodeArray: how many, then that many addresses.
  const Address copies =
      TRY(memory.read_address(frame.code + at.code_bytecodes));
  return memory.read_address(copies + 8 +
                             static_cast<std::uint64_t>(frame.bytecode) * 8);
}

// In bytes from the first instruction; negative in a frame that has not begun.
Result<std::int64_t> offset_in_code(const MemoryReader& memory,
                                    const CPythonLayout& at,
                                    const RawFrame& frame) {
  if (at.code_instructions == CPythonLayout::kAbsent) {
    const auto last = static_cast<std::int64_t>(frame.position);
    return at.minor < 10 ? last : last * kPythonStackUnitSize;
  }
  const Address first = TRY(instructions_of(memory, at, frame));
  return static_cast<std::int64_t>(frame.position - first.value);
}

// Past the pages if it is longer than one: it may be longer than all of them.
Result<std::vector<std::byte>> read_bytes(const MemoryReader& pages,
                                          const MemoryReader& memory,
                                          const CPythonLayout& at,
                                          Address object) {
  const auto size =
      TRY(pages.read_value<std::uint64_t>(object + at.bytes_size));
  if (size > kMaxTable) {
    return fail(ErrorId::Unreadable,
                fmt::format("no bytes at {:#x}", object.value));
  }
  std::vector<std::byte> bytes(size);
  const bool is_short = size <= CachedMemory::kPageSize;
  TRY((is_short ? pages : memory).read(object + at.bytes_data, bytes));
  return bytes;
}

std::unexpected<Error> no_code(Address object) {
  return fail(ErrorId::Unreadable,
              fmt::format("no code object at {:#x}", object.value));
}

}  // namespace

bool is_frame_of_agent(const PythonFrame& frame) {
  return frame.file == "<hangdbg>";
}

std::size_t count_frames_of_agent(const std::vector<PythonFrame>& frames) {
  const auto last =
      std::find_if(frames.rbegin(), frames.rend(), is_frame_of_agent);
  return static_cast<std::size_t>(frames.rend() - last);
}

std::string line_of(const PythonFrame& frame) {
  return fmt::format("{}:{}", printable(base_name(frame.file)), frame.line);
}

std::string place_of(const PythonFrame& frame) {
  return fmt::format("{} in {}", line_of(frame), printable(frame.function));
}

Result<PythonStack> PythonStackReader::read(Address thread_state,
                                            std::size_t most) {
  return name(
      TRY(read_frame_chain(memory_, python_.layout, thread_state, most)));
}

// Left out are the frames of a function that has not begun: Python leaves them
// out as well.
Result<PythonStack> PythonStackReader::name(const FrameChain& chain) {
  const CPythonLayout& at = python_.layout;
  const CachedMemory pages(memory_);  // and so do many code objects' words
  PythonStack stack;
  stack.complete = chain.complete;
  stack.frames.reserve(chain.frames.size());
  for (const RawFrame& raw : chain.frames) {
    Code* const code = TRY(code_at(pages, raw.code, chain.codes.at(raw.code)));
    const auto offset = TRY(offset_in_code(pages, at, raw));
    if (at.frame_owner != CPythonLayout::kAbsent &&
        raw.owner != kOwnedByGenerator && offset < code->first_traceable) {
      continue;
    }
    // Those of a recursion, and of threads that wait alike, are at one place.
    if (code->offset != offset) {
      code->offset = offset;
      code->frame.span =
          span_at(code->lines, at.minor, code->frame.first_line, offset);
      code->frame.line = code->frame.span.line;
    }
    PythonFrame& frame = stack.frames.emplace_back(code->frame);
    frame.address = raw.address;
    frame.code = raw.code;
    frame.offset = offset;
    frame.entry = raw.entry;
    frame.loop = raw.loop;
  }
  return stack;
}

Result<PythonStackReader::Code*> PythonStackReader::code_at(
    const MemoryReader& memory,
    Address object,
    const CodeWords& words) {
  const auto known = codes_.find(object);
  if (known != codes_.end() && known->second.words == words) {
    return &known->second;
  }
  Code code = TRY(read_code(memory, object, words));
  if (codes_.size() >= kMaxCodes) {
    codes_.clear();
  }
  return &codes_.insert_or_assign(object, std::move(code)).first->second;
}

Result<PythonStackReader::Code> PythonStackReader::read_code(
    const MemoryReader& memory,
    Address object,
    const CodeWords& words) const {
  const CPythonLayout& at = python_.layout;
  if (words.type != python_.code_type) {
    return no_code(object);
  }
  Code code;
  code.words = words;
  code.frame.first_line = words.first_line;
  code.frame.function =
      TRY(read_str(memory, at, words.name, kPythonStackMaxName));
  code.frame.qualname =
      words.qualname
          ? TRY(read_str(memory, at, words.qualname, kPythonStackMaxName))
          : code.frame.function;
  code.frame.file = TRY(read_str(memory, at, words.file, kPythonStackMaxName));
  code.lines = TRY(read_bytes(memory, memory_, at, words.table));
  if (at.code_first_traceable != CPythonLayout::kAbsent) {
    code.first_traceable =
        kPythonStackUnitSize *
        TRY(memory.read_value<std::int32_t>(object + at.code_first_traceable));
  }
  // The words may be older than this: is it that object still?
  if (TRY(read_code_words(memory_, at, object)) != words) {
    return no_code(object);
  }
  return code;
}

}  // namespace hangdbg
