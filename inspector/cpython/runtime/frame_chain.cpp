#include "inspector/cpython/runtime/frame_chain.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>

#include "tracee/memory/cached_memory.h"

namespace hangdbg {
namespace {

// The start of a structure, as far as we need it.
struct Block {
  // Frames and code objects keep all that we ask for in so many bytes; a
  // layout that says otherwise (it comes from the target) is not believed.
  std::array<std::byte, 512> bytes;

  template <class T>
  T get(std::uint32_t field) const {
    T value{};
    std::memcpy(&value, bytes.data() + field, sizeof value);
    return value;
  }
  Address address(std::uint32_t field) const {
    return field == CPythonLayout::kAbsent ? Address{}
                                           : Address{get<std::uint64_t>(field)};
  }
};

Result<std::size_t> size_of(std::initializer_list<std::uint32_t> fields) {
  std::size_t size = 0;
  for (const std::uint32_t field : fields) {
    if (field != CPythonLayout::kAbsent) {
      size = std::max<std::size_t>(size, field + 8);
    }
  }
  if (size > sizeof(Block)) {
    return fail(ErrorId::UnsupportedPython, "an implausibly large structure");
  }
  return size;
}

Result<std::size_t> frame_size(const CPythonLayout& at) {
  return size_of({at.frame_previous, at.frame_code, at.frame_position,
                  at.frame_owner, at.frame_is_entry, at.frame_bytecode_index});
}

Result<std::size_t> code_size(const CPythonLayout& at) {
  return size_of({at.object_type, at.code_name, at.code_qualname,
                  at.code_filename, at.code_line_table, at.code_first_line});
}

// Blocks of one size: those that were announced come with one system call, the
// others with one each.
class Blocks {
 public:
  Blocks(const MemoryReader& memory,
         std::size_t size,
         const std::vector<Address>& announced)
      : memory_(memory), size_(size), fetched_(announced.size()) {
    std::vector<MemoryReader::Piece> pieces;
    pieces.reserve(announced.size());
    for (std::size_t i = 0; i < announced.size(); ++i) {
      pieces.push_back(
          {announced[i], std::span(fetched_[i].bytes).first(size)});
    }
    fetched_.resize(pieces.empty() ? 0 : memory.read_each(pieces));
    for (std::size_t i = 0; i < fetched_.size(); ++i) {
      by_address_.emplace(announced[i], i);
    }
  }

  Result<const Block*> at(Address address) {
    const auto found = by_address_.find(address);
    if (found != by_address_.end()) {
      return &fetched_[found->second];
    }
    TRY(memory_.read(address, std::span(single_.bytes).first(size_)));
    return &single_;
  }

 private:
  const MemoryReader& memory_;
  std::size_t size_;
  std::vector<Block> fetched_;
  std::unordered_map<Address, std::size_t> by_address_;
  Block single_;
};

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

RawFrame frame_in(const Block& block,
                  const CPythonLayout& at,
                  Address address) {
  RawFrame frame{.address = address};
  // From 3.14 the lowest bits of a reference are tags; objects are aligned.
  frame.code = Address{block.get<std::uint64_t>(at.frame_code) & ~7ULL};
  frame.position = at.frame_position_size == 4
                       ? static_cast<std::uint64_t>(std::int64_t{
                             block.get<std::int32_t>(at.frame_position)})
                       : block.get<std::uint64_t>(at.frame_position);
  if (at.frame_bytecode_index != CPythonLayout::kAbsent) {
    frame.bytecode = block.get<std::int32_t>(at.frame_bytecode_index);
  }
  if (at.frame_owner != CPythonLayout::kAbsent) {
    frame.owner = block.get<std::uint8_t>(at.frame_owner);
  }
  // Up to 3.10 each frame has an eval loop of its own. From 3.12 on the loop's
  // own frame follows its outermost one.
  frame.entry = at.frame_is_entry != CPythonLayout::kAbsent
                    ? block.get<std::uint8_t>(at.frame_is_entry) != 0
                    : at.frame_owner == CPythonLayout::kAbsent;
  return frame;
}

CodeWords words_in(const Block& block, const CPythonLayout& at) {
  return {.type = block.address(at.object_type),
          .name = block.address(at.code_name),
          .qualname = block.address(at.code_qualname),
          .file = block.address(at.code_filename),
          .table = block.address(at.code_line_table),
          .first_line = block.get<std::int32_t>(at.code_first_line)};
}

}  // namespace

Result<FrameChain> read_frame_chain(const MemoryReader& memory,
                                    const CPythonLayout& at,
                                    Address thread_state,
                                    std::size_t most,
                                    const FrameChain* expected) {
  return read_frames_from(memory, at,
                          TRY(innermost_frame(memory, at, thread_state)), most,
                          expected);
}

Result<FrameChain> read_frames_from(const MemoryReader& memory,
                                    const CPythonLayout& at,
                                    Address innermost,
                                    std::size_t most,
                                    const FrameChain* expected) {
  std::vector<Address> announced;
  if (expected != nullptr) {
    announced.reserve(expected->frames.size());
    std::ranges::transform(expected->frames, std::back_inserter(announced),
                           &RawFrame::address);
  }
  const CachedMemory pages(memory);  // most frames lie side by side
  const MemoryReader& near = expected != nullptr ? memory : pages;
  FrameChain chain;
  Blocks frames(near, TRY(frame_size(at)), announced);
  Address next = innermost;
  // The chain of a thread that runs meanwhile may lead back into itself, for
  // ever: one frame is remembered, each time for twice as long.
  Address remembered;
  std::size_t until = 64;
  // As deep again for those that are left out.
  for (std::size_t step = 0; next; ++step) {
    if (chain.frames.size() >= most || step >= 2 * most + 8 ||
        next == remembered) {
      chain.complete = false;
      break;
    }
    if (step == until) {
      remembered = next;
      until *= 2;
    }
    const Block& block = *TRY(frames.at(next));
    const RawFrame frame = frame_in(block, at, next);
    if (frame.owner < at.frame_owner_c_stack) {
      chain.frames.push_back(frame);
    } else if (!chain.frames.empty() && !chain.frames.back().entry) {
      chain.frames.back().entry = true;
      chain.frames.back().loop = next;
    }
    next = block.address(at.frame_previous);
  }
  if (chain.complete && !chain.frames.empty()) {
    chain.frames.back().entry = true;
  }

  announced.clear();
  for (const RawFrame& frame : chain.frames) {
    if (chain.codes.try_emplace(frame.code).second) {
      announced.push_back(frame.code);
    }
  }
  Blocks codes(memory, TRY(code_size(at)), announced);
  for (auto& [address, words] : chain.codes) {
    words = words_in(*TRY(codes.at(address)), at);
  }
  return chain;
}

Result<RawFrame> read_frame(const MemoryReader& memory,
                            const CPythonLayout& at,
                            Address frame) {
  Blocks blocks(memory, TRY(frame_size(at)), {});
  return frame_in(*TRY(blocks.at(frame)), at, frame);
}

Result<CodeWords> read_code_words(const MemoryReader& memory,
                                  const CPythonLayout& at,
                                  Address code) {
  Blocks blocks(memory, TRY(code_size(at)), {});
  return words_in(*TRY(blocks.at(code)), at);
}

}  // namespace hangdbg
