// Fd: a file descriptor with one owner.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

namespace hangdbg {

// Why a descriptor was ever refused to hangdbg: EMFILE, it has as many as it
// may; ENFILE, the machine has. 0: none was. What then was not found may be
// there all the same, so this is asked before an error is reported, and before
// hangdbg ends (base/shortage.h).
inline std::atomic<int> descriptors_refused = 0;

// After a call has failed that would have made one.
inline void note_refused_descriptor() {
  if (errno == EMFILE || errno == ENFILE) {
    descriptors_refused = errno;
  }
}

class Fd {
 public:
  Fd() = default;
  // As a system call has returned it; below 0, with errno, where that failed.
  explicit Fd(int fd) : fd_(fd) {
    if (fd < 0) {
      note_refused_descriptor();
    }
  }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset(std::exchange(other.fd_, -1));
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

  void reset(int fd = -1) {
    if (fd_ >= 0) {
      ::close(fd_);
    }
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace hangdbg
