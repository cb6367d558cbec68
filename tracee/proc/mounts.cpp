#include "tracee/proc/mounts.h"

#include <algorithm>

#include "base/text.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

// Blanks and backslashes are written as octal numbers: "\040".
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto code = text[i] == '\\' && i + 4 <= text.size()
                          ? parse_number<unsigned>(text.substr(i + 1, 3), 8)
                          : std::nullopt;
    plain += code ? static_cast<char>(*code) : text[i];
    i += code ? 3 : 0;
  }
  return plain;
}

}  // namespace

Result<std::vector<Mount>> read_mounts(int pid) {
  return parse_mounts(TRY(read_proc_file(pid, "mountinfo")));
}

std::optional<Mount> mount_of(int pid, std::string_view path) {
  const auto mounts = read_mounts(pid);
  const Mount* const nearest = mounts ? mount_among(*mounts, path) : nullptr;
  return nearest != nullptr ? std::optional(*nearest) : std::nullopt;
}

const Mount* mount_among(const std::vector<Mount>& mounts,
                         std::string_view path) {
  const Mount* nearest = nullptr;
  for (const Mount& mount : mounts) {
    const bool on =
        mount.point == "/" || path == mount.point ||
        (path.starts_with(mount.point) && path[mount.point.size()] == '/');
    // What is mounted last covers what was there.
    if (on &&
        (nearest == nullptr || mount.point.size() >= nearest->point.size())) {
      nearest = &mount;
    }
  }
  return nearest;
}

// "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw"
std::vector<Mount> parse_mounts(std::string_view text) {
  std::vector<Mount> mounts;
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split_words(line);
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 8 || words.end() - dash < 3) {
      continue;
    }
    mounts.push_back(
        {unescaped(words[4]), unescaped(dash[1]), unescaped(dash[2])});
  }
  return mounts;
}

}  // namespace hangdbg
