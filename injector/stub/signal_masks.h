// Which signals a thread that runs our code must let through; bit N-1 of a
// mask is signal N.
#pragma once

#include <cstdint>

namespace hangdbg {

// Everything but what the CPU itself raises: such a signal, when blocked, takes
// the handler with it and kills.
std::uint64_t all_but_faults();

// Those that the libc keeps for itself: by these it reaches every thread, and
// waits until each has answered: setuid(2) and its like would hang the program.
std::uint64_t libc_signals(bool musl);

// The one among them that setuid(2) and its like wait for, with the lock that
// starting a thread takes: a thread that has it blocked, and starts one, and
// one that calls setuid wait for each other.
std::uint64_t setuid_signal(bool musl);

}  // namespace hangdbg
