#include "client/terminal/broken_pipe.h"

#include <csignal>

namespace hangdbg {
namespace {

void (*as_started)(int) = SIG_DFL;

}  // namespace

void ignore_broken_pipes() {
  as_started = std::signal(SIGPIPE, SIG_IGN);
}

void restore_broken_pipes() {
  std::signal(SIGPIPE, as_started);
}

}  // namespace hangdbg
