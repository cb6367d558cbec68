#include "client/report/private_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"

namespace hangdbg {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kMode = 0600;

// While it lives, signals that would end us wait.
class Undisturbed {
 public:
  Undisturbed() {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
      ::sigaddset(&set, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  ~Undisturbed() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  sigset_t before_{};
};

std::string name_beside(const std::string& path);
Status write_all(const Fd& file, std::string_view bytes);
Status give_name(const std::string& from, const std::string& to, bool replace);

}  // namespace

Status write_private(const std::string& path,
                     std::string_view bytes,
                     bool replace) {
  const std::string folder = fs::path(path).parent_path();
  const Fd nameless(::open(folder.empty() ? "." : folder.c_str(),
                           O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode));
  if (nameless) {
    TRY(write_all(nameless, bytes));
    const Undisturbed undisturbed;
    const std::string own = fmt::format("/proc/self/fd/{}", nameless.get());
    if (!replace) {
      return give_name(own, path, false);
    }
    const std::string fresh = name_beside(path);
    TRY(give_name(own, fresh, false));
    return give_name(fresh, path, true);
  }
  const Undisturbed undisturbed;
  std::string fresh = path + ".XXXXXX";
  const Fd file(::mkostemp(fresh.data(), O_CLOEXEC));
  if (!file) {
    return fail_errno("cannot create a file there", ErrorId::Usage);
  }
  const Status written = write_all(file, bytes);
  const Status named = written ? give_name(fresh, path, replace) : written;
  if (!named || !replace) {
    ::unlink(fresh.c_str());
  }
  return named;
}

namespace {

std::string name_beside(const std::string& path) {
  return fmt::format("{}.{}", path, ::getpid());
}

Status write_all(const Fd& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto size = ::write(file.get(), bytes.data(), bytes.size());
    if (size < 0 && errno != EINTR) {
      return fail_errno("cannot be written", ErrorId::Usage);
    }
    bytes.remove_prefix(size > 0 ? static_cast<std::size_t>(size) : 0);
  }
  return {};
}

// A link, where nothing may be replaced: rename(2) would.
Status give_name(const std::string& from, const std::string& to, bool replace) {
  const int done = replace ? ::rename(from.c_str(), to.c_str())
                           : ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD,
                                      to.c_str(), AT_SYMLINK_FOLLOW);
  if (done == 0) {
    return {};
  }
  if (errno == EEXIST) {
    return fail(ErrorId::Usage, fmt::format("{} already exists", printable(to)),
                "--force, or -o FILE");
  }
  const auto failed = fail_errno("cannot be renamed", ErrorId::Usage);
  if (replace) {
    ::unlink(from.c_str());
  }
  return failed;
}

}  // namespace
}  // namespace hangdbg
