// The C half of a dump: each thread's stack is copied while it does not run,
// and unwound when it resumes; all of them are named at once and then merged.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/stacks/python_stack.h"
#include "inspector/cpython/stacks/target.h"
#include "inspector/native/native_names.h"
#include "inspector/native/native_stack.h"
#include "inspector/native/stack_copy.h"
#include "inspector/snapshot/builtin_calls.h"
#include "inspector/snapshot/merged_stack.h"

namespace hangdbg {

class NativeDump {
 public:
  // `target` must outlive this.
  explicit NativeDump(const Target& target);

  // Of the next thread, as SampleOptions::copy has it.
  Status copy(const Registers& registers);

  // Unwinds what was copied last, if this look at the thread was exact: what
  // was copied of a thread that ran on is worth nothing.
  void unwind(const PythonStack& python);

  // The stacks in the order in which they were unwound since the last time.
  std::vector<MergedStack> merge(const std::vector<const PythonStack*>& python);

  // What was read of values is read anew from now on: for who goes on.
  void forget_values() { builtins_.emplace(subject_); }

 private:
  std::map<std::size_t, std::string> find_builtins(const NativeStack& stack,
                                                   const StackCopy& copy,
                                                   const PythonStack& python);
  Address function_start(const NativeFrame& frame);  // 0 when it is unknown

  const Target& subject_;
  CopyUnwinder unwinder_;
  NativeNames names_;
  StackCopy copy_;
  std::optional<BuiltinCalls> builtins_;
  std::unordered_map<Address, Address> functions_;  // by NativeFrame::code()
  std::vector<NativeStack> stacks_;
  // Of each stack, by its frames' numbers.
  std::vector<std::map<std::size_t, std::string>> builtin_names_;
};

}  // namespace hangdbg
