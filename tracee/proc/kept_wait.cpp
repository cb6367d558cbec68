#include "tracee/proc/kept_wait.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/folder.h"
#include "base/log.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;
constexpr std::size_t kLongest = 512;  // bytes of a file
constexpr std::size_t kLookedAt = 8;   // files, when old ones are removed

std::string folder_path() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime == '/') {
    return std::string(runtime) + "/hangdbg";
  }
  return ::geteuid() == 0 ? "/run/hangdbg"
                          : fmt::format("/tmp/hangdbg-{}", ::geteuid());
}

bool is_only_ours(const Fd& fd, mode_t kind) {
  struct stat status {};
  return ::fstat(fd.get(), &status) == 0 && (status.st_mode & S_IFMT) == kind &&
         status.st_uid == ::geteuid() &&
         (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

// No link is followed at the last step: in /tmp any user could have made one.
Fd open_own_folder() {
  Fd folder(::open(folder_path().c_str(),
                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return folder && is_only_ours(folder, S_IFDIR) ? std::move(folder) : Fd();
}

// Proves nothing of the folder: most threads have none, and that is soon told.
bool has_note(int tid) {
  return ::access(fmt::format("{}/{}", folder_path(), tid).c_str(), F_OK) == 0;
}

std::optional<KeptWait> read_note(const Fd& folder, const std::string& name) {
  const Fd file(::openat(folder.get(), name.c_str(),
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::array<char, kLongest> bytes{};
  if (!file || !is_only_ours(file, S_IFREG)) {
    return {};
  }
  const ssize_t size = ::read(file.get(), bytes.data(), bytes.size());
  return size <= 0 ? std::nullopt
                   : parse_kept_wait(std::string(
                         bytes.data(), static_cast<std::size_t>(size)));
}

// A thread's number without its process's: /proc shows it as well.
bool is_of_now(const std::string& name, const Fd& folder) {
  const int tid = std::atoi(name.c_str());
  const auto stat = tid > 0 ? read_task_stat(tid, tid)
                            : Result<TaskStat>(fail(ErrorId::NoSuchThread, ""));
  const auto note = stat ? read_note(folder, name) : std::nullopt;
  return note && note->started == stat->start_ticks && note->boot == boot_id();
}

// "TID", or ".TID-WRITER" while it is written. What else is there is not ours.
bool is_note(std::string_view name) {
  const auto is_number = [](std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
      return c >= '0' && c <= '9';
    });
  };
  const std::size_t dash = name.find('-');
  return is_number(name) || (name.starts_with('.') && dash != name.npos &&
                             is_number(name.substr(1, dash - 1)) &&
                             is_number(name.substr(dash + 1)));
}

bool is_in_use(const std::string& name, const Fd& folder) {
  const std::size_t dash = name.find('-');
  return name.starts_with('.') && dash != name.npos
             ? read_task_status(std::atoi(name.c_str() + dash + 1),
                                std::atoi(name.c_str() + dash + 1))
                   .has_value()
             : is_of_now(name, folder);
}

// A few each time, from another place each time.
void remove_old(const Fd& folder, int tid) {
  std::vector<std::string> names;
  const Folder list = open_folder(folder_path());
  while (const dirent* entry = list ? ::readdir(list.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (is_note(name) && name != std::to_string(tid)) {
      names.push_back(name);
    }
  }
  const std::size_t first =
      names.empty() ? 0 : static_cast<std::size_t>(tid) % names.size();
  for (std::size_t i = 0; i < std::min(names.size(), kLookedAt); ++i) {
    const std::string& name = names[(first + i) % names.size()];
    if (!is_in_use(name, folder)) {
      ::unlinkat(folder.get(), name.c_str(), 0);
    }
  }
}

}  // namespace

std::optional<std::uint64_t> voluntary_switches(int pid, int tid) {
  const auto status = read_task_status(pid, tid);
  return status ? std::optional(status->voluntary_switches) : std::nullopt;
}

namespace {

std::string read_boot_id() {
  const Fd file(
      ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  std::array<char, 36> bytes{};
  return file && ::read(file.get(), bytes.data(), bytes.size()) ==
                     static_cast<ssize_t>(bytes.size())
             ? std::string(bytes.data(), bytes.size())
             : std::string();
}

}  // namespace

// It is one as long as we run.
std::string boot_id() {
  static const std::string id = read_boot_id();
  return id;
}

void note_wait(int tid, const KeptWait& wait) {
  ::mkdir(folder_path().c_str(), kFolderMode);
  const Fd folder = open_own_folder();
  if (!folder || wait.boot.empty()) {
    log::debug(log::Area::Tracee, "no folder for notes: {}", folder_path());
    return;
  }
  const std::string name = std::to_string(tid);
  remove_old(folder, tid);
  // Whole or not at all.
  const std::string fresh = fmt::format(".{}-{}", name, ::gettid());
  const std::string text = text_of(wait);
  {
    const Fd file(::openat(folder.get(), fresh.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           kFileMode));
    if (!file || ::write(file.get(), text.data(), text.size()) !=
                     static_cast<ssize_t>(text.size())) {
      ::unlinkat(folder.get(), fresh.c_str(), 0);
      return;
    }
  }
  if (::renameat(folder.get(), fresh.c_str(), folder.get(), name.c_str()) !=
      0) {
    ::unlinkat(folder.get(), fresh.c_str(), 0);
  }
}

std::optional<double> noted_wait_s(int pid,
                                   int tid,
                                   const TaskStat& stat,
                                   const TaskSyscall& call) {
  const Fd folder = has_note(tid) ? open_own_folder() : Fd();
  const auto note =
      folder ? read_note(folder, std::to_string(tid)) : std::nullopt;
  if (!note || stat.state != 'S' || note->started != stat.start_ticks ||
      note->call != call || note->boot != boot_id() ||
      voluntary_switches(pid, tid) != note->switches) {
    return {};
  }
  return note->began_s;
}

std::string text_of(const KeptWait& wait) {
  std::string text = fmt::format("1 {} {} {} {}", wait.boot, wait.started,
                                 wait.switches, wait.call.number);
  for (const std::uint64_t arg : wait.call.args) {
    text += fmt::format(" {}", arg);
  }
  return text + fmt::format(" {} {} {:.9f}\n", wait.call.sp.value,
                            wait.call.pc.value, wait.began_s);
}

std::optional<KeptWait> parse_kept_wait(const std::string& text) {
  std::istringstream in(text);
  int version = 0;
  KeptWait wait;
  in >> version >> wait.boot >> wait.started >> wait.switches >>
      wait.call.number;
  for (std::uint64_t& arg : wait.call.args) {
    in >> arg;
  }
  in >> wait.call.sp.value >> wait.call.pc.value >> wait.began_s;
  return in && version == 1 && text.ends_with('\n') ? std::optional(wait)
                                                    : std::nullopt;
}

}  // namespace hangdbg
