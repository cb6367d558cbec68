#include "injector/stub/signal_masks.h"

#include <csignal>
#include <initializer_list>

namespace hangdbg {

std::uint64_t all_but_faults() {
  std::uint64_t mask = ~std::uint64_t{0};
  for (const int signal :
       {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGKILL, SIGSTOP}) {
    mask &= ~(std::uint64_t{1} << (signal - 1));
  }
  return mask;
}

// pthread_cancel's and setuid's in glibc (sysdeps/unix/sysv/linux/
// internal-signals.h); timers', pthread_cancel's and setuid's in musl
// (src/internal/pthread_impl.h), where SIGRTMIN is 35.
std::uint64_t libc_signals(bool musl) {
  return std::uint64_t{musl ? 7u : 3u} << (32 - 1);
}

std::uint64_t setuid_signal(bool musl) {
  return std::uint64_t{1} << ((musl ? 34 : 33) - 1);
}

}  // namespace hangdbg
