#include "tracee/proc/open_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.h"
#include "tracee/proc/file_locks.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

// A name as the kernel gives it, and what it stands for.
struct NamedKind {
  std::string_view name;
  FileKind kind;
};
constexpr NamedKind kAnonymous[] = {
    {"anon_inode:[eventfd]", FileKind::EventFd},
    {"anon_inode:[eventpoll]", FileKind::Epoll},
    {"anon_inode:[timerfd]", FileKind::TimerFd},
    {"anon_inode:[signalfd]", FileKind::SignalFd},
    {"anon_inode:inotify", FileKind::Inotify},
    {"anon_inode:[pidfd]", FileKind::PidFd},
};
constexpr NamedKind kNumbered[] = {
    {"pipe:[", FileKind::Pipe},
    {"socket:[", FileKind::Socket},
    {"pidfd:[", FileKind::PidFd},  // since Linux 6.9
};

// For each descriptor, by number; whether that was all of them.
Result<bool> for_each_descriptor(
    int pid,
    const std::function<void(int fd, const std::string& link)>& visit);
void tell_name(OpenFile& file, std::string_view link);
void tell_info(OpenFile& file, std::string_view line);
void tell_identity(int pid, OpenFile& file);
std::optional<HeldLock> parse_lock(std::string_view text);
std::optional<EpollWatch> parse_watch(std::string_view line);

}  // namespace

std::string_view file_kind_name(FileKind kind) {
  switch (kind) {
    case FileKind::File:
      return "file";
    case FileKind::Device:
      return "device";
    case FileKind::Memory:
      return "memory";
    case FileKind::Pipe:
      return "pipe";
    case FileKind::Fifo:
      return "fifo";
    case FileKind::Socket:
      return "socket";
    case FileKind::EventFd:
      return "eventfd";
    case FileKind::Epoll:
      return "epoll";
    case FileKind::TimerFd:
      return "timerfd";
    case FileKind::SignalFd:
      return "signalfd";
    case FileKind::Inotify:
      return "inotify";
    case FileKind::PidFd:
      return "pidfd";
    case FileKind::Other:
      break;
  }
  return "other";
}

bool OpenFile::reads() const {
  return (flags & O_ACCMODE) != O_WRONLY && (flags & O_PATH) == 0;
}

bool OpenFile::writes() const {
  return (flags & O_ACCMODE) != O_RDONLY && (flags & O_PATH) == 0;
}

Result<OpenFiles> read_open_files(int pid) {
  OpenFiles open;
  open.complete =
      TRY(for_each_descriptor(pid, [&](int fd, const std::string& link) {
        const auto info = read_proc_file(pid, fmt::format("fdinfo/{}", fd));
        open.files.push_back(parse_open_file(fd, link, info ? *info : ""));
        tell_identity(pid, open.files.back());
      }));
  return open;
}

Result<OpenFile> read_open_file(int pid, int fd) {
  const std::string link = TRY(read_proc_link(pid, fmt::format("fd/{}", fd)));
  const auto info = read_proc_record(pid, fmt::format("fdinfo/{}", fd));
  OpenFile file = parse_open_file(fd, link, info.value_or(""));
  tell_identity(pid, file);
  return file;
}

OpenFile parse_open_file(int fd,
                         std::string_view link,
                         std::string_view fdinfo) {
  OpenFile file;
  file.fd = fd;
  tell_name(file, link);
  for (const std::string_view line : split(fdinfo, '\n')) {
    tell_info(file, line);
  }
  return file;
}

Result<std::vector<PipeEnd>> read_pipe_ends(int pid) {
  std::vector<PipeEnd> ends;
  TRY(for_each_descriptor(pid, [&](int fd, const std::string& link) {
    OpenFile file = parse_open_file(fd, link, "");
    tell_identity(pid, file);
    if (!file.is_pipe()) {
      return;
    }
    if (const auto info = read_proc_file(pid, fmt::format("fdinfo/{}", fd))) {
      for (const std::string_view line : split(*info, '\n')) {
        tell_info(file, line);
      }
      ends.push_back(
          {pid, fd, file.inode, file.device, file.reads(), file.writes()});
    }
  }));
  return ends;
}

