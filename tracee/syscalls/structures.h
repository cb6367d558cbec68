// Structures that calls take and fill in, in words: the fields that tell
// something, as their man pages name them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tracee/memory/memory.h"

namespace hangdbg {

// Each is the address where it cannot be read, and "NULL" where there is none.
std::string stat_text(const MemoryReader& memory, Address at);
std::string statx_text(const MemoryReader& memory, Address at);
std::string open_how_text(const MemoryReader& memory, Address at);
std::string timespec_text(const MemoryReader& memory, Address at);
std::string timeval_text(const MemoryReader& memory, Address at);
std::string itimerspec_text(const MemoryReader& memory, Address at);
std::string limit_text(const MemoryReader& memory, Address at);
std::string system_name_text(const MemoryReader& memory, Address at);
std::string signal_set_text(const MemoryReader& memory, Address at);
std::string mask_and_size_text(const MemoryReader& memory, Address at);
std::string signal_action_text(const MemoryReader& memory, Address at);
std::string siginfo_text(const MemoryReader& memory, Address at);
std::string wait_status_text(const MemoryReader& memory, Address at);
std::string clone_arguments_text(const MemoryReader& memory, Address at);
std::string int_at_text(const MemoryReader& memory, Address at);
std::string strings_text(const MemoryReader& memory, Address at);
std::string environment_text(const MemoryReader& memory, Address at);

// `most` bytes of what the vectors hold, of which `filled` are meant.
std::string vectors_text(const MemoryReader& memory,
                         Address at,
                         std::uint64_t count,
                         std::uint64_t filled,
                         std::size_t most);
std::string message_text(const MemoryReader& memory,
                         Address at,
                         std::uint64_t filled,
                         std::size_t most);

// How descriptors in them are called.
using DescriptorText = std::function<std::string(int fd)>;
std::string fd_pair_text(const MemoryReader& memory,
                         Address at,
                         const DescriptorText& name);
// What was asked for; or, with `answered`, what has come.
std::string poll_set_text(const MemoryReader& memory,
                          Address at,
                          std::uint64_t count,
                          bool answered,
                          const DescriptorText& name);
std::string fd_set_text(const MemoryReader& memory,
                        Address at,
                        std::uint64_t count,
                        const DescriptorText& name);
std::string epoll_events_text(const MemoryReader& memory,
                              Address at,
                              std::uint64_t count);

}  // namespace hangdbg
