// What a piece of straight bytecode computes, as text: the calls in it, the
// names that its value depends on. What is not known is left out, so a text is
// either right or "".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inspector/cpython/code/code_object.h"

namespace hangdbg {

struct CallText {
  std::int32_t at = BytecodeFlow::kNone;  // the instruction
  std::string callee;  // "os.path.exists"; "" if it is not known
  std::string text;    // "os.path.exists(path)"
  std::vector<std::string> arguments;  // names among them: "path", "self.path"
};

// From the end of the last statement, or a jump target, up to an instruction.
struct Statement {
  std::int32_t first = 0;
  std::vector<CallText> calls;
  // What the last instruction takes is one of these, or computed from them; not
  // what a call has returned.
  std::vector<std::string> variables;
  bool known = false;               // all that it takes
  std::vector<std::string> stored;  // where it puts that; "d" of d[x]
};

Statement statement_ending_at(const CodeObject& code, std::int32_t last);

}  // namespace hangdbg
