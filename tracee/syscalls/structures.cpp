#include "tracee/syscalls/structures.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <optional>
#include <span>
#include <vector>

#include "base/text.h"
#include "tracee/proc/signals.h"
#include "tracee/syscalls/names.h"
#include "tracee/syscalls/quoted_bytes.h"
#include "tracee/syscalls/socket_text.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kMostElements = 16;  // that are shown

// `text` of the structure that is there, or the address.
template <class T, class Text>
std::string structure_text(const MemoryReader& memory,
                           Address at,
                           const Text& text) {
  if (!at) {
    return "NULL";
  }
  const auto value = memory.read_value<T>(at);
  return value ? text(*value) : pointer_text(at.value);
}

// "[a, b, ...]" of `count` elements, each read in its turn.
template <class T, class Text>
std::string list_of(const MemoryReader& memory,
                    Address at,
                    std::uint64_t count,
                    const Text& text) {
  if (!at) {
    return "NULL";
  }
  std::string all = "[";
  for (std::uint64_t i = 0; i < std::min(count, kMostElements); ++i) {
    const auto value = memory.read_value<T>(at + i * sizeof(T));
    if (!value) {
      return pointer_text(at.value);
    }
    all += (i > 0 ? ", " : "") + text(*value);
  }
  return all + (count > kMostElements ? ", ...]" : "]");
}

std::string time_text(std::int64_t seconds, std::int64_t nanoseconds) {
  return fmt::format("{{tv_sec={}, tv_nsec={}}}", seconds, nanoseconds);
}

// The kernel's own, which is not the C library's.
struct KernelSigaction {
  std::uint64_t handler;
  std::uint64_t flags;
  std::uint64_t restorer;
  std::uint64_t mask;
};

// Those fields of struct clone_args (clone3(2)) that tell something.
struct KernelCloneArgs {
  std::uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack,
      stack_size, tls;
};

}  // namespace

std::string stat_text(const MemoryReader& memory, Address at) {
  return structure_text<struct stat>(memory, at, [](const struct stat& file) {
    const bool device = S_ISCHR(file.st_mode) || S_ISBLK(file.st_mode);
    return fmt::format("{{st_mode={}, {}, ...}}", file_type(file.st_mode),
                       device ? fmt::format("st_rdev={:#x}", file.st_rdev)
                              : fmt::format("st_size={}", file.st_size));
  });
}

std::string statx_text(const MemoryReader& memory, Address at) {
  return structure_text<struct statx>(memory, at, [](const struct statx& file) {
    return fmt::format("{{stx_mask={}, stx_mode={}, stx_size={}, ...}}",
                       statx_mask(file.stx_mask), file_type(file.stx_mode),
                       std::uint64_t{file.stx_size});
  });
}

std::string open_how_text(const MemoryReader& memory, Address at) {
  return structure_text<open_how>(memory, at, [](const open_how& how) {
    return fmt::format("{{flags={}, mode={}, resolve={:#x}}}",
                       open_flags(how.flags), mode_bits(how.mode),
                       std::uint64_t{how.resolve});
  });
}

std::string timespec_text(const MemoryReader& memory, Address at) {
  return structure_text<timespec>(memory, at, [](const timespec& time) {
    return time_text(time.tv_sec, time.tv_nsec);
  });
}

std::string timeval_text(const MemoryReader& memory, Address at) {
  return structure_text<timeval>(memory, at, [](const timeval& time) {
    return fmt::format("{{tv_sec={}, tv_usec={}}}", time.tv_sec, time.tv_usec);
  });
}

std::string itimerspec_text(const MemoryReader& memory, Address at) {
  return structure_text<itimerspec>(memory, at, [](const itimerspec& timer) {
    return fmt::format(
        "{{it_interval={}, it_value={}}}",
        time_text(timer.it_interval.tv_sec, timer.it_interval.tv_nsec),
        time_text(timer.it_value.tv_sec, timer.it_value.tv_nsec));
  });
}

std::string limit_text(const MemoryReader& memory, Address at) {
  return structure_text<rlimit>(memory, at, [](const rlimit& limit) {
    const auto text = [](rlim_t value) {
      return value == RLIM_INFINITY ? std::string("RLIM_INFINITY")
                                    : fmt::format("{}", value);
    };
    return fmt::format("{{rlim_cur={}, rlim_max={}}}", text(limit.rlim_cur),
                       text(limit.rlim_max));
  });
}

