// A system call in words: its arguments and its result.
//
// What the kernel fills in can be read only when the call is over, what it may
// change only before. So arguments are told at the entry, up to the first that
// is filled in, and the others at the exit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracee/memory/memory.h"
#include "tracee/ptrace/traced_call.h"
#include "tracee/syscalls/descriptor_names.h"

namespace hangdbg {

// The process whose calls they are.
struct CallPlace {
  const MemoryReader& memory;
  DescriptorNames& descriptors;
  std::size_t most_bytes = 32;  // of what is read or written
};

// "openat", "i386_5".
std::string call_name(const TracedCall& call);

void tell_at_entry(const CallPlace& place,
                   const TracedCall& call,
                   std::vector<std::string>& arguments);
void tell_at_exit(const CallPlace& place,
                  const TracedCall& call,
                  std::int64_t result,
                  std::vector<std::string>& arguments);
// Of a call that is not over: the rest as addresses and numbers.
void tell_the_rest(const TracedCall& call, std::vector<std::string>& arguments);

// Whether it is an error's number, negative (-4095 to -1).
bool is_error(std::int64_t result);

// "3</etc/hosts>", "0x7f31c02a0000", "-1 ENOENT", "? ERESTARTSYS (goes on)".
std::string result_text(const CallPlace& place,
                        const TracedCall& call,
                        std::int64_t result);

}  // namespace hangdbg
