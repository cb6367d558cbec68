#include "injector/injection_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>

#include <thread>

#include "base/log.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {

Result<Fd> lock_injections(int pid, Deadline deadline) {
  Fd file(
      ::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    return cannot_read_proc(pid, "stat");
  }
  // flock has no timeout; an injection takes milliseconds.
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      log::debug(log::Area::Injector, "no flock on /proc here");
      return file;
    }
    if (deadline.expired()) {
      return fail(ErrorId::TimedOut,
                  fmt::format("another hangdbg is attaching to {}", pid),
                  "try again when it is done");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return file;
}

}  // namespace hangdbg