namespace {

Result<bool> for_each_descriptor(
    int pid,
    const std::function<void(int fd, const std::string& link)>& visit) {
  const Folder folder = TRY(open_proc_folder(pid, "fd"));
  std::vector<int> fds;
  while (const dirent* entry = ::readdir(folder.get())) {
    const auto fd = parse_number<int>(entry->d_name);
    if (!fd) {
      continue;
    }
    if (fds.size() == kMostOpenFiles) {
      break;
    }
    fds.push_back(*fd);
  }
  std::ranges::sort(fds);
  for (const int fd : fds) {
    if (const auto link = read_proc_link(pid, fmt::format("fd/{}", fd))) {
      visit(fd, *link);
    }
  }
  return fds.size() < kMostOpenFiles;
}

void tell_name(OpenFile& file, std::string_view link) {
  file.name = link;
  for (const auto& [name, kind] : kAnonymous) {
    if (link == name) {
      file.kind = kind;
      return;
    }
  }
  for (const auto& [name, kind] : kNumbered) {
    if (link.starts_with(name) && link.ends_with(']')) {
      file.kind = kind;
      file.inode = parse_number<std::uint64_t>(
                       link.substr(name.size(), link.size() - name.size() - 1))
                       .value_or(0);
      return;
    }
  }
  if (!link.starts_with('/')) {
    return;
  }
  if (link.ends_with(kDeleted)) {
    file.deleted = !link.starts_with("/memfd:");  // which never had a path
    file.name.resize(link.size() - kDeleted.size());
  }
  const bool in_memory = link.starts_with("/memfd:") ||
                         link.starts_with("/dev/shm/") ||
                         link.starts_with("/SYSV");
  file.kind = in_memory                   ? FileKind::Memory
              : link.starts_with("/dev/") ? FileKind::Device
                                          : FileKind::File;
}

// "pos:\t0", "eventfd-count:                1" (in hexadecimal), "lock:\t1:
// ...".
void tell_info(OpenFile& file, std::string_view line) {
  const auto colon = line.find(':');
  if (colon == line.npos) {
    return;
  }
  const std::string_view name = trim(line.substr(0, colon));
  const std::string_view value = trim(line.substr(colon + 1));
  if (name == "pos") {
    file.position = parse_number<std::uint64_t>(value).value_or(0);
  } else if (name == "flags") {
    file.flags = parse_number<std::uint32_t>(value, 8).value_or(0);
  } else if (name == "tty-index") {
    file.terminal = parse_number<int>(value);
  } else if (name == "eventfd-count") {
    file.count = parse_number<std::uint64_t>(value, 16);
  } else if (name == "it_value" || name == "it_interval") {
    // Both come, the value first; a timer that expires again has an interval.
    constexpr std::string_view kNever = "(0, 0)";
    file.disarmed = value == kNever && (name == "it_value" || file.disarmed);
  } else if (name == "Pid") {
    file.pid = parse_number<int>(value);
  } else if (name == "tfd") {
    if (const auto watch = parse_watch(line)) {
      file.watches.push_back(*watch);
    }
  } else if (name == "lock") {
    if (const auto lock = parse_lock(value)) {
      file.locks.push_back(*lock);
    }
  }
}

// Of a file with a path; by that, a FIFO looks like others. What the kernel
// knows of the file is taken: where no field is wanted, and the libc has no
// fallback, no file system is asked for more.
void tell_identity(int pid, OpenFile& file) {
  struct statx seen {};
  if (!file.name.starts_with('/') ||
      ::syscall(SYS_statx, AT_FDCWD,
                fmt::format("/proc/{}/fd/{}", pid, file.fd).c_str(),
                AT_STATX_DONT_SYNC, 0U, &seen) != 0) {
    return;
  }
  if (S_ISFIFO(seen.stx_mode)) {
    file.kind = FileKind::Fifo;
  }
  file.inode = seen.stx_ino;
  file.device = makedev(seen.stx_dev_major, seen.stx_dev_minor);
}

// "1: POSIX  ADVISORY  WRITE 4242 fe:01:1179650 0 EOF"
std::optional<HeldLock> parse_lock(std::string_view text) {
  const auto locks = parse_file_locks(text);
  if (locks.empty()) {
    return {};
  }
  const FileLock& lock = locks.front();
  return HeldLock{lock.type, lock.write, lock.start, lock.end};
}

// "tfd:        5 events:       19 data:  5 pos:0 ino:..."
std::optional<EpollWatch> parse_watch(std::string_view line) {
  const auto words = split_words(line);
  if (words.size() < 4 || words[2] != "events:") {
    return {};
  }
  const auto fd = parse_number<int>(words[1]);
  const auto events = parse_number<std::uint32_t>(words[3], 16);
  return fd && events ? std::optional(EpollWatch{*fd, *events}) : std::nullopt;
}

}  // namespace
}  // namespace hangdbg
