#include "tracee/program/target_text.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{32} << 20;

Fd open_below(const std::string& root_path, const std::string& path);
std::string read_regular_file(const Fd& file);

}  // namespace

std::string read_target_text(const std::string& root,
                             std::optional<int> pid,
                             const std::string& path) {
  if (path.empty() || path.front() == '<') {  // "<string>", "<frozen ...>"
    return {};
  }
  if (path.front() == '/') {
    return read_regular_file(open_below(root, path));
  }
  const auto cwd = pid ? read_proc_link(*pid, "cwd")
                       : fail(ErrorId::NoSuchProcess, "it is no more");
  return cwd ? read_regular_file(open_below(root, *cwd + "/" + path))
             : std::string();
}

namespace {

// Links in the path are followed as the target would (openat2(2), Linux 5.6).
Fd open_below(const std::string& root_path, const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const Fd root(::open(root_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) {
    return {};
  }
  const open_how how{.flags = kFlags, .resolve = RESOLVE_IN_ROOT};
  Fd file(static_cast<int>(
      ::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
  if (!file && (errno == ENOSYS || errno == EPERM)) {
    file.reset(::open((root_path + path).c_str(), kFlags));
  }
  return file;
}

std::string read_regular_file(const Fd& file) {
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::size_t>(status.st_size) > kMaxBytes) {
    return {};
  }
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t got = 0;
  while (got < bytes.size()) {
    const auto n = ::read(file.get(), bytes.data() + got, bytes.size() - got);
    if (n <= 0) {
      break;
    }
    got += static_cast<std::size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

}  // namespace
}  // namespace hangdbg
