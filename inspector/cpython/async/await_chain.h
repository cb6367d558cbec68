// The place of a suspended coroutine: its own frame, and those of the
// coroutines that it awaits.
//
// No thread's stack has these frames. Each is found in its coroutine, and what
// that one awaits lies on top of the frame's value stack.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/runtime/frame_chain.h"
#include "tracee/memory/address.h"

namespace hangdbg {

struct AwaitChain {
  std::string state;  // of the coroutine, as generator_state says it
  FrameChain frames;  // none of one that runs: they are its thread's
};

// At most `most` frames. One that cannot be read ends the chain, which is then
// not complete. Errors: Unreadable, when it is no coroutine.
Result<AwaitChain> read_await_chain(const ObjectReader& objects,
                                    Address coroutine,
                                    std::size_t most);

// Its own frame. Errors: Unreadable.
Result<Address> frame_of(const ObjectReader& objects, Address coroutine);

// Whether it has a frame of its own.
bool is_coroutine(Kind kind);

}  // namespace hangdbg
