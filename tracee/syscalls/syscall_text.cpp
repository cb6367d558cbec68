#include "tracee/syscalls/syscall_text.h"

#include <fmt/core.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "tracee/proc/proc_file.h"
#include "tracee/syscalls/futex_time.h"

namespace hangdbg {
namespace {

// What an argument is; a call's are one letter each, in order.
enum class ArgumentKind : char {
  Number = 'n',     // int
  Hex = 'x',        // an address, flags
  File = 'f',       // a descriptor
  Path = 'p',       // char *
  Millis = 'm',     // int, -1: for ever
  Timespec = 't',   // struct timespec *, null: for ever
  Until = 'u',      // the same, or a moment if the second argument says so
  FutexTime = 'T',  // the same, as the operation says
  Timeval = 'v',    // struct timeval *, null: for ever
  Futex = 'o',      // its operation
  Polled = 'P',     // struct pollfd *, as many as the next argument says
};

struct BlockingCall {
  long number;
  std::string_view kinds;
};

// Those that a hung program sits in.
constexpr BlockingCall kSignatures[] = {
    {SYS_read, "fxn"},        {SYS_write, "fxn"},
    {SYS_readv, "fxn"},       {SYS_writev, "fxn"},
    {SYS_pread64, "fxnn"},    {SYS_pwrite64, "fxnn"},
    {SYS_poll, "Pnm"},        {SYS_ppoll, "Pnt"},
    {SYS_select, "nxxxv"},    {SYS_pselect6, "nxxxt"},
    {SYS_recvfrom, "fxnx"},   {SYS_recvmsg, "fxx"},
    {SYS_sendto, "fxnx"},     {SYS_sendmsg, "fxx"},
    {SYS_accept, "fx"},       {SYS_accept4, "fx"},
    {SYS_connect, "fx"},      {SYS_futex, "xonT"},
    {SYS_nanosleep, "t"},     {SYS_clock_nanosleep, "nxu"},
    {SYS_epoll_wait, "fxnm"}, {SYS_epoll_pwait, "fxnm"},
    {SYS_wait4, "n"},         {SYS_waitid, "nn"},
    {SYS_pause, ""},          {SYS_flock, "fn"},
    {SYS_fcntl, "fn"},        {SYS_fsync, "f"},
    {SYS_fdatasync, "f"},     {SYS_ioctl, "fx"},
    {SYS_openat, "npx"},      {SYS_sched_yield, ""},
};

constexpr std::size_t kMaxPath = 4096;
constexpr std::size_t kMaxPolled = 8;  // that are shown

struct Decoder {
  std::optional<int> pid;
  const MemoryReader& memory;
  const TaskSyscall& call;

  std::string text(ArgumentKind kind, std::size_t index) const;
  std::string file(std::uint64_t fd) const;
  std::string duration(std::uint64_t at, long unit_ns, bool moment) const;
  std::string futex_time(std::uint64_t at) const;
  std::string polled(std::uint64_t at, std::uint64_t count) const;
};

std::string futex_operation(std::uint64_t op) {
  constexpr std::array<std::string_view, 14> kNames = {
      "WAIT",           "WAKE",        "FD",          "REQUEUE",
      "CMP_REQUEUE",    "WAKE_OP",     "LOCK_PI",     "UNLOCK_PI",
      "TRYLOCK_PI",     "WAIT_BITSET", "WAKE_BITSET", "WAIT_REQUEUE_PI",
      "CMP_REQUEUE_PI", "LOCK_PI2"};
  const auto command = op & static_cast<std::uint32_t>(FUTEX_CMD_MASK);
  return command < kNames.size()
             ? fmt::format("{}{}", kNames[command],
                           op & FUTEX_PRIVATE_FLAG ? "_PRIVATE" : "")
             : fmt::format("{:#x}", op);
}

std::string seconds(double value) {
  return human_duration(std::chrono::nanoseconds(
      static_cast<std::int64_t>(std::clamp(value, 0.0, 1e9) * 1e9)));
}

}  // namespace

std::vector<std::string> syscall_arguments(std::optional<int> pid,
                                           const MemoryReader& memory,
                                           const TaskSyscall& call) {
  const auto* const known =
      std::ranges::find(kSignatures, call.number, &BlockingCall::number);
  if (call.running || known == std::end(kSignatures)) {
    return {};
  }
  const Decoder decoder{pid, memory, call};
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < known->kinds.size(); ++i) {
    texts.push_back(decoder.text(ArgumentKind{known->kinds[i]}, i));
  }
  return texts;
}

