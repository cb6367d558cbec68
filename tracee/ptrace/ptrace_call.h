// ptrace(2) with arguments that have types.
#pragma once

#include <sys/ptrace.h>

#include <cstdint>

namespace hangdbg {

inline long ptrace_call(__ptrace_request request,
                        int tid,
                        void* address,
                        void* data) {
  return ::ptrace(request, tid, address, data);
}

// A number where ptrace wants a pointer.
inline void* as_pointer(std::uintptr_t value) {
  return reinterpret_cast<void*>(value);
}

}  // namespace hangdbg
