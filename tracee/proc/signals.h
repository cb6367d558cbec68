// Sets of signals as /proc has them, by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hangdbg {

// "SIGTERM"; "SIGRTMIN+2"; "signal 99".
std::string signal_name(int number);

// How a process ended, of a status as in wait(2): "killed by SIGKILL",
// "exit code 3".
std::string end_text(int status);

// Of a set in which bit N-1 is signal N. The two that the C library keeps for
// itself are "signal 32" and "signal 33" (nptl(7)).
std::vector<std::string> signal_names(std::uint64_t set);

}  // namespace hangdbg
