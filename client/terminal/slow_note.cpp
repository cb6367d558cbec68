#include "client/terminal/slow_note.h"

#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include "base/spawn_up_to.h"
#include "client/terminal/render.h"

namespace hangdbg {

SlowNote::SlowNote(std::string text) {
  if (::isatty(STDERR_FILENO) == 0) {
    return;
  }
  // It sleeps on when the answer is there, and ends with the program.
  for (auto& thread :
       spawn_up_to(1, [shared = shared_, text = std::move(text)] {
         constexpr std::chrono::milliseconds kLong{1500};
         std::this_thread::sleep_for(kLong);
         const std::lock_guard lock(shared->mutex);
         if (!shared->over) {
           print_now(stderr, text + "\n");
         }
       })) {
    thread.detach();
  }
}

SlowNote::~SlowNote() {
  const std::lock_guard lock(shared_->mutex);
  shared_->over = true;
}

}  // namespace hangdbg
