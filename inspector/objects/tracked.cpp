#include "inspector/objects/tracked.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "inspector/cached_memory.h"

namespace hangdbg {
namespace {

constexpr int kTries = 3;
// The collector's own marks are in the lowest bits of the links.
constexpr std::uint64_t kMarks = 3;
constexpr std::size_t kBetweenLooksAtTheClock = 1024;
// Of the collector's state, from its start on: the rings are there. Not at the
// same place in each build, as some pack their heads to 4 bytes
// (Debian's 3.13).
constexpr std::uint64_t kSearched = 256;
constexpr std::uint64_t kStep = 4;

struct Walk {
  const MemoryReader& memory;
  const CPythonLayout& layout;
  const ObjectLayout& at;
  const TrackedLimits& limits;
  const VisitTracked& visit;
  std::size_t rings;
  std::size_t met = 0;

  Status walk_all(Address state);
  Status ring(const MemoryReader& pages, Address head);
  bool is_over() const {
    return met >= limits.most ||
           (met % kBetweenLooksAtTheClock == 0 && limits.deadline.expired());
  }
};

std::vector<Address> find_rings(const MemoryReader& memory, Address state);
Result<Address> next_of(const MemoryReader& memory, Address node);

}  // namespace

Status each_tracked(const MemoryReader& memory,
                    const Heap& heap,
                    const PythonRuntime& python,
                    Address interpreter,
                    const TrackedLimits& limits,
                    const VisitTracked& visit) {
  const ObjectLayout& at = heap.at();
  if (at.gc_head_size == ObjectLayout::kAbsent) {
    return fail(ErrorId::UnsupportedPython,
                "a free-threaded interpreter has no list of its objects");
  }
  const Address state = at.interpreter_gc != ObjectLayout::kAbsent
                            ? interpreter + at.interpreter_gc
                        : at.runtime_gc != ObjectLayout::kAbsent
                            ? python.runtime + at.runtime_gc
                            : python.generations;
  // 3.6 has no gc.freeze().
  const std::size_t rings = at.minor == 6 ? 3 : 4;
  Walk walk{memory, heap.layout(), at, limits, visit, rings};
  // A ring that changes under us is walked again.
  Status walked;
  for (int tried = 0; tried < kTries; ++tried) {
    walked = walk.walk_all(state);
    if (walked || walk.is_over()) {
      break;
    }
  }
  return walked;
}

namespace {

Status Walk::walk_all(Address state) {
  const CachedMemory pages(memory);
  const auto heads = find_rings(pages, state);
  Status walked;
  if (heads.size() != rings) {
    walked = fail(ErrorId::Unreadable, "the collector's lists were not found");
  }
  for (const Address head : heads) {
    const Status one = ring(pages, head);
    walked = walked ? one : walked;
  }
  return walked;
}

Status Walk::ring(const MemoryReader& pages, Address head) {
  Address last = head;
  Address node = TRY(next_of(pages, head));
  while (node != head) {
    if (is_over()) {
      return fail(ErrorId::Unreadable, "there are too many objects");
    }
    ++met;
    std::array<std::uint64_t, 8> words{};  // next, previous; then the object
    const std::size_t size = at.gc_head_size + at.object_size;
    TRY(pages.read(node, std::as_writable_bytes(std::span(words)).first(size)));
    if ((words[1] & ~kMarks) != last.value) {
      return fail(ErrorId::Unreadable, "the list of objects changes meanwhile");
    }
    visit(node + at.gc_head_size,
          Address{words[(at.gc_head_size + layout.object_type) / 8]});
    last = node;
    node = Address{words[0] & ~kMarks};
  }
  return {};
}

// Their heads are as those of the objects.
std::vector<Address> find_rings(const MemoryReader& memory, Address state) {
  std::vector<Address> rings;
  for (Address head = state; head < state + kSearched; head = head + kStep) {
    const auto next = next_of(memory, head);
    const auto back = next && *next
                          ? memory.read_value<std::uint64_t>(*next + 8)
                          : nothing_at("ring", head);
    if (back && (*back & ~kMarks) == head.value) {
      rings.push_back(head);
    }
  }
  return rings;
}

Result<Address> next_of(const MemoryReader& memory, Address node) {
  return Address{TRY(memory.read_value<std::uint64_t>(node)) & ~kMarks};
}

}  // namespace
}  // namespace hangdbg
