#include "inspector/cpython/locks/stdlib_blocking_frames.h"

#include <algorithm>
#include <array>

namespace hangdbg {

bool is_stdlib_blocking_file(std::string_view file) {
  constexpr std::array<std::string_view, 7> kRooms = {
      "/threading.py",
      "/queue.py",
      "/selectors.py",
      "/concurrent/futures/_base.py",
      "/concurrent/futures/thread.py",
      "/multiprocessing/pool.py",
      "/socketserver.py",
  };
  return std::ranges::any_of(
      kRooms, [file](std::string_view room) { return file.ends_with(room); });
}

bool is_library(std::string_view file) {
  return file.starts_with("<frozen") || file.contains("/lib/python") ||
         file.contains("/site-packages/") || file.contains("/dist-packages/");
}

}  // namespace hangdbg
