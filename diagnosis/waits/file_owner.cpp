#include "diagnosis/waits/file_owner.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>

#include "base/fd.h"
#include "base/parallel_map.h"
#include "base/text.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostOfFile = 1024;
// A dead file system blocks its reader, which is abandoned then.
constexpr auto kReadPatience = std::chrono::milliseconds(500);

std::optional<std::string> content_of(int pid, const SeenFile& file) {
  std::optional<std::string> content;
  if (!S_ISREG(file.mode)) {
    return content;
  }
  parallel_map<std::string>(
      {pid}, Deadline::in(kReadPatience),
      [path = file.path](int of) -> Result<std::string> {
        const std::string full = fmt::format("/proc/{}/root{}", of, path);
        constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC;
        Fd fd(::open(full.c_str(), kFlags | O_NOATIME));
        if (!fd) {  // O_NOATIME is for the owner
          fd = Fd(::open(full.c_str(), kFlags));
        }
        std::string read(kMostOfFile, '\0');
        const auto size =
            fd ? ::read(fd.get(), read.data(), read.size()) : ssize_t{-1};
        if (size < 0) {
          return fail_errno("read");
        }
        read.resize(static_cast<std::size_t>(size));
        return read;
      },
      [&](int, std::optional<Result<std::string>> result) {
        if (result && *result) {
          content = **std::move(result);
        }
      });
  return content;
}

// The host's name may be followed by the number of a PID namespace.
bool names_this_host(std::string_view host) {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) {
    return false;
  }
  return host.substr(0, host.find('?')) == name.data();
}

bool has_our_pids(int pid) {
  const auto ours = read_proc_link(::getpid(), "ns/pid");
  const auto theirs = read_proc_link(pid, "ns/pid");
  return ours && theirs && *ours == *theirs;
}

}  // namespace

std::optional<FileOwner> file_owner(const ProcessSnapshot& of,
                                    const SeenFile& file) {
  const auto content = content_of(of.pid, file);
  auto owner = content ? parse_file_owner(*content) : std::nullopt;
  if (owner) {
    owner->here = names_this_host(owner->host) && has_our_pids(of.pid);
    const auto status =
        owner->here ? read_status(owner->pid) : std::unexpected(Error());
    owner->alive = status && status->state != 'Z' && status->state != 'X';
  }
  return owner;
}

std::optional<FileOwner> parse_file_owner(std::string_view text) {
  if (!text.ends_with('\n')) {
    return {};  // it is not complete yet
  }
  const auto lines = split(text, '\n');
  FileOwner owner;
  std::string_view pid = lines[0];
  if (lines[0] == "filelock/2") {
    pid = "";
    for (const std::string_view line : lines) {
      if (line.starts_with("pid=")) {
        pid = line.substr(4);
      } else if (line.starts_with("host=")) {
        owner.host = line.substr(5);
      }
    }
  } else if (lines.size() > 1) {
    owner.host = lines[1];
  }
  owner.pid = parse_number<int>(pid).value_or(0);
  return owner.pid > 0 && !owner.host.empty() ? std::optional(std::move(owner))
                                              : std::nullopt;
}

}  // namespace hangdbg
