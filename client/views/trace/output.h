// TraceOutput: where the lines go, without the tracer ever waiting for a
// reader: it appends, and main writes as fast as the reader reads. What comes
// when too much waits to be written is left out, and counted.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace hangdbg {

class TraceOutput {
 public:
  // Writes to `fd`, which stays the caller's.
  explicit TraceOutput(int fd);

  // One line or more, whole ones.
  void append(std::string_view lines);

  // Writes what can be written at once; true if more is left. Errors: System,
  // with EPIPE where the reader has gone.
  Result<bool> write();

  int fd() const { return fd_; }
  std::size_t left_out() const { return left_out_; }
  std::size_t written() const { return total_; }  // bytes

 private:
  static constexpr std::size_t kMostWaiting = 64U << 20;

  // False: nothing can be written at once.
  Result<bool> write_some();

  Fd terminal_;  // an opening of our own, so that only we do not wait for it
  int fd_;
  bool to_file_;  // which never lets one wait
  std::mutex mutex_;
  std::string appended_;
  std::size_t left_out_ = 0;  // lines
  // Main's own.
  std::string writing_;
  std::size_t written_ = 0;
  std::size_t total_ = 0;
};

}  // namespace hangdbg
