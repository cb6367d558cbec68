// The native function that a thread is in, in words for a person.
#pragma once

#include <sys/user.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "inspector/native/native_stack.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"

namespace hangdbg {

struct NativePlace {
  std::size_t module = 0;  // index into the modules
  std::string function;    // "" when the innermost one has no name
  std::string text;        // "read (libc.so.6)", "libfoo.so+0x1234"
};

// The name of a function that its library keeps to itself.
using HiddenName =
    std::function<std::optional<std::string>(std::size_t module, Address code)>;

// Of a thread whose stack does not change, `registers` as
// NativeUnwinder::unwind takes them. Where the innermost function has no name,
// exported or hidden, the text names the nearest caller within that library
// that has one. Empty when the thread is in no module at all.
std::optional<NativePlace> native_place(const MemoryReader& memory,
                                        const std::vector<Module>& modules,
                                        const user_regs_struct& registers,
                                        const HiddenName& hidden,
                                        Deadline deadline);

// Of a thread that was at `pc` a moment ago and has run since.
std::optional<NativePlace> native_place(const MemoryReader& memory,
                                        const std::vector<Module>& modules,
                                        Address pc,
                                        const HiddenName& hidden);

}  // namespace hangdbg
