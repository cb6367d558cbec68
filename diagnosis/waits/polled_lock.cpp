#include "diagnosis/waits/polled_lock.h"

#include <fmt/core.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

#include "base/text.h"
#include "diagnosis/waits/frame_paths.h"
#include "diagnosis/waits/sleep_loop.h"
#include "diagnosis/waits/sqlite_locks.h"

namespace hangdbg {
namespace {

constexpr std::size_t kInnermost = 6;
constexpr std::size_t kMostPaths = 32;

// Functions that try and sleep, with what names the file there.
struct LibraryFunction {
  const char* function;
  const char* file;
  const char* path;
};
constexpr LibraryFunction kLibraries[] = {
    {"_poll_until_acquired", "filelock/_core/_acquire.py", "lock_filename"},
    {"_poll_until_acquired", "filelock/_api.py", "lock_filename"},
    {"_async_poll_until_acquired", "filelock/_async_lock/_acquire.py",
     "lock_filename"},
    {"_async_poll_until_acquired", "filelock/_async_lock/_acquire.py",
     "self._context.lock_file"},
    {"acquire", "filelock/asyncio.py", "lock_filename"},
    {"acquire", "filelock/_api.py", "lock_filename"},
    {"acquire", "filelock/_api.py", "self._context.lock_file"},
    {"acquire", "filelock/_api.py", "self._lock_file"},
    {"acquire", "filelock/__init__.py", "self._lock_file"},
    {"acquire", "filelock.py", "self._lock_file"},
    {"_timeout_generator", "portalocker/utils.py", "self.filename"},
    {"acquire", "portalocker/utils.py", "self.filename"},
    {"acquire", "fasteners/process_lock.py", "self.path"},
    {"_acquire", "fasteners/process_lock.py", "self.path"},
};

// Those that a process other than this one holds, and this one does not.
std::vector<FileLock> locks_of_others(const ProcessSnapshot& of) {
  std::vector<FileLock> others;
  for (const FileLock& lock : of.system.file_locks()) {
    // A database is open for long, and no lock by which a program waits.
    if (!lock.waits && lock.pid != of.pid && lock.type != "LEASE" &&
        sqlite_lock_of(lock, /*shm=*/false) == SqliteLock::Other) {
      others.push_back(lock);
    }
  }
  std::erase_if(others, [&](const FileLock& one) {
    return std::ranges::any_of(
        of.system.file_locks(), [&](const FileLock& own) {
          return own.pid == of.pid && !own.waits && own.inode == one.inode &&
                 own.major == one.major && own.minor == one.minor;
        });
  });
  return others;
}

// A module that can lock files, as the code of that frame names it.
bool can_lock_files(const ProcessSnapshot& of, const PythonFrame& frame) {
  constexpr std::array<std::string_view, 13> kNames = {
      "fcntl",           "flock",     "lockf",     "LOCK_NB",
      "filelock",        "fasteners", "zc",        "portalocker",
      "FileLock",        "LockFile",  "LockError", "LockException",
      "InterProcessLock"};
  return std::ranges::any_of(kNames, [&](std::string_view name) {
    return of.object(frame, name).has_value();
  });
}

bool has_locked(const ProcessSnapshot& of, const SeenFile& file) {
  return std::ranges::any_of(of.system.file_locks(), [&](const FileLock& one) {
    return one.pid == of.pid && !one.waits && one.inode == file.inode &&
           makedev(one.major, one.minor) == file.device;
  });
}

std::optional<PolledLock> locked_by_others(const ProcessSnapshot& of,
                                           SeenFile file,
                                           std::string how,
                                           Confidence confidence) {
  auto holders = who_locks(of, file);
  if (holders.empty()) {
    return {};
  }
  return PolledLock{.file = std::move(file),
                    .holders = std::move(holders),
                    .how = std::move(how),
                    .confidence = confidence};
}

// A forked process has each file that its parent had open, and the names of its
// modules, whatever it does now.
bool is_relative_of(const ProcessSnapshot& of, const PolledLock& lock) {
  return of.forked_from(lock.holders.front().pid);
}

bool has_it_from_holder(const ProcessSnapshot& of,
                        const OpenFile& file,
                        const PolledLock& lock) {
  const ProcessSnapshot* const holder =
      is_relative_of(of, lock) ? of.system.snapshot(lock.holders.front().pid)
                               : nullptr;
  const auto same = holder != nullptr ? holder->file(file.fd) : std::nullopt;
  return same && same->inode == file.inode && same->device == file.device;
}

// A file that it keeps open between its tries.
std::optional<PolledLock> open_and_locked(const ProcessSnapshot& of,
                                          const std::set<std::uint64_t>& inodes,
                                          const std::string& at) {
  for (const OpenFile& file : of.open_files()) {
    if (!inodes.contains(file.inode) ||
        (file.kind != FileKind::File && file.kind != FileKind::Memory) ||
        !file.locks.empty()) {
      continue;
    }
    auto found = locked_by_others(
        of, {.device = file.device, .inode = file.inode, .path = file.name},
        fmt::format("sleeps at {}, and has {} open as fd {}", at,
                    printable(file.name), file.fd),
        Confidence::Likely);
    if (found && !has_it_from_holder(of, file, *found)) {
      return found;
    }
  }
  return {};
}

// A file that it opens for each try: by the paths in its frame.
std::optional<PolledLock> named_and_locked(
    const ProcessSnapshot& of,
    std::span<const PythonFrame> frames,
    const std::set<std::uint64_t>& inodes) {
  std::size_t looked_at = 0;
  for (const PythonFrame& frame : frames) {
    for (const NamedPath& one : paths_known_to(of, frame)) {
      if (++looked_at > kMostPaths) {
        return {};
      }
      auto file = seen_by(of.pid, one.path);
      if (!file || !inodes.contains(file->inode)) {
        continue;
      }
      auto found = locked_by_others(
          of, *std::move(file),
          fmt::format("sleeps, and {} is {} in {}", printable(one.path),
                      printable(one.name), place_of(frame)),
          &frame == &frames.front() && !one.of_module ? Confidence::Likely
                                                      : Confidence::Possible);
      if (found && !(one.of_module && is_relative_of(of, *found))) {
        return found;
      }
    }
  }
  return {};
}

// Its bytecode says so, or cannot be read.
bool may_try_again(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  if (thread.frames().empty() || !of.loops(thread.frames().front())) {
    return true;
  }
  const auto loop = sleep_loop(of, thread);
  return loop && loop->polls;
}

}  // namespace

std::optional<LibraryTry> library_try(const ProcessSnapshot& of,
                                      const ThreadSnapshot& thread) {
  if (!of.is_python()) {
    return {};
  }
  for (const LibraryFunction& one : kLibraries) {
    const PythonFrame* const frame = thread.find(one.function, one.file, 4);
    auto path = frame != nullptr ? path_at(of, *frame, one.path) : std::nullopt;
    if (path) {
      // filelock.SoftFileLock; fasteners and portalocker have none.
      const std::string type = type_at(of, *frame, "self");
      return LibraryTry{frame, *std::move(path), type.contains("Soft")};
    }
  }
  return {};
}

std::optional<PolledLock> polled_lock(const ProcessSnapshot& of,
                                      const ThreadSnapshot& thread) {
  if (!of.is_python()) {
    return {};
  }
  if (const auto known = library_try(of, thread)) {
    auto file =
        known->by_existence ? std::nullopt : seen_by(of.pid, known->path);
    if (!file) {
      return {};
    }
    std::string how =
        fmt::format("{} tries again and again", place_of(*known->frame));
    if (has_locked(of, *file)) {
      return PolledLock{.file = *std::move(file),
                        .how = std::move(how),
                        .confidence = Confidence::Certain,
                        .own = true};
    }
    return locked_by_others(of, *std::move(file), std::move(how),
                            Confidence::Certain);
  }
  if (!is_timed_sleep(thread.wait.call) || !may_try_again(of, thread)) {
    return {};
  }
  const auto frames = std::span(thread.frames())
                          .first(std::min(kInnermost, thread.frames().size()));
  std::set<std::uint64_t> inodes;
  for (const FileLock& lock : locks_of_others(of)) {
    inodes.insert(lock.inode);
  }
  if (inodes.empty() || std::ranges::none_of(frames, [&](const auto& frame) {
        return can_lock_files(of, frame);
      })) {
    return {};
  }
  auto found = open_and_locked(of, inodes, thread.place());
  return found ? found : named_and_locked(of, frames, inodes);
}

}  // namespace hangdbg
