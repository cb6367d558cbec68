#include "inspector/native/stack_copy.h"

#include <algorithm>
#include <cstring>

namespace hangdbg {
namespace {

constexpr std::uint64_t kStackCopyPage = 4096;
constexpr std::uint64_t kMostOfYoung = 1U << 20;

// Of the mapping that a stack pointer is in. A thread younger than the maps has
// none; its stack is copied as far as it can be read.
Address stack_end(std::span<const Mapping> maps, Address sp) {
  const auto after = std::ranges::upper_bound(maps, sp, {}, &Mapping::start);
  return after != maps.begin() && std::prev(after)->contains(sp)
             ? std::prev(after)->end
             : sp + kMostOfYoung;
}

}  // namespace

Result<StackCopy> copy_stack(const MemoryReader& memory,
                             std::span<const Mapping> maps,
                             const Registers& registers) {
  StackCopy copy{.registers = registers};
  const Address sp{registers.raw.rsp};
  copy.end = stack_end(maps, sp);
  copy.from.value =
      (sp.value - std::min(sp.value, kRedZone)) & ~(kStackCopyPage - 1);
  copy.bytes.resize(std::min(copy.end - copy.from, StackCopy::kMost) &
                    ~(kStackCopyPage - 1));
  std::vector<MemoryReader::Piece> pages;
  for (std::uint64_t at = 0; at < copy.bytes.size(); at += kStackCopyPage) {
    pages.push_back(
        {copy.from + at, std::span(copy.bytes).subspan(at, kStackCopyPage)});
  }
  copy.bytes.resize(memory.read_each(pages) * kStackCopyPage);
  return copy;
}

std::vector<std::uint64_t> StackCopy::words(Address first, Address last) const {
  const Address copied = from + bytes.size();
  first = std::clamp(first, from, copied);
  last = std::clamp(last, first, copied);
  std::vector<std::uint64_t> words((last - first) / 8);
  std::memcpy(words.data(), bytes.data() + (first - from), words.size() * 8);
  return words;
}

Result<NativeStack> CopyUnwinder::unwind(const StackCopy& copy,
                                         Deadline deadline) {
  overlay_.copy = &copy;
  auto stack = unwinder_.unwind(copy.registers.raw, deadline, kMostFrames);
  if (stack && (stack->untabled || stack->baseless)) {
    gaps_.cross(*stack, copy, deadline);
  }
  overlay_.copy = nullptr;
  return stack;
}

Status CopyUnwinder::Overlay::read(Address from,
                                   std::span<std::byte> out) const {
  if (copy == nullptr || from < copy->from || copy->end <= from) {
    return under_.read(from, out);
  }
  const std::uint64_t at = from - copy->from;
  if (at > copy->bytes.size() || copy->bytes.size() - at < out.size()) {
    return fail(ErrorId::Unreadable, "the stack is deeper than was copied");
  }
  std::copy_n(copy->bytes.begin() + static_cast<std::ptrdiff_t>(at), out.size(),
              out.begin());
  return {};
}

}  // namespace hangdbg
