// ShownPlaces: what an editor was shown and may ask about by number: frames,
// and lines that a thread may be sent to. The last ones; it asks soon.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/requests/stack_trace.h"

namespace hangdbg {

class ShownPlaces {
 public:
  // Where a frame is, as the agent knows it.
  struct Frame {
    std::int64_t thread;
    std::string path;
    std::int64_t line;
  };
  void note_frames(std::int64_t thread, const dap::StackTrace::Body& stack);
  std::optional<Frame> frame(std::int64_t number) const;

  // A line of a file in the target.
  struct Line {
    std::string path;
    std::int64_t line;
  };
  std::int64_t add_goto_target(Line line);
  std::optional<Line> goto_target(std::int64_t number) const;

 private:
  std::map<std::int64_t, Frame> frames_;
  std::vector<Line> goto_targets_;
};

}  // namespace hangdbg
