// Work that may be held up for ever, with a deadline.
//
// It is done on this thread, so that nothing is waited for where all CPUs are
// busy; a thread of ours that sleeps meanwhile takes over when time is up. If
// none can be had, the kernel ends us then (alarm(2)).
#pragma once

#include <unistd.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/deadline.h"
#include "base/spawn_up_to.h"

namespace hangdbg {

// What `then` makes of the work's result: the exit code. If there is none in
// time, the other thread calls it with none and ends the program with that.
template <class R>
int run_with_deadline(Deadline deadline,
                      const std::function<R()>& work,
                      const std::function<int(std::optional<R>)>& then) {
  struct Shared {
    std::mutex mutex;
    bool done = false;
  };
  const auto shared = std::make_shared<Shared>();
  // It sleeps on when the work is done: to wake it would cost more than to end
  // it with the program.
  auto watch = spawn_up_to(1, [shared, deadline, then] {
    std::this_thread::sleep_until(deadline.at());
    const std::lock_guard lock(shared->mutex);
    if (!shared->done) {
      ::_exit(then(std::nullopt));
    }
  });
  if (watch.empty()) {
    end_at(deadline);
  } else {
    watch[0].detach();
  }
  auto result = std::optional(work());
  ::alarm(0);
  {
    const std::lock_guard lock(shared->mutex);  // for ever, if time is up
    shared->done = true;
  }
  return then(std::move(result));
}

}  // namespace hangdbg
