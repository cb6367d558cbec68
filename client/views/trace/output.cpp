#include "client/views/trace/output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace hangdbg {

TraceOutput::TraceOutput(int fd) : fd_(fd) {
  struct stat info {};
  to_file_ = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  if (::isatty(fd) == 1) {
    // One whose reader is gone says that it takes bytes, and takes none.
    terminal_ = Fd(::open(fmt::format("/proc/self/fd/{}", fd).c_str(),
                          O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    fd_ = terminal_ ? terminal_.get() : fd;
  }
}

void TraceOutput::append(std::string_view lines) {
  const std::lock_guard lock(mutex_);
  if (appended_.size() + lines.size() > kMostWaiting) {
    left_out_ += static_cast<std::size_t>(std::ranges::count(lines, '\n'));
    return;
  }
  appended_ += lines;
}

Result<bool> TraceOutput::write() {
  for (;;) {
    if (written_ == writing_.size()) {
      writing_.clear();
      written_ = 0;
      const std::lock_guard lock(mutex_);
      std::swap(writing_, appended_);
      if (writing_.empty()) {
        return false;
      }
    }
    pollfd one{fd_, POLLOUT, 0};
    if (!to_file_ && ::poll(&one, 1, 0) != 1) {
      return true;
    }
    if (!TRY(write_some())) {
      return true;
    }
  }
}

// A pipe or a terminal that can be written to takes so many bytes at once.
Result<bool> TraceOutput::write_some() {
  const std::size_t left = writing_.size() - written_;
  const ssize_t put =
      ::write(fd_, writing_.data() + written_,
              to_file_ ? left : std::min<std::size_t>(left, PIPE_BUF));
  if (put < 0 && errno != EINTR && errno != EAGAIN) {
    return fail_errno("cannot write the trace");
  }
  const auto more = put > 0 ? static_cast<std::size_t>(put) : 0;
  written_ += more;
  total_ += more;
  return put > 0;
}

}  // namespace hangdbg
