// Frames of one answer, on standard output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nodes/frames/frame.h"

namespace hangdbg {

class FrameWriter {
 public:
  FrameWriter();

  // Returns whether there is a reader.
  bool write(FrameType type, std::string_view payload);
  bool write_pieces(FrameType type, std::string_view bytes);

 private:
  std::string stream_;
  std::uint32_t next_ = 0;
};

}  // namespace hangdbg
