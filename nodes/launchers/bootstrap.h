// The few lines of sh that run on a node before hangdbg does: they find the
// same program there, or take it from standard input.
//
// One line, for POSIX sh, without a backslash or "%": login shells and
// launchers each have their own mind about those. What differs from one run to
// another is hexadecimal and base64.
#pragma once

#include <cstddef>
#include <string>

namespace hangdbg {

// What becomes of a node that has not got the program.
enum class IfAbsent {
  SayNeed,     // it says so, and ends
  SayAbsent,   // it says so to a person, and ends
  Receive,     // it says so, and takes it from standard input: gzip, to the end
  ReceiveAll,  // the same; it is sent to all, also to who has it by now
};

struct Bootstrap {
  std::string hash;      // the ID of the program
  std::size_t size = 0;  // of it, in bytes
  std::string request;   // NodeRequest, in base64
  IfAbsent if_absent = IfAbsent::Receive;
  bool terminal = false;  // the command has it, and no frames are written
};

// For sh -c.
std::string bootstrap_script(const Bootstrap& bootstrap);

}  // namespace hangdbg
