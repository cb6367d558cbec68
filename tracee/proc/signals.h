// Sets of signals as /proc has them, by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hangdbg {

// Of the libc's own use, and never a program's (32 to 33 in glibc, to 34 in
// musl): by these it reaches its threads, and waits until each has answered.
// 34 is a program's in glibc.
constexpr bool may_be_libcs(int signal) {
  return signal >= 32 && signal <= 34;
}

// "SIGTERM"; "SIGRTMIN+2"; "signal 99".
std::string signal_name(int number);

// How a process ended, of a status as in wait(2): "killed by SIGKILL",
// "exit code 3".
std::string end_text(int status);

// Of a set in which bit N-1 is signal N. The two that the C library keeps for
// itself are "signal 32" and "signal 33" (nptl(7)).
std::vector<std::string> signal_names(std::uint64_t set);

}  // namespace hangdbg
