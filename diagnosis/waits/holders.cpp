#include "diagnosis/waits/holders.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <span>

#include "base/folder.h"
#include "base/parallel_map.h"
#include "base/text.h"
#include "diagnosis/waits/awaited_files.h"
#include "tracee/proc/mounts.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_list.h"

namespace hangdbg {
namespace {

// A dead file system blocks its reader, which is abandoned then.
constexpr auto kHoldersPatience = std::chrono::milliseconds(500);

struct stat stat_of(const std::string& path, bool& found) {
  struct stat file {};
  found = ::stat(path.c_str(), &file) == 0;
  return file;
}

// Reads a process's descriptors while `one` (of the descriptor's path and its
// link) returns true. False: not permitted.
template <class One>
bool each_link(int pid, One one) {
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  const Folder fds = open_folder(folder);
  if (!fds) {
    return errno == ENOENT;
  }
  while (const dirent* const entry = ::readdir(fds.get())) {
    const auto link = read_proc_link(pid, fmt::format("fd/{}", entry->d_name));
    if (link && !one(fmt::format("{}/{}", folder, entry->d_name), *link)) {
      break;
    }
  }
  return true;
}

// Whether the process has a descriptor of it. All links are read, and only
// those with the same name are compared further. Empty: not permitted.
std::optional<bool> has_open(int pid, const SeenFile& file) {
  const std::string name = file.path.substr(file.path.rfind('/') + 1);
  bool open = false;
  const bool read =
      each_link(pid, [&](const std::string& fd, const std::string& link) {
        if (link.substr(link.rfind('/') + 1) != name) {
          return true;
        }
        bool there = false;
        const auto seen = stat_of(fd, there);
        open = there && seen.st_ino == file.inode && seen.st_dev == file.device;
        return !open;
      });
  return read ? std::optional(open) : std::nullopt;
}

// File systems that no other machine shares.
bool is_local(std::string_view type) {
  constexpr std::array<std::string_view, 7> kTypes = {
      "ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "overlay"};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

// For a file system without a device of its own (btrfs, overlay), the kernel
// has another number there than stat(2).
bool is_lock_on_file(const FileLock& lock, const SeenFile& file) {
  if (makedev(lock.major, lock.minor) == file.device) {
    return true;
  }
  return lock.major == 0 && major(file.device) == 0 && lock.pid > 0 &&
         has_open(lock.pid, file).value_or(false);
}

// What fcntl(2) asks for. None where that cannot be told.
std::optional<HeldLock> wanted_range(const ProcessSnapshot& of,
                                     const ThreadSnapshot& thread,
                                     const OpenFile& file) {
  const auto& call = thread.wait.call;
  struct flock asked {};
  if (call.number != SYS_fcntl || call.args.size() < 3 ||
      !of.memory().read(Address{call.args[2]},
                        std::as_writable_bytes(std::span(&asked, 1))) ||
      (asked.l_whence != SEEK_SET && asked.l_whence != SEEK_CUR)) {
    return std::nullopt;
  }
  auto start = static_cast<std::int64_t>(asked.l_start);
  if (asked.l_whence == SEEK_CUR) {
    start += static_cast<std::int64_t>(file.position);
  }
  const std::int64_t size = asked.l_len;
  const std::int64_t first = size < 0 ? start + size : start;
  if (first < 0) {
    return std::nullopt;
  }
  HeldLock wanted{.type = "POSIX",
                  .write = asked.l_type == F_WRLCK,
                  .start = static_cast<std::uint64_t>(first),
                  .end = std::nullopt};
  if (size != 0) {
    wanted.end =
        static_cast<std::uint64_t>(size < 0 ? start : start + size) - 1;
  }
  return wanted;
}

// flock(2)'s locks are apart.
bool conflicts(const HeldLock& wanted, const HeldLock& held) {
  return held.type != "FLOCK" && held.type != "LEASE" &&
         (wanted.write || held.write) &&
         (!held.end || *held.end >= wanted.start) &&
         (!wanted.end || *wanted.end >= held.start);
}

}  // namespace

std::optional<SeenFile> seen_by(int pid, const std::string& path) {
  std::optional<SeenFile> seen;
  const std::string from = path.starts_with('/') ? "root" : "cwd/";
  parallel_map<SeenFile>(
      {pid}, Deadline::in(kHoldersPatience),
      [=](int of) -> Result<SeenFile> {
        bool there = false;
        const auto file =
            stat_of(fmt::format("/proc/{}/{}{}", of, from, path), there);
        if (!there) {
          return fail_errno("stat");
        }
        const double age =
            std::difftime(std::time(nullptr), file.st_mtim.tv_sec);
        return SeenFile{.device = file.st_dev,
                        .inode = file.st_ino,
                        .age_s = std::max(age, 0.0),
                        .path = {},
                        .mode = file.st_mode};
      },
      [&](int, std::optional<Result<SeenFile>> result) {
        if (result && *result) {
          seen = **result;
          const std::string folder =
              path.starts_with('/')
                  ? ""
                  : read_proc_link(pid, "cwd").value_or("") + "/";
          seen->path = folder + path;
        }
      });
  return seen;
}

std::string age_text(const SeenFile& file) {
  return human_duration(
      std::chrono::nanoseconds(static_cast<std::int64_t>(file.age_s * 1e9)));
}

Openers who_has_open(const ProcessSnapshot& of, const SeenFile& file) {
  Openers openers;
  const auto pids = list_processes();
  for (const int pid : pids ? *pids : std::vector<int>()) {
    const auto open = has_open(pid, file);
    openers.unseen += open ? 0 : 1;
    if (open.value_or(false)) {
      openers.known.push_back({pid, pid});
    }
  }
  const auto mount = mount_of(of.pid, file.path);
  openers.elsewhere = !mount || !is_local(mount->type);
  return openers;
}

std::vector<ThreadId> who_has_device(std::string_view name) {
  std::vector<ThreadId> found;
  const auto pids = list_processes();
  for (const int pid : pids ? *pids : std::vector<int>()) {
    bool open = false;
    each_link(pid, [&](const std::string&, const std::string& link) {
      open = link == name;
      return !open;
    });
    if (open) {
      found.push_back({pid, pid});
    }
  }
  return found;
}

std::optional<int> awaited_file_lock(const ThreadSnapshot& thread) {
  const auto& call = thread.wait.call;
  const bool waits =
      !call.running &&
      (call.number == SYS_flock ||
       (call.number == SYS_fcntl &&
        (call.args[1] == F_SETLKW || call.args[1] == F_OFD_SETLKW)));
  return waits ? std::optional(static_cast<int>(call.args[0])) : std::nullopt;
}

// By the number that they share; a lock of an open file description
// (F_OFD_SETLK) names no process, but the descriptors of its holders tell it.
std::vector<ThreadId> who_has_awaited(const ProcessSnapshot& of,
                                      const ThreadSnapshot& thread) {
  std::vector<ThreadId> holders;
  const auto& locks = of.system.file_locks();
  for (const FileLock& mine : locks) {
    if (!mine.waits || mine.pid != of.pid) {
      continue;
    }
    for (const FileLock& other : locks) {
      if (!other.waits && other.number == mine.number && other.pid > 0) {
        holders.push_back({other.pid, other.pid});
      }
    }
  }
  if (!holders.empty()) {
    return holders;
  }
  const auto fd = awaited_file_lock(thread);
  const auto file = fd ? of.file(*fd) : std::nullopt;
  const auto wanted = file ? wanted_range(of, thread, *file) : std::nullopt;
  return wanted ? who_locks_by_descriptor(of,
                                          {.device = file->device,
                                           .inode = file->inode,
                                           .path = file->name},
                                          [&](const HeldLock& held) {
                                            return conflicts(*wanted, held);
                                          })
                : holders;
}

std::vector<ThreadId> who_locks(const ProcessSnapshot& of,
                                const SeenFile& file) {
  std::vector<ThreadId> holders;
  bool unnamed = false;
  for (const FileLock& lock : of.system.file_locks()) {
    if (lock.inode != file.inode || lock.waits || lock.pid == of.pid ||
        !is_lock_on_file(lock, file)) {
      continue;
    }
    const ThreadId id{lock.pid, lock.pid};
    unnamed |= lock.pid <= 0;
    if (lock.pid > 0 && std::ranges::find(holders, id) == holders.end()) {
      holders.push_back(id);
    }
  }
  return holders.empty() && unnamed ? who_locks_by_descriptor(of, file)
                                    : holders;
}

std::vector<ThreadId> who_locks_by_descriptor(
    const ProcessSnapshot& of,
    const SeenFile& file,
    const std::function<bool(const HeldLock&)>& counts) {
  std::vector<ThreadId> holders;
  for (const ThreadId id : who_has_open(of, file).known) {
    const auto open =
        id.pid != of.pid ? read_open_files(id.pid) : std::unexpected(Error());
    const bool locks =
        open && std::ranges::any_of(open->files, [&](const OpenFile& one) {
          return one.inode == file.inode && one.device == file.device &&
                 std::ranges::any_of(one.locks, counts);
        });
    if (locks) {
      holders.push_back(id);
    }
  }
  return holders;
}

bool takes_connections(SystemSnapshot& system, int pid) {
  const ProcessSnapshot* const of = system.snapshot(pid);
  return of != nullptr &&
         std::ranges::any_of(of->threads, [&](const ThreadSnapshot& thread) {
           if (thread.sleeps_in("accept") || thread.sleeps_in("accept4")) {
             return true;
           }
           const auto awaited = awaited_files(*of, thread);
           return std::ranges::any_of(
               awaited.files, [&](const AwaitedFile& one) {
                 const auto socket =
                     one.file.kind == FileKind::Socket
                         ? system.tcp_socket(pid, one.file.inode)
                         : std::nullopt;
                 return socket && socket->state == TcpState::Listen;
               });
         });
}

}  // namespace hangdbg
