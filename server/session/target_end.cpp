#include "server/session/target_end.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/text.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/proc/proc_status.h"
#include "tracee/proc/signals.h"

namespace hangdbg {
namespace {

constexpr auto kTargetEnding = std::chrono::milliseconds(200);

// As waitpid(2) gives it: the last field of a zombie's /proc/PID/stat.
std::optional<int> wait_status(int pid) {
  const auto stat = read_proc_file(pid, "stat");
  if (!stat || stat->find(") Z ") == stat->npos) {
    return {};
  }
  const std::string_view text = trim(*stat);
  return parse_number<int>(text.substr(text.rfind(' ') + 1));
}

// PIDFD_GET_INFO, linux/pidfd.h: not in our headers.
struct PidfdInfo {
  std::uint64_t mask;
  std::uint64_t cgroup;
  std::uint32_t numbers[11];
  std::int32_t wait_status;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr std::uint64_t kInfoExit = 1 << 3;

// Of one that has been reaped.
std::optional<int> wait_status_of_gone(int pidfd) {
  PidfdInfo info{};
  info.mask = kInfoExit;
  if (::ioctl(pidfd, _IOWR(0xFF, 11, PidfdInfo), &info) != 0 ||
      (info.mask & kInfoExit) == 0) {
    return {};
  }
  return info.wait_status;
}

// execve(2) keeps the number and nothing else. Empty maps are an end.
bool runs_another_program(const AttachTarget& target) {
  const Module& python = target.modules[target.python.module];
  const auto maps = read_maps(target.pid);
  return maps && !maps->empty() &&
         std::ranges::none_of(*maps, [&](const Mapping& mapping) {
           return mapping.start == python.base && mapping.inode != 0;
         });
}

}  // namespace

Error explain_loss(const AttachTarget& target) {
  const int pid = target.pid;
  if (runs_another_program(target)) {
    const auto name = read_proc_file(pid, "comm");
    return {.id = ErrorId::TargetDied,
            .message = fmt::format(
                "process {} has started another program{}", pid,
                name ? fmt::format(" ({})", trim(*name)) : std::string()),
            .hint = fmt::format("ps -fp {}", pid)};
  }
  if (ends_before(pid, Deadline::in(kTargetEnding))) {
    return explain_end(pid);
  }
  return {.id = ErrorId::ChannelClosed,
          .message = fmt::format("process {} lives, but our agent has left it: "
                                 "the program has closed all its descriptors "
                                 "or ended its Python, or the expression has "
                                 "ended our thread",
                                 pid),
          .hint = fmt::format("hangdbg attach {} again", pid)};
}

Error explain_end(int pid) {
  Error error{.id = ErrorId::TargetDied,
              .message = fmt::format("process {} has ended", pid),
              .hint = {}};
  if (const auto status = wait_status(pid)) {
    error.message += WIFSIGNALED(*status)
                         ? ": killed by " + signal_name(WTERMSIG(*status))
                         : fmt::format(": exit code {}", WEXITSTATUS(*status));
  }
  return error;
}

std::optional<int> exit_code_of(int pid) {
  const auto status = wait_status(pid);
  return status && WIFEXITED(*status) ? std::optional(WEXITSTATUS(*status))
                                      : std::nullopt;
}

std::optional<int> code_of_another(int pid, int pidfd) {
  auto status = wait_status(pid);
  if (!status) {
    status = wait_status_of_gone(pidfd);
  }
  if (!status) {
    return {};
  }
  return WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status);
}

}  // namespace hangdbg
