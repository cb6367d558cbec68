// Threads of ours, as many of those asked for as can be had. None may be left
// where a container is full of the threads of the program that hangs.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

#include "base/deadline.h"

namespace hangdbg {

inline std::vector<std::thread> spawn_up_to(std::size_t count,
                                            const std::function<void()>& work) {
  std::vector<std::thread> threads;
  try {
    while (threads.size() < count) {
      threads.emplace_back(work);
    }
  } catch (const std::system_error&) {
  }
  return threads;
}

// Instead of a thread that watches the clock: the kernel ends us (alarm(2))
// within a second after `deadline`.
inline void end_at(Deadline deadline) {
  ::alarm(
      static_cast<unsigned>(
          std::chrono::floor<std::chrono::seconds>(deadline.left()).count()) +
      1);
}

}  // namespace hangdbg
