// Place: the thread and the frame that the prompt speaks of.
//
// Nothing is stopped, so frames return and new ones come. A place is kept by
// how far its frame is from the outermost one, which stays while the inner
// ones change.
#pragma once

#include <string>

#include "base/deadline.h"
#include "base/result.h"
#include "client/options/frame_selector.h"
#include "protocol/stack_frame.h"
#include "server/session/hung_thread.h"
#include "server/session/session.h"

namespace hangdbg {

class Place {
 public:
  // Errors: NoSuchFrame.
  static Result<Place> at(ShownThread thread, const FrameSelector& frame = {});

  const ShownThread& thread() const { return thread_; }
  const dap::StackFrame& frame() const;
  std::size_t index() const { return index_; }  // 0: the innermost
  std::size_t depth() const { return thread_.stack.stack_frames.size(); }

  // pdb's words when there is none: "Oldest frame", "Newest frame".
  Status up(std::size_t count);
  Status down(std::size_t count);
  void to_innermost() { index_ = 0; }

  // Looks again where the thread is. True: the same function is at the same
  // distance from the outermost frame; else the place is the innermost
  // frame now. Errors: NoSuchThread when the thread has ended; call()'s.
  Result<bool> refresh(Session& session, Deadline deadline);

 private:
  ShownThread thread_;
  std::size_t index_ = 0;
};

}  // namespace hangdbg
