// A thread's two stacks as one: C and Python functions in the order in which
// they called each other.
//
// They meet at the eval loop. One C frame of it runs one Python frame, and from
// 3.11 on those that this one called as well (its `entry` is the outermost).
// From 3.12 on Python's frames say which C frame that is, by an address in it;
// before, both are counted, and must be as many. What cannot be placed with
// certainty is not merged: then one stack is below the other.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inspector/cpython/stacks/python_stack.h"
#include "inspector/native/native_names.h"
#include "inspector/native/native_stack.h"
#include "tracee/memory/address.h"

namespace hangdbg {

// A native frame with its name.
struct NamedFrame {
  Address sp;
  bool interpreter = false;  // it is in the module that has CPython
  NativeSymbol symbol;
  bool behind_gap = false;  // as in NativeFrame
  Address pc = {};          // likewise
};

std::vector<NamedFrame> named(const NativeStack& stack,
                              const NativeNames& names,
                              std::size_t python_module);

struct StackEntry {
  enum class Kind { Python, Native };
  Kind kind = Kind::Python;
  std::size_t frame = 0;  // which one of the Python stack's
  NativeSymbol native;    // or the C function
  bool behind_gap = false;
  Address returns_to = {};  // in its caller; 0 where that is not known
};

struct MergedStack {
  std::vector<StackEntry> entries;  // innermost first
  bool merged = true;
  bool complete = true;  // no C frame is missing
  std::string reason;    // why either is not so
};

// Left out are the interpreter's frames that are plumbing or have no name and,
// outside of the outermost Python frame, those that start threads and programs.
// A stack without Python, or one that is not merged, has all its C frames.
MergedStack merge_stacks(std::span<const NamedFrame> native,
                         bool native_complete,
                         const PythonStack& python);

// Functions of CPython that lead from one Python function to the next, or to
// the builtin that it calls: in the source that a person reads there is none.
bool is_plumbing(std::string_view function);

}  // namespace hangdbg
