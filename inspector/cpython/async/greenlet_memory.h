// What a greenlet is made of: where its piece of the C stack lies, the Python
// frame at which it left off, and what it was made to run.
//
// Up to greenlet 1.1 the words are in the Python object, from 2.0 on in a C++
// object behind it. No header says where; the order in which they follow each
// other is the same in all of them, and what cannot be so is not believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/runtime/frame_chain.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"

namespace hangdbg {

struct GreenletWords {
  // Its piece of the C stack: from where it left off to where it began.
  Address start;  // 0: not begun, or done; 1: has never left off
  Address stop;   // 0: not begun; the highest there is: a thread's first
  Address frame;  // PyFrameObject of one that is suspended
  std::vector<Address> rest;  // that follow: what it is to run, its parent

  static constexpr std::uint64_t kOfThread = ~std::uint64_t{0};

  bool main() const { return stop.value == kOfThread; }
  bool begun() const { return static_cast<bool>(stop); }
  bool active() const { return static_cast<bool>(start); }
  bool suspended() const { return active() && frame; }
};

// `greenlet` is the class greenlet.greenlet. Errors: Unreadable, also when it
// is none.
Result<GreenletWords> read_greenlet_words(const MemoryReader& memory,
                                          const ObjectReader& objects,
                                          const Type& greenlet,
                                          Address object);

// Of one that is suspended. `expected` as for read_frame_chain. Errors:
// Unreadable.
Result<FrameChain> read_greenlet_frames(const MemoryReader& memory,
                                        const ObjectReader& objects,
                                        const GreenletWords& words,
                                        std::size_t most,
                                        const FrameChain* expected = nullptr);

}  // namespace hangdbg
