#include "inspector/host/room.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <optional>

#include "tracee/proc/mounts.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

struct Place {
  std::string path;
  std::string use;
};

// "/proc/PID/root" leads to a file as the process sees it.
std::optional<FileSystem> ask(int pid, const Mount& mount, Place place) {
  struct statvfs room {};
  const std::string path = fmt::format("/proc/{}/root{}", pid, mount.point);
  if (::statvfs(path.c_str(), &room) != 0) {
    return {};
  }
  return FileSystem{.point = mount.point,
                    .type = mount.type,
                    .use = std::move(place.use),
                    .bytes = room.f_blocks * room.f_frsize,
                    .bytes_left = room.f_bavail * room.f_frsize,
                    .files = room.f_files,
                    .files_left = room.f_favail};
}

}  // namespace

// The folder's size is their number, since Linux 6.2.
Result<std::size_t> count_open_files(int pid) {
  const std::string path = fmt::format("/proc/{}/fd", pid);
  struct stat folder {};
  if (::stat(path.c_str(), &folder) == 0 && folder.st_size > 0) {
    return static_cast<std::size_t>(folder.st_size);
  }
  const Folder open = TRY(open_proc_folder(pid, "fd"));
  std::size_t count = 0;
  while (const dirent* entry = ::readdir(open.get())) {
    count += entry->d_name[0] != '.' ? 1 : 0;
  }
  return count;
}

// A hundredth of a small one, a GiB of a large one.
bool FileSystem::is_full() const {
  constexpr std::uint64_t kEnough = 1ULL << 30;
  return (bytes > 0 && bytes_left < std::min(bytes / 100, kEnough)) ||
         (files > 0 && files_left < files / 1000);
}

std::vector<FileSystem> read_file_systems(int pid,
                                          const std::vector<OpenFile>& open) {
  std::vector<Place> places = {{"/dev/shm", ""}, {"/tmp", ""}};
  for (const OpenFile& file : open) {
    if (file.writes() && !file.deleted && file.name.starts_with('/') &&
        file.kind == FileKind::File) {
      places.push_back(
          {file.name, fmt::format("fd {}, {}", file.fd, file.name)});
    }
  }
  const auto mounts = read_mounts(pid);
  std::vector<FileSystem> found;
  for (Place& place : places) {
    const Mount* const mount =
        mounts ? mount_among(*mounts, place.path) : nullptr;
    if (mount == nullptr || (place.use.empty() && place.path == "/dev/shm" &&
                             mount->point != "/dev/shm")) {
      continue;
    }
    const auto known =
        std::ranges::find(found, mount->point, &FileSystem::point);
    if (known != found.end()) {
      known->use = known->use.empty() ? place.use : known->use;
    } else if (auto fresh = ask(pid, *mount, std::move(place))) {
      found.push_back(*std::move(fresh));
    }
  }
  return found;
}

}  // namespace hangdbg
