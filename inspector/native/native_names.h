// What the frames of native stacks are called: function, module, source line.
//
// All stacks of a process are named at once, so that each table of symbols is
// read one time, however many threads there are.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "inspector/native/native_stack.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/proc/target_files.h"

namespace hangdbg {

struct NativeSymbol {
  std::string function;      // demangle()d; "" when no table knows it
  std::string module;        // its file's name: "libc.so.6"; "" outside of all
  std::uint64_t offset = 0;  // of the code from the module's base
  std::string builtin;       // what Python calls it, where that is certain
  std::string file;          // of the source; "" when it is unknown
  int line = 0;

  // "c10::run", "<built-in function sleep>", "libfoo.so+0x1234", "0x7f001234".
  std::string name() const;

  // With the module: "c10::run (libc10.so)".
  std::string text() const;
};

// Of one process and one list of modules.
class NativeNames {
 public:
  // Both must outlive this.
  NativeNames(TargetFiles files,
              const MemoryReader& memory,
              const std::vector<Module>& modules)
      : files_(std::move(files)), memory_(memory), modules_(modules) {}

  // Learns the names of these stacks' frames.
  void learn(std::span<const NativeStack> stacks);

  // Of a frame that was learned.
  const NativeSymbol& name(const NativeFrame& frame) const;

 private:
  TargetFiles files_;
  const MemoryReader& memory_;
  const std::vector<Module>& modules_;
  std::map<Address, NativeSymbol> names_;  // by NativeFrame::code()
};

}  // namespace hangdbg