std::string system_name_text(const MemoryReader& memory, Address at) {
  return structure_text<utsname>(memory, at, [](const utsname& name) {
    const auto text = [](const auto& field) {
      return quoted_bytes(std::string(
          field, std::find(std::begin(field), std::end(field), '\0')));
    };
    return fmt::format("{{sysname={}, nodename={}, ...}}", text(name.sysname),
                       text(name.nodename));
  });
}

std::string signal_set_text(const MemoryReader& memory, Address at) {
  return structure_text<std::uint64_t>(
      memory, at, [](std::uint64_t set) { return signal_set(set); });
}

// select(2), "C library/kernel differences".
std::string mask_and_size_text(const MemoryReader& memory, Address at) {
  struct MaskAndSize {
    std::uint64_t mask, size;
  };
  return structure_text<MaskAndSize>(memory, at, [&](const MaskAndSize& both) {
    return fmt::format("{{sigmask={}, sigsetsize={}}}",
                       signal_set_text(memory, {both.mask}), both.size);
  });
}

std::string signal_action_text(const MemoryReader& memory, Address at) {
  return structure_text<KernelSigaction>(
      memory, at, [](const KernelSigaction& action) {
        const std::string handler = action.handler == 0 ? "SIG_DFL"
                                    : action.handler == 1
                                        ? "SIG_IGN"
                                        : fmt::format("{:#x}", action.handler);
        return fmt::format("{{sa_handler={}, sa_mask={}, sa_flags={}}}",
                           handler, signal_set(action.mask),
                           signal_action_flags(action.flags));
      });
}

std::string siginfo_text(const MemoryReader& memory, Address at) {
  return structure_text<siginfo_t>(memory, at, [](const siginfo_t& info) {
    return info.si_signo == 0 ? std::string("{}")
                              : fmt::format(
                                    "{{si_signo={}, si_code={}, si_pid={}, "
                                    "si_status={}}}",
                                    signal_name(info.si_signo), info.si_code,
                                    info.si_pid, info.si_status);
  });
}

std::string wait_status_text(const MemoryReader& memory, Address at) {
  return structure_text<int>(memory, at, [](int status) -> std::string {
    if (WIFEXITED(status)) {
      return fmt::format("[exited with {}]", WEXITSTATUS(status));
    }
    if (WIFSIGNALED(status)) {
      return fmt::format("[killed by {}{}]", signal_name(WTERMSIG(status)),
                         WCOREDUMP(status) ? ", core dumped" : "");
    }
    if (WIFSTOPPED(status)) {
      return fmt::format("[stopped by {}]", signal_name(WSTOPSIG(status)));
    }
    return WIFCONTINUED(status) ? "[continued]"
                                : fmt::format("[{:#x}]", status);
  });
}

std::string clone_arguments_text(const MemoryReader& memory, Address at) {
  return structure_text<KernelCloneArgs>(
      memory, at, [](const KernelCloneArgs& wanted) {
        return fmt::format("{{flags={}, exit_signal={}, stack={}, ...}}",
                           clone_flags(wanted.flags & ~std::uint64_t{0xff}),
                           sent_signal(wanted.exit_signal),
                           pointer_text(wanted.stack));
      });
}

std::string int_at_text(const MemoryReader& memory, Address at) {
  return structure_text<int>(
      memory, at, [](int value) { return fmt::format("[{}]", value); });
}

std::string strings_text(const MemoryReader& memory, Address at) {
  std::vector<std::string> words;
  std::string all = "[";
  for (std::uint64_t i = 0;; ++i) {
    const auto word = memory.read_address(at + i * sizeof(std::uint64_t));
    if (!word) {
      return pointer_text(at.value);
    }
    if (!*word) {
      return all + "]";
    }
    if (i == kMostElements) {
      return all + ", ...]";
    }
    all += (i > 0 ? ", " : "") + path_text(memory, *word);
  }
}

std::string environment_text(const MemoryReader& memory, Address at) {
  constexpr std::uint64_t kMost = 100'000;
  for (std::uint64_t i = 0; at && i < kMost; ++i) {
    const auto word = memory.read_address(at + i * sizeof(std::uint64_t));
    if (!word) {
      break;
    }
    if (!*word) {
      return fmt::format("{} /* {} variables */", pointer_text(at.value), i);
    }
  }
  return pointer_text(at.value);
}

