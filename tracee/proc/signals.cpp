#include "tracee/proc/signals.h"

#include <fmt/core.h>
#include <signal.h>
#include <string.h>  // NOLINT(modernize-deprecated-headers): sigabbrev_np
#include <sys/wait.h>

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

std::string end_text(int status) {
  return WIFSIGNALED(status)
             ? fmt::format("killed by {}", signal_name(WTERMSIG(status)))
             : fmt::format("exit code {}", WEXITSTATUS(status));
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
