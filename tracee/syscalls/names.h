// The names of flags and of numbers that stand for something, as the headers
// of the kernel have them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hangdbg {

// For each set of names one function; `value` is the argument as it is.
std::string open_flags(std::uint64_t value);
std::string creation_flags(std::uint64_t value);  // of pipe2, dup3
std::string mode_bits(std::uint64_t value);       // "0644"
std::string file_type(std::uint64_t mode);        // "S_IFREG|0644"
std::string access_mode(std::uint64_t value);
std::string at_flags(std::uint64_t value);
std::string whence(std::uint64_t value);
std::string fcntl_command(std::uint64_t value);
std::string descriptor_flags(std::uint64_t value);
std::string ioctl_request(std::uint64_t value);
std::string flock_operation(std::uint64_t value);
std::string statx_mask(std::uint64_t value);
std::string rename_flags(std::uint64_t value);
std::string protection(std::uint64_t value);
std::string map_flags(std::uint64_t value);
std::string advice(std::uint64_t value);
std::string memfd_flags(std::uint64_t value);
std::string clock_name(std::uint64_t value);
std::string timer_flags(std::uint64_t value);
std::string timerfd_flags(std::uint64_t value);
std::string timerfd_set_flags(std::uint64_t value);
std::string futex_operation(std::uint64_t value);
std::string poll_events(std::uint64_t value);
std::string epoll_operation(std::uint64_t value);
std::string epoll_events(std::uint64_t value);
std::string epoll_flags(std::uint64_t value);
std::string eventfd_flags(std::uint64_t value);
std::string signalfd_flags(std::uint64_t value);
std::string socket_domain(std::uint64_t value);
std::string socket_type(std::uint64_t value);
std::string socket_protocol(std::uint64_t domain, std::uint64_t value);
std::string message_flags(std::uint64_t value);
std::string socket_level(std::uint64_t value);
std::string socket_option(std::uint64_t level, std::uint64_t value);
std::string shutdown_how(std::uint64_t value);
std::string accept_flags(std::uint64_t value);
std::string clone_flags(std::uint64_t value);  // with the signal at the end
std::string wait_options(std::uint64_t value);
std::string id_type(std::uint64_t value);
std::string signal_how(std::uint64_t value);
std::string signal_action_flags(std::uint64_t value);
std::string prctl_option(std::uint64_t value);
std::string arch_prctl_option(std::uint64_t value);
std::string resource(std::uint64_t value);
std::string random_flags(std::uint64_t value);
std::string usage_who(std::uint64_t value);

// "SIGTERM"; "0", which asks whether there is a process.
std::string sent_signal(std::uint64_t value);
std::string signal_set(std::uint64_t set);  // "[INT TERM]", "~[KILL STOP]"
std::string errno_name(int error);          // "ENOENT", "errno 4000"
// Of what the kernel sees only itself, and tracers do: empty for another one.
std::string_view restart_name(int error);  // "ERESTARTSYS"

}  // namespace hangdbg
