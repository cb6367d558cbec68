// Frames: how a node's answer lies in a launcher's standard output. Version 1.
//
// A frame is one line of text, so that it survives what launchers do to lines:
// a label before it ("n3: "), other nodes' lines between, a login's noise
// before, a terminal's "\r" behind. docs/nodes.md describes it:
//
//   hangdbg1~STREAM~NUMBER~TYPE~LENGTH~CRC~BASE64~
//
// STREAM tells the answers of several nodes apart, NUMBER counts its frames
// from 0, LENGTH is the payload's in bytes, CRC the CRC-32 of all before it and
// of the payload. The reader believes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hangdbg {

enum class FrameType : char {
  Hello = 'H',   // its payload: NodeHello, as JSON
  Alive = 'A',   // once a second
  Output = 'O',  // a piece of the compressed standard output
  Errors = 'E',  // a piece of standard error
  Live = 'L',    // a piece of standard output at once, as it is
  End = 'X',     // NodeEnd, as JSON; the last one
  Need = 'N',    // the program is not there: its ID
};

struct Frame {
  std::string label;   // what the launcher has put before it: "n3"
  std::string stream;  // as the node calls itself
  std::uint32_t number = 0;
  FrameType type = FrameType::Alive;
  std::string payload;
};

// A line that is no frame.
struct NoiseLine {
  std::string text;  // its beginning
};
// It begins as a frame and is none.
struct BrokenFrame {
  std::string label;
  std::string why;  // "wrong checksum"
};

using FromNode = std::variant<Frame, NoiseLine, BrokenFrame>;

// Slurm passes a line of up to 1,024 bytes on in one piece.
constexpr std::size_t kFramePayload = 630;
constexpr std::size_t kMostFrameLine = 1000;

// The line, with its end. `payload`: kFramePayload bytes at most.
std::string frame_line(std::string_view stream,
                       std::uint32_t number,
                       FrameType type,
                       std::string_view payload);

class FrameReader {
 public:
  // What is complete of what came so far.
  std::vector<FromNode> feed(std::string_view bytes);
  // What is left at the end of the stream.
  std::vector<FromNode> finish();

 private:
  void take_line(std::vector<FromNode>& into);

  std::string line_;
  bool too_long_ = false;  // the rest of this line is skipped
};

}  // namespace hangdbg
