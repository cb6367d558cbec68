#include "diagnosis/waits/worker_loops.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace hangdbg {
namespace {

struct Loop {
  std::string_view function;
  std::string_view file;
};

constexpr std::array kLoops = {
    Loop{"_worker", "/concurrent/futures/thread.py"},
    Loop{"_process_worker", "/concurrent/futures/process.py"},
    Loop{"wait_result_broken_or_wakeup", "/concurrent/futures/process.py"},
    Loop{"worker", "/multiprocessing/pool.py"},
    Loop{"_handle_tasks", "/multiprocessing/pool.py"},
    Loop{"_handle_results", "/multiprocessing/pool.py"},
    Loop{"_handle_workers", "/multiprocessing/pool.py"},
    Loop{"_wait_for_updates", "/multiprocessing/pool.py"},
    Loop{"_feed", "/multiprocessing/queues.py"},
    Loop{"_monitor", "/logging/handlers.py"},
    Loop{"_worker_loop", "/torch/utils/data/_utils/worker.py"},
    Loop{"do_one_step", "/torch/utils/data/_utils/pin_memory.py"},
    Loop{"_pin_memory_loop", "/torch/utils/data/_utils/pin_memory.py"},
    Loop{"serve_forever", "/socketserver.py"},
    Loop{"serve_forever", "/multiprocessing/managers.py"},
    Loop{"main", "/multiprocessing/forkserver.py"},
    Loop{"main", "/multiprocessing/resource_tracker.py"},
    Loop{"run", "/tqdm/_monitor.py"},
};

// What such a loop calls to wait.
bool waits(std::string_view file) {
  constexpr std::array<std::string_view, 7> kFiles = {
      "/multiprocessing/queues.py",
      "/multiprocessing/connection.py",
      "/multiprocessing/synchronize.py",
      "/queue.py",
      "/threading.py",
      "/selectors.py",
      "/multiprocessing/pool.py"};
  return std::ranges::any_of(
      kFiles, [file](std::string_view one) { return file.ends_with(one); });
}

}  // namespace

const PythonFrame* worker_loop(const ThreadSnapshot& thread) {
  // Who hands over what it has made, has work.
  if (thread.sleeps_in("write") || thread.sleeps_in("sendto")) {
    return nullptr;
  }
  for (const PythonFrame& frame : thread.frames()) {
    const bool is_loop = std::ranges::any_of(kLoops, [&](const Loop& loop) {
      return frame.function == loop.function && frame.file.ends_with(loop.file);
    });
    if (is_loop) {
      return &frame;
    }
    if (!waits(frame.file)) {
      break;
    }
  }
  return nullptr;
}

}  // namespace hangdbg
