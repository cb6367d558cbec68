#include "inspector/python_stack.h"

#include <fmt/core.h>

#include <utility>

#include "inspector/cached_memory.h"
#include "inspector/cpython/line_table.h"
#include "inspector/cpython/text.h"
#include "tracee/proc_status.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMaxName = 4096;         // code points
constexpr std::size_t kMaxTable = 16U << 20;   // bytes
constexpr std::size_t kMaxCodes = 50'000;      // that are kept
constexpr std::uint8_t kOwnedByGenerator = 1;  // enum _frameowner
constexpr std::int64_t kUnitSize = 2;          // of an instruction
constexpr std::int32_t kMaxBytecodes = 4096;   // copies of one function's

// ---- where a frame is in its code

Result<Address> innermost_frame(const MemoryReader& memory,
                                const CPythonLayout& at,
                                Address thread_state) {
  if (at.thread_cframe == CPythonLayout::kAbsent) {
    return memory.read_address(thread_state + at.thread_frame);
  }
  const Address cframe =
      TRY(memory.read_address(thread_state + at.thread_cframe));
  return memory.read_address(cframe + at.cframe_current_frame);
}

// A free-threaded 3.14 runs a copy of the bytecode in each thread.
Result<Address> instructions_of(const MemoryReader& memory,
                                const CPythonLayout& at,
                                Address frame,
                                Address code) {
  if (at.code_bytecodes == CPythonLayout::kAbsent) {
    return code + at.code_instructions;
  }
  const auto index =
      TRY(memory.read_value<std::int32_t>(frame + at.frame_bytecode_index));
  if (index < 0 || index >= kMaxBytecodes) {
    return fail(ErrorId::Unreadable,
                fmt::format("no frame at {:#x}", frame.value));
  }
  // struct _PyCodeArray: how many, then that many addresses.
  const Address copies = TRY(memory.read_address(code + at.code_bytecodes));
  return memory.read_address(copies + 8 +
                             static_cast<std::uint64_t>(index) * 8);
}

// In bytes from the first instruction; negative in a frame that has not begun.
Result<std::int64_t> offset_in_code(const MemoryReader& memory,
                                    const CPythonLayout& at,
                                    Address frame,
                                    Address code) {
  if (at.code_instructions == CPythonLayout::kAbsent) {
    const std::int64_t last =
        TRY(memory.read_value<std::int32_t>(frame + at.frame_position));
    return at.minor < 10 ? last : last * kUnitSize;
  }
  const Address position = TRY(memory.read_address(frame + at.frame_position));
  const Address first = TRY(instructions_of(memory, at, frame, code));
  return static_cast<std::int64_t>(position - first);
}

Result<std::vector<std::byte>> read_bytes(const MemoryReader& memory,
                                          const CPythonLayout& at,
                                          Address object) {
  const auto size =
      TRY(memory.read_value<std::uint64_t>(object + at.bytes_size));
  if (size > kMaxTable) {
    return fail(ErrorId::Unreadable,
                fmt::format("no bytes at {:#x}", object.value));
  }
  std::vector<std::byte> bytes(size);
  TRY(memory.read(object + at.bytes_data, bytes));
  return bytes;
}

}  // namespace

Result<PythonStack> PythonStackReader::read(Address thread_state,
                                            std::size_t most) {
  const CPythonLayout& at = python_.layout;
  const CachedMemory pages(memory_);  // frames lie side by side
  PythonStack stack;
  Address frame = TRY(innermost_frame(pages, at, thread_state));
  // As deep again for what has no code.
  for (std::size_t step = 0; frame; ++step) {
    if (stack.frames.size() >= most || step >= 2 * kMostFrames) {
      stack.complete = false;
      break;
    }
    TRY(read_frame(pages, frame, stack.frames));
    frame = TRY(pages.read_address(frame + at.frame_previous));
  }
  return stack;
}

Result<PythonStack> PythonStackReader::read(int pid,
                                            const PythonThread& thread,
                                            std::size_t most) {
  const auto look = [&] {
    return thread.tid ? read_task_status(pid, *thread.tid)
                      : fail(ErrorId::NoSuchThread, "its number is unknown");
  };
  const auto before = look();
  PythonStack stack = TRY(read(thread.state, most));
  const auto after = look();
  stack.exact = before && after && before->state != 'R' &&
                after->state == before->state &&
                after->voluntary_switches == before->voluntary_switches &&
                after->involuntary_switches == before->involuntary_switches;
  return stack;
}

// Left out are those without code, which the interpreter keeps for itself, and
// those of a function that has not begun: Python leaves them out as well.
Status PythonStackReader::read_frame(const MemoryReader& memory,
                                     Address frame,
                                     std::vector<PythonFrame>& frames) {
  const CPythonLayout& at = python_.layout;
  std::uint8_t owner = kOwnedByGenerator;
  if (at.frame_owner != CPythonLayout::kAbsent) {
    owner = TRY(memory.read_value<std::uint8_t>(frame + at.frame_owner));
    if (owner >= at.frame_owner_c_stack) {
      return {};
    }
  }
  const auto reference =
      TRY(memory.read_value<std::uint64_t>(frame + at.frame_code));
  // From 3.14 the lowest bits of a reference are tags; objects are aligned.
  const Address object{reference & ~std::uint64_t{7}};
  const Code* const code = TRY(code_at(memory, object));
  const auto offset = TRY(offset_in_code(memory, at, frame, object));
  if (owner != kOwnedByGenerator && offset < code->first_traceable) {
    return {};
  }
  frames.push_back(code->frame);
  frames.back().line =
      line_at(code->lines, at.minor, code->frame.first_line, offset);
  return {};
}

Result<const PythonStackReader::Code*> PythonStackReader::code_at(
    const MemoryReader& memory,
    Address object) {
  const CPythonLayout& at = python_.layout;
  if (TRY(memory.read_address(object + at.object_type)) != python_.code_type) {
    return fail(ErrorId::Unreadable,
                fmt::format("no code object at {:#x}", object.value));
  }
  Code code;
  code.name = TRY(memory.read_address(object + at.code_name));
  code.qualname = at.code_qualname == CPythonLayout::kAbsent
                      ? code.name
                      : TRY(memory.read_address(object + at.code_qualname));
  code.file = TRY(memory.read_address(object + at.code_filename));
  code.table = TRY(memory.read_address(object + at.code_line_table));
  code.frame.first_line =
      TRY(memory.read_value<std::int32_t>(object + at.code_first_line));
  const auto known = codes_.find(object);
  if (known != codes_.end() && known->second.is_same(code)) {
    return &known->second;
  }

  code.frame.function = TRY(read_str(memory, at, code.name, kMaxName));
  code.frame.qualname = TRY(read_str(memory, at, code.qualname, kMaxName));
  code.frame.file = TRY(read_str(memory, at, code.file, kMaxName));
  // Past the pages: a table may be longer than all of them.
  code.lines = TRY(read_bytes(memory_, at, code.table));
  if (at.code_first_traceable != CPythonLayout::kAbsent) {
    code.first_traceable =
        kUnitSize *
        TRY(memory.read_value<std::int32_t>(object + at.code_first_traceable));
  }
  if (codes_.size() >= kMaxCodes) {
    codes_.clear();
  }
  return &codes_.insert_or_assign(object, std::move(code)).first->second;
}

bool PythonStackReader::Code::is_same(const Code& other) const {
  return name == other.name && qualname == other.qualname &&
         file == other.file && table == other.table &&
         frame.first_line == other.frame.first_line;
}

}  // namespace hangdbg
