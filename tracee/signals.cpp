#include "tracee/signals.h"

#include <fmt/core.h>
#include <signal.h>
#include <string.h>  // NOLINT(modernize-deprecated-headers): sigabbrev_np

namespace hangdbg {

std::string signal_name(int number) {
  const char* const name = ::sigabbrev_np(number);
  if (name != nullptr) {
    return fmt::format("SIG{}", name);
  }
  if (number < SIGRTMIN || number > SIGRTMAX) {
    return fmt::format("signal {}", number);
  }
  return number == SIGRTMIN ? "SIGRTMIN"
                            : fmt::format("SIGRTMIN+{}", number - SIGRTMIN);
}

std::vector<std::string> signal_names(std::uint64_t set) {
  std::vector<std::string> names;
  for (int number = 1; number <= 64; ++number) {
    if ((set >> (number - 1) & 1) != 0) {
      names.push_back(signal_name(number));
    }
  }
  return names;
}

}  // namespace hangdbg
