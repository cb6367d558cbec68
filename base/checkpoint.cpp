#include "base/checkpoint.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <csignal>
#include <cstdint>
#include <cstdlib>

#include "base/fd.h"

namespace hangdbg {
namespace {

constexpr std::array<std::string_view, 23> kNames = {
    "preflight-done",
    "seized",
    "stopped",
    "judged",
    "stub-written",
    "switched",
    "masked",
    "running",
    "mapped",
    "filled",
    "told-to-go",
    "thread-started",
    "stopped-again",
    "mask-back",
    "registers-back",
    "detached",
    "channels-taken",
    "hello-sent",
    // From here on of a hold.
    "hold-stopped",
    "hold-frame-written",
    "hold-marked",
    "hold-switched",
    "hold-masked",
};
constexpr std::size_t kOfInjection = 18;

// A byte that outlives us, and costs an injection next to nothing.
volatile std::uint8_t* open_last_point(const char* path) {
  static std::uint8_t nobody_reads;
  const Fd file(path == nullptr ? -1 : ::open(path, O_RDWR | O_CLOEXEC));
  void* const mapped =
      file ? ::mmap(nullptr, 1, PROT_WRITE, MAP_SHARED, file.get(), 0)
           : MAP_FAILED;
  return mapped == MAP_FAILED ? &nobody_reads
                              : static_cast<std::uint8_t*>(mapped);
}

}  // namespace

std::span<const std::string_view> checkpoint_names() {
  return std::span(kNames).first<kOfInjection>();
}

std::span<const std::string_view> hold_checkpoint_names() {
  return std::span(kNames).subspan<kOfInjection>();
}

void checkpoint(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  assert(found != kNames.end());
  static volatile std::uint8_t* const last =
      open_last_point(std::getenv("HANGDBG_TEST_LAST_POINT"));
  *last = static_cast<std::uint8_t>(found - kNames.begin() + 1);
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