namespace {

std::string Decoder::text(ArgumentKind kind, std::size_t index) const {
  const std::uint64_t value = call.args[index];
  switch (kind) {
    case ArgumentKind::Number:
      return fmt::format("{}", static_cast<std::int32_t>(value));
    case ArgumentKind::Hex:
      return value == 0 ? "0" : fmt::format("{:#x}", value);
    case ArgumentKind::File:
      return file(value);
    case ArgumentKind::Path: {
      const auto path = memory.read_string(Address{value}, kMaxPath);
      return path ? fmt::format("\"{}\"", printable(*path))
                  : fmt::format("{:#x}", value);
    }
    case ArgumentKind::Millis: {
      const auto millis = static_cast<std::int32_t>(value);
      return millis < 0 ? "for ever" : seconds(millis / 1e3);
    }
    case ArgumentKind::Timespec:
      return duration(value, 1, false);
    case ArgumentKind::Until:
      return duration(value, 1, (call.args[1] & TIMER_ABSTIME) != 0);
    case ArgumentKind::FutexTime:
      return futex_time(value);
    case ArgumentKind::Timeval:
      return duration(value, 1000, false);
    case ArgumentKind::Futex:
      return futex_operation(value & 0xffff'ffff);
    case ArgumentKind::Polled:
      return polled(value, call.args[index + 1]);
  }
  return {};
}

std::string Decoder::file(std::uint64_t fd) const {
  const auto number = static_cast<std::int32_t>(fd);
  const auto link = pid ? read_proc_link(*pid, fmt::format("fd/{}", number))
                        : fail(ErrorId::NoSuchProcess, "it is no more");
  return link ? fmt::format("{} ({})", number, printable(*link))
              : fmt::format("{}", number);
}

// Both structures are two words: seconds, and nanoseconds or microseconds.
std::string Decoder::duration(std::uint64_t at,
                              long unit_ns,
                              bool moment) const {
  if (at == 0) {
    return "for ever";
  }
  const auto words =
      memory.read_value<std::array<std::int64_t, 2>>(Address{at});
  if (!words || (moment && !pid)) {
    return fmt::format("{:#x}", at);
  }
  const double value =
      static_cast<double>((*words)[0]) +
      static_cast<double>((*words)[1]) * static_cast<double>(unit_ns) / 1e9;
  if (!moment) {
    return seconds(value);
  }
  timespec now{};
  ::clock_gettime(static_cast<clockid_t>(call.args[0]), &now);
  return seconds(value - static_cast<double>(now.tv_sec) -
                 static_cast<double>(now.tv_nsec) / 1e9) +
         " more";
}

std::string Decoder::futex_time(std::uint64_t at) const {
  if (at == 0) {
    return "for ever";
  }
  const auto left = futex_time_left(pid, memory, call);
  return left ? seconds(left->seconds) + (left->is_a_moment ? " more" : "")
              : fmt::format("{:#x}", at);
}

std::string Decoder::polled(std::uint64_t at, std::uint64_t count) const {
  std::string text = "[";
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, kMaxPolled);
       ++i) {
    const auto entry =
        memory.read_value<pollfd>(Address{at} + i * sizeof(pollfd));
    if (!entry) {
      return fmt::format("{:#x}", at);
    }
    text += (i > 0 ? ", " : "") + file(static_cast<std::uint32_t>(entry->fd));
  }
  return text + (count > kMaxPolled ? ", ...]" : "]");
}

}  // namespace
}  // namespace hangdbg
