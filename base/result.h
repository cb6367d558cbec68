// Result<T>: a value, or the Error that kept us from having one.
//
// Exceptions do not cross a folder; a function that may fail for reasons
// outside the program returns a Result. TRY unwraps one or returns its error:
//
//   Result<int> pages() {
//     auto maps = TRY(read_maps(pid));
//     ...
//   }
#pragma once

#include <cerrno>
#include <expected>
#include <source_location>
#include <string>
#include <utility>

#include "base/error.h"

namespace hangdbg {

template <class T>
using Result = std::expected<T, Error>;

using Status = Result<void>;

inline std::unexpected<Error> fail(
    ErrorId id,
    std::string message,
    std::string hint = {},
    std::source_location place = std::source_location::current()) {
  return std::unexpected(
      Error{id, std::move(message), std::move(hint), 0, place});
}

// For a system call that failed: takes the current errno.
inline std::unexpected<Error> fail_errno(
    std::string message,
    ErrorId id = ErrorId::System,
    std::source_location place = std::source_location::current()) {
  const int saved = errno;
  return std::unexpected(Error{id, std::move(message), {}, saved, place});
}

// For one of another process, whose error number is not put into errno: what is
// there is taken for our own (base/fd.h).
inline std::unexpected<Error> fail_number(
    int error_number,
    std::string message,
    ErrorId id,
    std::source_location place = std::source_location::current()) {
  return std::unexpected(
      Error{id, std::move(message), {}, error_number, place});
}

}  // namespace hangdbg

// NOLINTBEGIN(bugprone-macro-parentheses)
#define TRY(expression)                                       \
  __extension__({                                             \
    auto try_result_ = (expression);                          \
    if (!try_result_) [[unlikely]]                            \
      return std::unexpected(std::move(try_result_).error()); \
    ::hangdbg::detail::take(std::move(try_result_));          \
  })
// NOLINTEND(bugprone-macro-parentheses)

namespace hangdbg::detail {

template <class T>
T take(Result<T>&& result) {
  return *std::move(result);
}
inline void take(Status&&) {}

}  // namespace hangdbg::detail
