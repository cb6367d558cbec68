// What functions of C libraries wait for that a program calls with no function
// of Python between: a row each. As in library_waits.h, a row says what its
// function waits for; other rules find whether that comes.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "diagnosis/snapshot/process_snapshot.h"
#include "diagnosis/waits/library_waits.h"

namespace hangdbg {

struct NativeWait {
  std::string_view library;   // as people call it
  std::string_view module;    // how its file's name begins
  std::string_view function;  // that it exports
  WaitKind kind;
  std::string_view sentence;
};

std::span<const NativeWait> native_waits();

// The outermost of the C functions that the thread's innermost Python function
// has called, of those in the table. Null if there is none.
const NativeWait* native_wait(const ProcessSnapshot& of,
                              const ThreadSnapshot& thread);

}  // namespace hangdbg
