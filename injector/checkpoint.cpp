#include "injector/checkpoint.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <csignal>
#include <cstdlib>

namespace hangdbg {
namespace {

constexpr std::array<std::string_view, 18> kNames = {
    "preflight-done", "seized",     "stopped",        "judged",
    "stub-written",   "switched",   "masked",         "running",
    "mapped",         "filled",     "told-to-go",     "thread-started",
    "stopped-again",  "mask-back",  "registers-back", "detached",
    "channels-taken", "hello-sent",
};

}  // namespace

std::span<const std::string_view> checkpoint_names() {
  return kNames;
}

void checkpoint(std::string_view name) {
  assert(std::ranges::find(kNames, name) != kNames.end());
  static const char* const die_at = std::getenv("HANGDBG_TEST_DIE_AT");
  if (die_at != nullptr && name == die_at) {
    std::raise(SIGKILL);
  }
  static const char* stop_at = std::getenv("HANGDBG_TEST_STOP_AT");
  if (stop_at != nullptr && name == stop_at) {
    stop_at = nullptr;  // the next try is to succeed
    std::raise(SIGSTOP);
  }
}

}  // namespace hangdbg
