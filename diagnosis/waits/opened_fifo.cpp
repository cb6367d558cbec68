#include "diagnosis/waits/opened_fifo.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <climits>
#include <cstdint>
#include <string>

#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

struct OpenCall {
  int folder = AT_FDCWD;
  Address path;
  std::uint64_t flags = 0;
};

std::optional<OpenCall> open_call(const ProcessSnapshot& of,
                                  const ThreadSnapshot& thread) {
  const TaskSyscall& call = thread.wait.call;
  const auto& args = call.args;
  if (call.running || thread.wait.state != 'S') {
    return {};
  }
  switch (call.number) {
    case SYS_open:
      return OpenCall{AT_FDCWD, Address{args[0]}, args[1]};
    case SYS_creat:
      return OpenCall{AT_FDCWD, Address{args[0]}, O_WRONLY};
    case SYS_openat:
      return OpenCall{static_cast<int>(args[0]), Address{args[1]}, args[2]};
    case SYS_openat2: {
      const auto how = of.memory().read_value<std::uint64_t>(Address{args[2]});
      return how ? std::optional(OpenCall{static_cast<int>(args[0]),
                                          Address{args[1]}, *how})
                 : std::nullopt;
    }
    default:
      return {};
  }
}

}  // namespace

std::optional<OpenedFifo> opened_fifo(const ProcessSnapshot& of,
                                      const ThreadSnapshot& thread) {
  const auto call = open_call(of, thread);
  const auto read = call ? of.memory().read_string(call->path, PATH_MAX)
                         : std::unexpected(Error());
  if (!read || read->empty()) {
    return {};
  }
  std::string path = *read;
  if (!path.starts_with('/') && call->folder != AT_FDCWD) {
    const auto folder = of.file(call->folder);
    if (!folder) {
      return {};
    }
    path = folder->name + "/" + path;
  }
  auto file = seen_by(of.pid, path);
  // With both directions, or without waiting, it would not wait.
  const auto direction = call->flags & O_ACCMODE;
  if (!file || !S_ISFIFO(file->mode) || direction > O_WRONLY ||
      (call->flags & O_NONBLOCK) != 0) {
    return {};
  }
  return OpenedFifo{*std::move(file), direction == O_RDONLY};
}

}  // namespace hangdbg
