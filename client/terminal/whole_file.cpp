#include "client/terminal/whole_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/fd.h"
#include "base/path_error.h"
#include "base/text.h"
#include "client/terminal/render.h"

namespace hangdbg {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kMode = 0666;  // but for the umask

Status write_all(const Fd& file, std::string_view text) {
  while (!text.empty()) {
    const auto size = ::write(file.get(), text.data(), text.size());
    if (size < 0 && errno != EINTR) {
      return fail_errno("cannot write", ErrorId::Usage);
    }
    text.remove_prefix(size > 0 ? static_cast<std::size_t>(size) : 0);
  }
  return {};
}

}  // namespace

// By another name first. A link stays one, and so does what is no file at all,
// as /dev/null.
Status write_whole_file(const std::string& path, const std::string& text) {
  if (path == "-") {
    print_now(stdout, text);
    return {};
  }
  std::error_code error;
  if (const auto status = fs::status(path, error);
      fs::exists(status) && !fs::is_regular_file(status)) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    return !file || !write_all(file, text) ? Status(cannot_write(path, errno))
                                           : Status();
  }
  const fs::path whole = fs::weakly_canonical(path, error);
  const std::string target = error ? path : whole.string();
  std::string fresh = target + ".XXXXXX";
  const Fd file(::mkostemp(fresh.data(), O_CLOEXEC));
  if (!file) {
    return cannot_write(path, errno);
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (!write_all(file, text) || ::fchmod(file.get(), kMode & ~mask) != 0 ||
      ::rename(fresh.c_str(), target.c_str()) != 0) {
    const auto failed = cannot_write(path, errno);
    ::unlink(fresh.c_str());
    return failed;
  }
  return {};
}

}  // namespace hangdbg
