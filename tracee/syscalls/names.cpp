#include "tracee/syscalls/names.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/futex.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <ctime>

#include "tracee/proc/signals.h"
#include "tracee/syscalls/named_values.h"

namespace hangdbg {
namespace {

constexpr NamedValue kOpenFlags[] = {NAMED(O_CREAT),
                                     NAMED(O_EXCL),
                                     NAMED(O_NOCTTY),
                                     NAMED(O_TRUNC),
                                     NAMED(O_APPEND),
                                     NAMED(O_NONBLOCK),
                                     NAMED(O_SYNC),
                                     NAMED(O_DSYNC),
                                     NAMED(O_ASYNC),
                                     NAMED(O_DIRECT),
                                     NUMBERED(0x8000, O_LARGEFILE),
                                     NAMED(O_TMPFILE),
                                     NAMED(O_DIRECTORY),
                                     NAMED(O_NOFOLLOW),
                                     NAMED(O_NOATIME),
                                     NAMED(O_CLOEXEC),
                                     NAMED(O_PATH)};

constexpr NamedValue kOpenModes[] = {NAMED(O_RDONLY), NAMED(O_WRONLY),
                                     NAMED(O_RDWR), NAMED(O_ACCMODE)};

constexpr NamedValue kAccess[] = {NAMED(F_OK), NAMED(R_OK), NAMED(W_OK),
                                  NAMED(X_OK)};

constexpr NamedValue kAt[] = {
    NAMED(AT_SYMLINK_NOFOLLOW), NAMED(AT_REMOVEDIR),
    NAMED(AT_SYMLINK_FOLLOW),   NAMED(AT_NO_AUTOMOUNT),
    NAMED(AT_EMPTY_PATH),       NAMED(AT_STATX_FORCE_SYNC),
    NAMED(AT_STATX_DONT_SYNC)};

constexpr NamedValue kWhence[] = {NAMED(SEEK_SET), NAMED(SEEK_CUR),
                                  NAMED(SEEK_END), NAMED(SEEK_DATA),
                                  NAMED(SEEK_HOLE)};

constexpr NamedValue kFcntl[] = {
    NAMED(F_DUPFD),         NAMED(F_GETFD),      NAMED(F_SETFD),
    NAMED(F_GETFL),         NAMED(F_SETFL),      NAMED(F_GETLK),
    NAMED(F_SETLK),         NAMED(F_SETLKW),     NAMED(F_SETOWN),
    NAMED(F_GETOWN),        NAMED(F_SETSIG),     NAMED(F_GETSIG),
    NAMED(F_SETLEASE),      NAMED(F_GETLEASE),   NAMED(F_NOTIFY),
    NAMED(F_DUPFD_CLOEXEC), NAMED(F_SETPIPE_SZ), NAMED(F_GETPIPE_SZ),
    NAMED(F_ADD_SEALS),     NAMED(F_GET_SEALS),  NAMED(F_OFD_GETLK),
    NAMED(F_OFD_SETLK),     NAMED(F_OFD_SETLKW)};

constexpr NamedValue kIoctls[] = {
    NAMED(TCGETS),      NAMED(TCSETS),       NAMED(TCSETSW),
    NAMED(TCSETSF),     NAMED(TIOCGWINSZ),   NAMED(TIOCSWINSZ),
    NAMED(TIOCGPGRP),   NAMED(TIOCSPGRP),    NAMED(TIOCSCTTY),
    NAMED(TIOCNOTTY),   NAMED(TIOCGPTN),     NAMED(TIOCSPTLCK),
    NAMED(FIONREAD),    NAMED(FIONBIO),      NAMED(FIOCLEX),
    NAMED(FIONCLEX),    NAMED(TIOCOUTQ),     NAMED(SIOCGIFCONF),
    NAMED(SIOCGIFADDR), NAMED(SIOCGIFFLAGS), NAMED(SIOCGIFINDEX)};

constexpr NamedValue kFlock[] = {NAMED(LOCK_SH), NAMED(LOCK_EX), NAMED(LOCK_UN),
                                 NAMED(LOCK_NB)};

constexpr NamedValue kStatx[] = {
    NAMED(STATX_ALL),    NAMED(STATX_BASIC_STATS), NAMED(STATX_TYPE),
    NAMED(STATX_MODE),   NAMED(STATX_NLINK),       NAMED(STATX_UID),
    NAMED(STATX_GID),    NAMED(STATX_ATIME),       NAMED(STATX_MTIME),
    NAMED(STATX_CTIME),  NAMED(STATX_INO),         NAMED(STATX_SIZE),
    NAMED(STATX_BLOCKS), NAMED(STATX_BTIME),       NAMED(STATX_MNT_ID)};

constexpr NamedValue kRename[] = {
    NAMED(RENAME_NOREPLACE), NAMED(RENAME_EXCHANGE), NAMED(RENAME_WHITEOUT)};

constexpr NamedValue kProtection[] = {
    NAMED(PROT_NONE), NAMED(PROT_READ),      NAMED(PROT_WRITE),
    NAMED(PROT_EXEC), NAMED(PROT_GROWSDOWN), NAMED(PROT_GROWSUP)};

constexpr NamedValue kMap[] = {NAMED(MAP_SHARED_VALIDATE), NAMED(MAP_SHARED),
                               NAMED(MAP_PRIVATE),         NAMED(MAP_FIXED),
                               NAMED(MAP_ANONYMOUS),       NAMED(MAP_32BIT),
                               NAMED(MAP_GROWSDOWN),       NAMED(MAP_DENYWRITE),
                               NAMED(MAP_EXECUTABLE),      NAMED(MAP_LOCKED),
                               NAMED(MAP_NORESERVE),       NAMED(MAP_POPULATE),
                               NAMED(MAP_NONBLOCK),        NAMED(MAP_STACK),
                               NAMED(MAP_HUGETLB),         NAMED(MAP_SYNC),
                               NAMED(MAP_FIXED_NOREPLACE)};

constexpr NamedValue kAdvice[] = {
    NAMED(MADV_NORMAL),         NAMED(MADV_RANDOM),
    NAMED(MADV_SEQUENTIAL),     NAMED(MADV_WILLNEED),
    NAMED(MADV_DONTNEED),       NAMED(MADV_FREE),
    NAMED(MADV_REMOVE),         NAMED(MADV_DONTFORK),
    NAMED(MADV_DOFORK),         NAMED(MADV_MERGEABLE),
    NAMED(MADV_UNMERGEABLE),    NAMED(MADV_HUGEPAGE),
    NAMED(MADV_NOHUGEPAGE),     NAMED(MADV_DONTDUMP),
    NAMED(MADV_DODUMP),         NAMED(MADV_WIPEONFORK),
    NAMED(MADV_KEEPONFORK),     NAMED(MADV_COLD),
    NAMED(MADV_PAGEOUT),        NAMED(MADV_POPULATE_READ),
    NAMED(MADV_POPULATE_WRITE), NUMBERED(24, MADV_DONTNEED_LOCKED),
    NUMBERED(25, MADV_COLLAPSE)};

constexpr NamedValue kMemfd[] = {NAMED(MFD_CLOEXEC), NAMED(MFD_ALLOW_SEALING),
                                 NAMED(MFD_HUGETLB)};

constexpr NamedValue kClocks[] = {NAMED(CLOCK_REALTIME),
                                  NAMED(CLOCK_MONOTONIC),
                                  NAMED(CLOCK_PROCESS_CPUTIME_ID),
                                  NAMED(CLOCK_THREAD_CPUTIME_ID),
                                  NAMED(CLOCK_MONOTONIC_RAW),
                                  NAMED(CLOCK_REALTIME_COARSE),
                                  NAMED(CLOCK_MONOTONIC_COARSE),
                                  NAMED(CLOCK_BOOTTIME),
                                  NAMED(CLOCK_REALTIME_ALARM),
                                  NAMED(CLOCK_BOOTTIME_ALARM),
                                  NAMED(CLOCK_TAI)};

constexpr NamedValue kTimer[] = {NAMED(TIMER_ABSTIME)};

constexpr NamedValue kTimerfd[] = {NAMED(TFD_CLOEXEC), NAMED(TFD_NONBLOCK)};

constexpr NamedValue kTimerfdSet[] = {NAMED(TFD_TIMER_ABSTIME),
                                      NAMED(TFD_TIMER_CANCEL_ON_SET)};

constexpr NamedValue kFutex[] = {NAMED(FUTEX_WAIT),
                                 NAMED(FUTEX_WAKE),
                                 NAMED(FUTEX_FD),
                                 NAMED(FUTEX_REQUEUE),
                                 NAMED(FUTEX_CMP_REQUEUE),
                                 NAMED(FUTEX_WAKE_OP),
                                 NAMED(FUTEX_LOCK_PI),
                                 NAMED(FUTEX_UNLOCK_PI),
                                 NAMED(FUTEX_TRYLOCK_PI),
                                 NAMED(FUTEX_WAIT_BITSET),
                                 NAMED(FUTEX_WAKE_BITSET),
                                 NAMED(FUTEX_WAIT_REQUEUE_PI),
                                 NAMED(FUTEX_CMP_REQUEUE_PI),
                                 NUMBERED(13, FUTEX_LOCK_PI2)};

constexpr NamedValue kPoll[] = {
    NAMED(POLLIN),     NAMED(POLLPRI),    NAMED(POLLOUT),    NAMED(POLLERR),
    NAMED(POLLHUP),    NAMED(POLLNVAL),   NAMED(POLLRDNORM), NAMED(POLLRDBAND),
    NAMED(POLLWRNORM), NAMED(POLLWRBAND), NAMED(POLLMSG),    NAMED(POLLRDHUP)};

constexpr NamedValue kEpollOperations[] = {
    NAMED(EPOLL_CTL_ADD), NAMED(EPOLL_CTL_DEL), NAMED(EPOLL_CTL_MOD)};

constexpr NamedValue kEpoll[] = {
    NAMED(EPOLLIN),     NAMED(EPOLLPRI),     NAMED(EPOLLOUT),
    NAMED(EPOLLERR),    NAMED(EPOLLHUP),     NAMED(EPOLLRDNORM),
    NAMED(EPOLLRDBAND), NAMED(EPOLLWRNORM),  NAMED(EPOLLWRBAND),
    NAMED(EPOLLMSG),    NAMED(EPOLLRDHUP),   NAMED(EPOLLEXCLUSIVE),
    NAMED(EPOLLWAKEUP), NAMED(EPOLLONESHOT), NAMED(EPOLLET)};

constexpr NamedValue kEpollFlags[] = {NAMED(EPOLL_CLOEXEC)};

constexpr NamedValue kEventfd[] = {NAMED(EFD_CLOEXEC), NAMED(EFD_NONBLOCK),
                                   NAMED(EFD_SEMAPHORE)};

constexpr NamedValue kSignalfd[] = {NAMED(SFD_CLOEXEC), NAMED(SFD_NONBLOCK)};

constexpr NamedValue kClone[] = {NAMED(CLONE_VM),
                                 NAMED(CLONE_FS),
                                 NAMED(CLONE_FILES),
                                 NAMED(CLONE_SIGHAND),
                                 NAMED(CLONE_PIDFD),
                                 NAMED(CLONE_PTRACE),
                                 NAMED(CLONE_VFORK),
                                 NAMED(CLONE_PARENT),
                                 NAMED(CLONE_THREAD),
                                 NAMED(CLONE_NEWNS),
                                 NAMED(CLONE_SYSVSEM),
                                 NAMED(CLONE_SETTLS),
                                 NAMED(CLONE_PARENT_SETTID),
                                 NAMED(CLONE_CHILD_CLEARTID),
                                 NAMED(CLONE_DETACHED),
                                 NAMED(CLONE_UNTRACED),
                                 NAMED(CLONE_CHILD_SETTID),
                                 NAMED(CLONE_NEWCGROUP),
                                 NAMED(CLONE_NEWUTS),
                                 NAMED(CLONE_NEWIPC),
                                 NAMED(CLONE_NEWUSER),
                                 NAMED(CLONE_NEWPID),
                                 NAMED(CLONE_NEWNET),
                                 NAMED(CLONE_IO),
                                 NUMBERED(0x100000000, CLONE_CLEAR_SIGHAND),
                                 NUMBERED(0x200000000, CLONE_INTO_CGROUP)};

constexpr NamedValue kWait[] = {NAMED(WNOHANG),
                                NAMED(WUNTRACED),
                                NAMED(WEXITED),
                                NAMED(WCONTINUED),
                                NAMED(WNOWAIT),
                                NUMBERED(0x20000000, __WNOTHREAD),
                                NUMBERED(0x40000000, __WALL),
                                NUMBERED(0x80000000, __WCLONE)};

constexpr NamedValue kIdTypes[] = {NAMED(P_ALL), NAMED(P_PID), NAMED(P_PGID),
                                   NUMBERED(3, P_PIDFD)};

constexpr NamedValue kSignalHow[] = {NAMED(SIG_BLOCK), NAMED(SIG_UNBLOCK),
                                     NAMED(SIG_SETMASK)};

constexpr NamedValue kActionFlags[] = {
    NAMED(SA_NOCLDSTOP), NAMED(SA_NOCLDWAIT),
    NAMED(SA_SIGINFO),   NUMBERED(0x04000000, SA_RESTORER),
    NAMED(SA_ONSTACK),   NAMED(SA_RESTART),
    NAMED(SA_NODEFER),   NUMBERED(0x80000000, SA_RESETHAND)};

constexpr NamedValue kPrctl[] = {NAMED(PR_SET_PDEATHSIG),
                                 NAMED(PR_GET_PDEATHSIG),
                                 NAMED(PR_GET_DUMPABLE),
                                 NAMED(PR_SET_DUMPABLE),
                                 NAMED(PR_SET_KEEPCAPS),
                                 NAMED(PR_SET_NAME),
                                 NAMED(PR_GET_NAME),
                                 NAMED(PR_SET_SECCOMP),
                                 NAMED(PR_GET_SECCOMP),
                                 NAMED(PR_CAPBSET_READ),
                                 NAMED(PR_CAPBSET_DROP),
                                 NAMED(PR_SET_TIMERSLACK),
                                 NAMED(PR_GET_TIMERSLACK),
                                 NAMED(PR_SET_MM),
                                 NAMED(PR_SET_CHILD_SUBREAPER),
                                 NAMED(PR_GET_CHILD_SUBREAPER),
                                 NAMED(PR_SET_NO_NEW_PRIVS),
                                 NAMED(PR_GET_NO_NEW_PRIVS),
                                 NAMED(PR_SET_THP_DISABLE),
                                 NAMED(PR_GET_THP_DISABLE),
                                 NAMED(PR_CAP_AMBIENT),
                                 NUMBERED(0x53564d41, PR_SET_VMA),
                                 NAMED(PR_SET_PTRACER)};

constexpr NamedValue kArchPrctl[] = {
    NUMBERED(0x1001, ARCH_SET_GS), NUMBERED(0x1002, ARCH_SET_FS),
    NUMBERED(0x1003, ARCH_GET_FS), NUMBERED(0x1004, ARCH_GET_GS),
    NUMBERED(0x3001, ARCH_CET_STATUS)};

constexpr NamedValue kResources[] = {
    NAMED(RLIMIT_CPU),      NAMED(RLIMIT_FSIZE),  NAMED(RLIMIT_DATA),
    NAMED(RLIMIT_STACK),    NAMED(RLIMIT_CORE),   NAMED(RLIMIT_RSS),
    NAMED(RLIMIT_NPROC),    NAMED(RLIMIT_NOFILE), NAMED(RLIMIT_MEMLOCK),
    NAMED(RLIMIT_AS),       NAMED(RLIMIT_LOCKS),  NAMED(RLIMIT_SIGPENDING),
    NAMED(RLIMIT_MSGQUEUE), NAMED(RLIMIT_NICE),   NAMED(RLIMIT_RTPRIO),
    NAMED(RLIMIT_RTTIME)};

constexpr NamedValue kRandom[] = {NAMED(GRND_NONBLOCK), NAMED(GRND_RANDOM),
                                  NUMBERED(4, GRND_INSECURE)};

constexpr NamedValue kUsage[] = {NAMED(RUSAGE_SELF), NAMED(RUSAGE_CHILDREN),
                                 NAMED(RUSAGE_THREAD)};

constexpr NamedValue kFileTypes[] = {
    NAMED(S_IFREG), NAMED(S_IFDIR), NAMED(S_IFCHR), NAMED(S_IFBLK),
    NAMED(S_IFIFO), NAMED(S_IFLNK), NAMED(S_IFSOCK)};

}  // namespace

std::string at_flags(std::uint64_t value) {
  return flags_text(value & kInt, kAt);
}

std::string flock_operation(std::uint64_t value) {
  return flags_text(value & kInt, kFlock);
}

std::string statx_mask(std::uint64_t value) {
  return flags_text(value & kInt, kStatx);
}

std::string rename_flags(std::uint64_t value) {
  return flags_text(value & kInt, kRename);
}

std::string protection(std::uint64_t value) {
  return flags_text(value & kInt, kProtection);
}

std::string map_flags(std::uint64_t value) {
  return flags_text(value & kInt, kMap);
}

std::string memfd_flags(std::uint64_t value) {
  return flags_text(value & kInt, kMemfd);
}

std::string timer_flags(std::uint64_t value) {
  return flags_text(value & kInt, kTimer);
}

std::string timerfd_flags(std::uint64_t value) {
  return flags_text(value & kInt, kTimerfd);
}

std::string timerfd_set_flags(std::uint64_t value) {
  return flags_text(value & kInt, kTimerfdSet);
}

std::string poll_events(std::uint64_t value) {
  return flags_text(value & kInt, kPoll);
}

std::string epoll_events(std::uint64_t value) {
  return flags_text(value & kInt, kEpoll);
}

std::string epoll_flags(std::uint64_t value) {
  return flags_text(value & kInt, kEpollFlags);
}

std::string eventfd_flags(std::uint64_t value) {
  return flags_text(value & kInt, kEventfd);
}

std::string signalfd_flags(std::uint64_t value) {
  return flags_text(value & kInt, kSignalfd);
}

std::string wait_options(std::uint64_t value) {
  return flags_text(value & kInt, kWait);
}

std::string signal_action_flags(std::uint64_t value) {
  return flags_text(value & kInt, kActionFlags);
}

std::string random_flags(std::uint64_t value) {
  return flags_text(value & kInt, kRandom);
}

std::string access_mode(std::uint64_t value) {
  return flags_text(value & kInt, kAccess);
}

std::string whence(std::uint64_t value) {
  return value_text(static_cast<std::int32_t>(value), kWhence);
}

std::string fcntl_command(std::uint64_t value) {
  return value_text(static_cast<std::int32_t>(value), kFcntl);
}

std::string advice(std::uint64_t value) {
  return value_text(static_cast<std::int32_t>(value), kAdvice);
}

std::string clock_name(std::uint64_t value) {
  return value_text(static_cast<std::int32_t>(value), kClocks);
}

std::string epoll_operation(std::uint64_t value) {
  return value_text(static_cast<std::int32_t>(value), kEpollOperations);
}

std::string id_type(std::uint64_t value) {
  return value_text(static_cast<std::int32_t>(value), kIdTypes);
}

std::string signal_how(std::uint64_t value) {
  return value_text(static_cast<std::int32_t>(value), kSignalHow);
}

std::string prctl_option(std::uint64_t value) {
  return value_text(static_cast<std::int32_t>(value), kPrctl);
}

std::string arch_prctl_option(std::uint64_t value) {
  return value_text(static_cast<std::int32_t>(value), kArchPrctl);
}

std::string resource(std::uint64_t value) {
  return value_text(static_cast<std::int32_t>(value), kResources);
}

std::string usage_who(std::uint64_t value) {
  return value_text(static_cast<std::int32_t>(value), kUsage);
}

std::string open_flags(std::uint64_t value) {
  std::string text =
      value_text(static_cast<std::int64_t>(value & O_ACCMODE), kOpenModes);
  if (const std::uint64_t rest = value & kInt & ~std::uint64_t{O_ACCMODE};
      rest != 0) {
    append_name(text, flags_text(rest, kOpenFlags));
  }
  return text;
}

std::string creation_flags(std::uint64_t value) {
  return flags_text(value & kInt, kOpenFlags);
}

std::string mode_bits(std::uint64_t value) {
  return fmt::format("{:#04o}", value & 07777);
}

std::string file_type(std::uint64_t mode) {
  return value_text(static_cast<std::int64_t>(mode & S_IFMT), kFileTypes) +
         "|" + mode_bits(mode);
}

std::string descriptor_flags(std::uint64_t value) {
  return (value & FD_CLOEXEC) != 0 ? "FD_CLOEXEC" : "0";
}

std::string ioctl_request(std::uint64_t value) {
  std::string text =
      value_text(static_cast<std::int64_t>(value & kInt), kIoctls);
  return text.front() >= 'A' ? text : fmt::format("{:#x}", value & kInt);
}

std::string futex_operation(std::uint64_t value) {
  const auto command = value & static_cast<std::uint32_t>(FUTEX_CMD_MASK);
  std::string text = value_text(static_cast<std::int64_t>(command), kFutex);
  text += (value & FUTEX_PRIVATE_FLAG) != 0 ? "_PRIVATE" : "";
  text += (value & FUTEX_CLOCK_REALTIME) != 0 ? "|FUTEX_CLOCK_REALTIME" : "";
  return text;
}

std::string clone_flags(std::uint64_t value) {
  constexpr std::uint64_t kSignal = 0xff;
  std::string text =
      (value & ~kSignal) != 0 ? flags_text(value & ~kSignal, kClone) : "";
  if ((value & kSignal) != 0) {
    append_name(text, signal_name(static_cast<int>(value & kSignal)));
  }
  return text.empty() ? "0" : text;
}

std::string sent_signal(std::uint64_t value) {
  const auto number = static_cast<std::int32_t>(value);
  return number == 0 ? "0" : signal_name(number);
}

std::string signal_set(std::uint64_t set) {
  constexpr int kMany = 32;
  const bool inverted = __builtin_popcountll(set) > kMany;
  const std::uint64_t shown = inverted ? ~set : set;
  std::string text;
  for (int signal = 1; signal <= 64; ++signal) {
    if ((shown & std::uint64_t{1} << (signal - 1)) != 0) {
      const std::string name = signal_name(signal);
      text += text.empty() ? "" : " ";
      text +=
          name.starts_with("SIG") ? name.substr(3) : fmt::format("{}", signal);
    }
  }
  return (inverted ? "~[" : "[") + text + "]";
}

std::string errno_name(int error) {
  if (const auto restart = restart_name(error); !restart.empty()) {
    return std::string(restart);
  }
  const char* const name = ::strerrorname_np(error);
  return name != nullptr ? name : fmt::format("errno {}", error);
}

// include/linux/errno.h of the kernel.
std::string_view restart_name(int error) {
  switch (error) {
    case 512:
      return "ERESTARTSYS";
    case 513:
      return "ERESTARTNOINTR";
    case 514:
      return "ERESTARTNOHAND";
    case 516:
      return "ERESTART_RESTARTBLOCK";
    default:
      return "";
  }
}

}  // namespace hangdbg
