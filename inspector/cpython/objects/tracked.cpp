#include "inspector/cpython/objects/tracked.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tracee/memory/cached_memory.h"

namespace hangdbg {
namespace {

constexpr int kTrackedTries = 5;   // for each walk
constexpr int kTrackedLooks = 16;  // for each step
// The collector's own marks are in the lowest bits of the links.
constexpr std::uint64_t kMarks = 3;
constexpr std::size_t kBetweenLooksAtTheClock = 1024;
// Of the collector's state, from its start on: the rings are there. Not at the
// same place in each build, as some pack their heads to 4 bytes
// (Debian's 3.13).
constexpr std::uint64_t kSearched = 256;
constexpr std::uint64_t kStep = 4;

// What is read of an object: its links, and its type.
struct Node {
  Address next, previous, type;
};

struct Walk {
  const MemoryReader& memory;
  const CPythonLayout& layout;
  const ObjectLayout& at;
  const TrackedLimits& limits;
  const VisitTracked& visit;
  std::size_t rings;
  std::size_t met = 0;

  Status walk_all(Address state);
  Status ring(const MemoryReader& pages,
              const std::vector<Address>& heads,
              Address head);
  Result<Node> read(const MemoryReader& from, Address node) const;
  Result<Address> look_again(Address before, Address last) const;
  bool is_over() const {
    return met >= limits.most ||
           (met % kBetweenLooksAtTheClock == 0 && limits.deadline.expired());
  }
};

std::vector<Address> find_rings(const MemoryReader& memory, Address state);
std::unexpected<Error> changes();

}  // namespace

Status each_tracked(const MemoryReader& memory,
                    const ObjectReader& objects,
                    const PythonRuntime& python,
                    Address interpreter,
                    const TrackedLimits& limits,
                    const VisitTracked& visit) {
  const ObjectLayout& at = objects.at();
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
  Walk walk{memory, objects.layout(), at, limits, visit, rings};
  // A ring that changes under us is walked again.
  Status walked;
  for (int tried = 0; tried < kTrackedTries; ++tried) {
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
  const auto heads = find_rings(memory, state);
  Status walked;
  if (heads.size() != rings) {
    walked = fail(ErrorId::Unreadable, "the collector's lists were not found");
  }
  for (const Address head : heads) {
    const Status one = ring(pages, heads, head);
    walked = walked ? one : walked;
  }
  return walked;
}

// Up to the first step that has no way back: what is newest comes and goes, and
// is at the end of its ring. A run of the collector moves all into another.
Status Walk::ring(const MemoryReader& pages,
                  const std::vector<Address>& heads,
                  Address head) {
  Address before;
  Address last = head;
  Address next = TRY(read(pages, head)).next;
  while (next != head) {
    if (is_over()) {
      return fail(ErrorId::Unreadable, "there are too many objects");
    }
    if (std::ranges::find(heads, next) != heads.end()) {
      return changes();
    }
    auto node = read(pages, next);
    if (!node || node->previous != last) {
      next = TRY(look_again(before, last));
      if (std::ranges::find(heads, next) != heads.end()) {
        continue;
      }
      node = TRY(read(memory, next));
    }
    ++met;
    visit(next + at.gc_head_size, node->type);
    before = last;
    last = next;
    next = node->next;
  }
  return {};
}

Result<Node> Walk::read(const MemoryReader& from, Address node) const {
  std::array<std::uint64_t, 8> words{};
  const std::size_t size = at.gc_head_size + at.object_size;
  TRY(from.read(node, std::as_writable_bytes(std::span(words)).first(size)));
  return Node{{words[0] & ~kMarks},
              {words[1] & ~kMarks},
              {words[(at.gc_head_size + layout.object_type) / 8]}};
}

// Pages that were read a moment ago may be older than the step. The way on from
// `last`, if that is where it was.
Result<Address> Walk::look_again(Address before, Address last) const {
  for (int tried = 0; tried < kTrackedLooks; ++tried) {
    const Node fresh = TRY(read(memory, last));
    if (before && fresh.previous != before) {
      break;
    }
    const auto next = read(memory, fresh.next);
    if (next && next->previous == last) {
      return fresh.next;
    }
  }
  return changes();
}

// Their heads are as those of the objects.
std::vector<Address> find_rings(const MemoryReader& memory, Address state) {
  std::vector<Address> rings;
  for (Address head = state; head < state + kSearched; head = head + kStep) {
    const auto next = memory.read_value<std::uint64_t>(head);
    const auto back =
        next ? memory.read_value<std::uint64_t>(Address{*next & ~kMarks} + 8)
             : nothing_at("ring", head);
    if (back && (*back & ~kMarks) == head.value) {
      rings.push_back(head);
    }
  }
  return rings;
}

std::unexpected<Error> changes() {
  return fail(ErrorId::Unreadable, "the list of objects changes meanwhile");
}

}  // namespace
}  // namespace hangdbg
