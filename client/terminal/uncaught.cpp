#include "client/terminal/uncaught.h"

#include <unistd.h>

#include <atomic>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "client/terminal/render.h"

namespace hangdbg {
namespace {

// Given back when there is no more: to report takes some.
void* spare_memory = nullptr;
constexpr std::size_t kSpareMemory = 64 << 10;

Error out_of_memory() {
  return {.id = ErrorId::OutOfResources,
          .message = "out of memory",
          .hint = "ulimit -v, and the cgroup's memory.max"};
}

// `code`: an errno, as of a library that has thrown it.
Error error_behind(int code, const char* what) {
  switch (code) {
    case ENOMEM:
      return out_of_memory();
    case EAGAIN:
      return {.id = ErrorId::OutOfResources,
              .message = "cannot start a thread",
              .hint = "ulimit -u, ulimit -v, and the cgroup's pids.max",
              .errno_value = code};
    case EMFILE:
    case ENFILE:  // report() knows the words for these
      return {.message = "cannot open a file", .errno_value = code};
    default:
      return {.message = what};
  }
}

Error error_behind(const std::exception_ptr& thrown) {
  if (!thrown) {
    return {.message = "hangdbg cannot continue"};
  }
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const boost::system::system_error& error) {
    return error_behind(error.code().value(), error.what());
  } catch (const std::system_error& error) {
    return error_behind(error.code().value(), error.what());
  } catch (const std::exception& error) {
    return {.message = error.what()};
  } catch (...) {
    return {.message = "unknown exception"};
  }
}

[[noreturn]] void end_by_exception() {
  static std::atomic<bool> under_way = false;
  static thread_local bool here = false;
  int code = exit_code(ErrorId::OutOfResources);
  if (std::exchange(here, true)) {
    ::_exit(code);  // not even this could be reported
  }
  while (under_way.exchange(true)) {
    ::pause();  // another thread has failed first, and ends us
  }
  std::free(spare_memory);
  try {
    code = report(error_behind(std::current_exception()),
                  Palette(ColourChoice::Auto, stderr));
  } catch (const std::bad_alloc&) {
    constexpr std::string_view kWords = "hangdbg: out of memory\n";
    (void)!::write(STDERR_FILENO, kWords.data(), kWords.size());
  }
  ::_exit(code);
}

}  // namespace

void report_uncaught() {
  spare_memory = std::malloc(kSpareMemory);
  std::set_terminate(end_by_exception);
}

}  // namespace hangdbg
