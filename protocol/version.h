// Which messages hangdbg and an editor's extension of ours speak with each
// other.
#pragma once

namespace hangdbg {

// One more when a message changes so that one side no longer understands the
// other's of before. The extension compares (vscode/src/handshake.ts).
constexpr int kProtocolVersion = 1;

// Ours, as in CMakeLists.txt: "1.2.3".
const char* version();

}  // namespace hangdbg