std::string vectors_text(const MemoryReader& memory,
                         Address at,
                         std::uint64_t count,
                         std::uint64_t filled,
                         std::size_t most) {
  std::uint64_t left = filled;
  return list_of<iovec>(memory, at, count, [&](const iovec& part) {
    const std::uint64_t used = std::min<std::uint64_t>(left, part.iov_len);
    left -= used;
    return fmt::format(
        "{{iov_base={}, iov_len={}}}",
        bytes_text(memory, {reinterpret_cast<std::uint64_t>(part.iov_base)},
                   used, most),
        part.iov_len);
  });
}

std::string message_text(const MemoryReader& memory,
                         Address at,
                         std::uint64_t filled,
                         std::size_t most) {
  return structure_text<msghdr>(memory, at, [&](const msghdr& message) {
    std::string text = "{";
    std::vector<std::byte> name(
        std::min<std::size_t>(message.msg_namelen, sizeof(sockaddr_storage)));
    if (message.msg_name != nullptr && !name.empty() &&
        memory.read({reinterpret_cast<std::uint64_t>(message.msg_name)},
                    name)) {
      text += "msg_name=" + socket_address_text(name) + ", ";
    }
    text += fmt::format(
        "msg_iov={}, msg_iovlen={}",
        vectors_text(memory, {reinterpret_cast<std::uint64_t>(message.msg_iov)},
                     message.msg_iovlen, filled, most),
        message.msg_iovlen);
    if (message.msg_controllen > 0) {
      text += fmt::format(", msg_controllen={}", message.msg_controllen);
    }
    return text +
           fmt::format(
               ", msg_flags={}}}",
               message_flags(static_cast<std::uint64_t>(message.msg_flags)));
  });
}

std::string fd_pair_text(const MemoryReader& memory,
                         Address at,
                         const DescriptorText& name) {
  return list_of<int>(memory, at, 2, name);
}

// With more than can be shown, those that answered come first.
std::string poll_set_text(const MemoryReader& memory,
                          Address at,
                          std::uint64_t count,
                          bool answered,
                          const DescriptorText& name) {
  if (!answered) {
    return list_of<pollfd>(memory, at, count, [&](const pollfd& one) {
      return fmt::format("{{fd={}, events={}}}", name(one.fd),
                         poll_events(static_cast<std::uint16_t>(one.events)));
    });
  }
  std::string all;
  constexpr std::uint64_t kMost = 4096;
  for (std::uint64_t i = 0; i < std::min(count, kMost); ++i) {
    const auto one = memory.read_value<pollfd>(at + i * sizeof(pollfd));
    if (!one) {
      break;
    }
    if (one->revents != 0) {
      all += (all.empty() ? "" : ", ") +
             fmt::format("{{fd={}, revents={}}}", one->fd,
                         poll_events(static_cast<std::uint16_t>(one->revents)));
    }
  }
  return "[" + all + "]";
}

std::string fd_set_text(const MemoryReader& memory,
                        Address at,
                        std::uint64_t count,
                        const DescriptorText& name) {
  if (!at) {
    return "NULL";
  }
  constexpr std::uint64_t kMost = FD_SETSIZE;
  std::vector<std::uint64_t> words((std::min(count, kMost) + 63) / 64);
  if (!memory.read(at, std::as_writable_bytes(std::span(words)))) {
    return pointer_text(at.value);
  }
  std::string all;
  for (std::uint64_t fd = 0; fd < std::min(count, kMost); ++fd) {
    if ((words[fd / 64] >> (fd % 64) & 1) != 0) {
      all += (all.empty() ? "" : " ") + name(static_cast<int>(fd));
    }
  }
  return "[" + all + "]";
}

std::string epoll_events_text(const MemoryReader& memory,
                              Address at,
                              std::uint64_t count) {
  return list_of<epoll_event>(memory, at, count, [](const epoll_event& event) {
    return fmt::format("{{events={}, data={:#x}}}",
                       epoll_events(std::uint32_t{event.events}),
                       std::uint64_t{event.data.u64});
  });
}

}  // namespace hangdbg
