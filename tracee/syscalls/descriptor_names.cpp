#include "tracee/syscalls/descriptor_names.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "tracee/proc/proc_file.h"
#include "tracee/syscalls/socket_text.h"

namespace hangdbg {
namespace {

// What another process does to it, or a call that we do not know, is seen then.
constexpr auto kKept = std::chrono::seconds(1);

}  // namespace

std::string DescriptorNames::text(std::int64_t fd) {
  const auto number = static_cast<std::int32_t>(fd);
  const std::string& named = number < 0 ? "" : name(number);
  return named.empty() ? fmt::format("{}", number)
                       : fmt::format("{}<{}>", number, named);
}

std::string DescriptorNames::new_text(std::int64_t fd) {
  known_.erase(static_cast<std::int32_t>(fd));
  return text(fd);
}

std::string DescriptorNames::folder_text(std::int64_t fd) {
  if (static_cast<std::int32_t>(fd) != AT_FDCWD) {
    return text(fd);
  }
  return "AT_FDCWD";
}

void DescriptorNames::forget(const TracedCall& call) {
  const auto fd = static_cast<std::int32_t>(call.args[0]);
  switch (call.number) {
    case SYS_close:
    case SYS_connect:
    case SYS_bind:
    case SYS_listen:
    case SYS_shutdown:
      known_.erase(fd);
      break;
    case SYS_dup2:
    case SYS_dup3:
      known_.erase(static_cast<std::int32_t>(call.args[1]));
      break;
    case SYS_close_range:
    case SYS_execve:
    case SYS_execveat:
    case SYS_rename:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_unlink:
    case SYS_unlinkat:
      known_.clear();
      break;
    default:
      break;
  }
}

const std::string& DescriptorNames::name(int fd) {
  const auto now = Clock::now();
  const auto known = known_.find(fd);
  if (known != known_.end() && now - known->second.at < kKept) {
    return known->second.name;
  }
  return known_.insert_or_assign(fd, Known{look(fd), now}).first->second.name;
}

// "anon_inode:[eventpoll]" as "eventpoll"; files and pipes by their names.
std::string DescriptorNames::look(int fd) {
  const auto link = read_proc_link(pid_, fmt::format("fd/{}", fd));
  if (!link) {
    return "";
  }
  if (link->starts_with("socket:[")) {
    return socket_name(fd, *link);
  }
  constexpr std::string_view kAnonymous = "anon_inode:";
  if (link->starts_with(kAnonymous)) {
    std::string_view kind = std::string_view(*link).substr(kAnonymous.size());
    if (kind.starts_with('[') && kind.ends_with(']')) {
      kind = kind.substr(1, kind.size() - 2);
    }
    return printable(kind);
  }
  return printable(*link);
}

// By a copy of it that is ours for a moment (pidfd_getfd(2), since Linux 5.6).
std::string DescriptorNames::socket_name(int fd, const std::string& link) {
  if (!process_) {
    process_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  }
  const Fd copy(process_ ? static_cast<int>(::syscall(SYS_pidfd_getfd,
                                                      process_.get(), fd, 0))
                         : -1);
  return copy ? socket_text(copy.get()) : link;
}

}  // namespace hangdbg
