#include "tracee/syscalls/call_text.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <optional>

#include "tracee/proc/proc_tasks.h"
#include "tracee/syscalls/control_text.h"
#include "tracee/syscalls/named_values.h"
#include "tracee/syscalls/names.h"
#include "tracee/syscalls/quoted_bytes.h"
#include "tracee/syscalls/signature.h"
#include "tracee/syscalls/socket_text.h"
#include "tracee/syscalls/structures.h"

namespace hangdbg {
namespace {

constexpr std::int64_t kLastErrno = 4095;

struct Teller {
  const CallPlace& place;
  const TracedCall& call;
  std::optional<std::int64_t> result;  // at the exit

  std::string text(Arg kind, std::size_t index) const;
  std::string descriptor_or_path(Arg kind, std::size_t index) const;
  std::string bytes(Arg kind, std::size_t index) const;
  std::string socket(Arg kind, std::size_t index) const;
  std::string file(Arg kind, std::size_t index) const;
  std::string memory_or_time(Arg kind, std::size_t index) const;
  std::string waiting(Arg kind, std::size_t index) const;
  std::string process_or_signal(Arg kind, std::size_t index) const;

  std::uint64_t value(std::size_t index) const { return call.args[index]; }
  Address at(std::size_t index) const { return {call.args[index]}; }
  // Bytes that the call has put there.
  std::uint64_t filled() const {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(*result, 0));
  }
  std::string futex_timeout(std::size_t index) const;
  std::string answer() const;
  std::string option_value(std::size_t index, std::size_t size) const;
  std::string socket_address(std::size_t index, std::size_t size) const;
  std::size_t size_at(std::size_t index) const;
  DescriptorText names() const {
    return [this](int fd) { return place.descriptors.text(fd); };
  }
};

bool is_out(Arg kind, const TracedCall& call);
std::size_t argument_count(const Signature& signature, const TracedCall& call);

}  // namespace

std::string call_name(const TracedCall& call) {
  return call.compat ? fmt::format("i386_{}", call.number)
                     : syscall_name(call.number);
}

void tell_at_entry(const CallPlace& place,
                   const TracedCall& call,
                   std::vector<std::string>& arguments) {
  const Signature* const known =
      call.compat ? nullptr : find_signature(call.number);
  if (known == nullptr) {
    return;
  }
  const Teller teller{place, call, std::nullopt};
  const std::size_t count = argument_count(*known, call);
  while (arguments.size() < count &&
         !is_out(known->args[arguments.size()], call)) {
    arguments.push_back(
        teller.text(known->args[arguments.size()], arguments.size()));
  }
}

void tell_at_exit(const CallPlace& place,
                  const TracedCall& call,
                  std::int64_t result,
                  std::vector<std::string>& arguments) {
  const Signature* const known =
      call.compat ? nullptr : find_signature(call.number);
  if (known == nullptr) {
    tell_the_rest(call, arguments);
    return;
  }
  const Teller teller{place, call, result};
  const std::size_t count = argument_count(*known, call);
  while (arguments.size() < count) {
    const std::size_t i = arguments.size();
    const Arg kind = known->args[i];
    arguments.push_back(is_out(kind, call) && is_error(result)
                            ? pointer_text(call.args[i])
                            : teller.text(kind, i));
  }
  // What has come is told beside what was asked for.
  if (!arguments.empty() && known->args[0] == Arg::PollSet && result > 0) {
    arguments[0] += " => " + poll_set_text(place.memory, {call.args[0]},
                                           call.args[1], true, teller.names());
  }
}

void tell_the_rest(const TracedCall& call,
                   std::vector<std::string>& arguments) {
  const Signature* const known =
      call.compat ? nullptr : find_signature(call.number);
  const std::size_t count =
      known == nullptr ? call.args.size() : argument_count(*known, call);
  while (arguments.size() < count) {
    arguments.push_back(number_text(call.args[arguments.size()]));
  }
}

bool is_error(std::int64_t result) {
  return result < 0 && result >= -kLastErrno;
}

std::string result_text(const CallPlace& place,
                        const TracedCall& call,
                        std::int64_t result) {
  if (is_error(result)) {
    const auto error = static_cast<int>(-result);
    return restart_name(error).empty()
               ? fmt::format("-1 {} ({})", errno_name(error),
                             ::strerrordesc_np(error) != nullptr
                                 ? ::strerrordesc_np(error)
                                 : "unknown")
               : fmt::format("? {} (goes on after the signal)",
                             restart_name(error));
  }
  const Signature* const known =
      call.compat ? nullptr : find_signature(call.number);
  const ResultKind kind = known == nullptr ? ResultKind::Number : known->result;
  switch (kind) {
    case ResultKind::Fd:
      return place.descriptors.new_text(result);
    case ResultKind::Address:
      return fmt::format("{:#x}", static_cast<std::uint64_t>(result));
    case ResultKind::Number:
      break;
  }
  if (call.number == SYS_fcntl &&
      (call.args[1] == F_DUPFD || call.args[1] == F_DUPFD_CLOEXEC)) {
    return place.descriptors.new_text(result);
  }
  if (call.number == SYS_fcntl && call.args[1] == F_GETFL) {
    return fmt::format("{:#x} ({})", result,
                       open_flags(static_cast<std::uint64_t>(result)));
  }
  const std::string number = fmt::format("{}", result);
  return result > 0 ? number + Teller{place, call, result}.answer() : number;
}

namespace {

bool is_out(Arg kind, const TracedCall& call) {
  switch (kind) {
    case Arg::IoctlValue:
      return ioctl_fills_in(call.args[1] & kInt);
    case Arg::FdPairOut:
    case Arg::PathOut:
    case Arg::LinkOut:
    case Arg::BytesOut:
    case Arg::VectorsOut:
    case Arg::MessageOut:
    case Arg::SocketAddressOut:
    case Arg::LengthOut:
    case Arg::OptionValueOut:
    case Arg::StatOut:
    case Arg::StatxOut:
    case Arg::TimespecOut:
    case Arg::ItimerspecOut:
    case Arg::EpollEventsOut:
    case Arg::WaitStatusOut:
    case Arg::SiginfoOut:
    case Arg::SignalSetOut:
    case Arg::SignalActionOut:
    case Arg::LimitOut:
    case Arg::SystemNameOut:
      return true;
    default:
      return false;
  }
}

// Without those that mean nothing in that call.
std::size_t argument_count(const Signature& signature, const TracedCall& call) {
  const auto none = std::ranges::find(signature.args, Arg::None);
  auto count = static_cast<std::size_t>(none - signature.args.begin());
  const auto opens = [&](std::size_t flags) {
    return (call.args[flags] & (O_CREAT | O_TMPFILE) & ~O_DIRECTORY) != 0;
  };
  switch (call.number) {
    case SYS_open:
      return opens(1) ? count : count - 1;
    case SYS_openat:
      return opens(2) ? count : count - 1;
    case SYS_fcntl:
      return fcntl_has_value(call.args[1]) ? count : count - 1;
    case SYS_ioctl:
      return ioctl_has_value(call.args[1] & kInt) ? count : count - 1;
    case SYS_futex:
      switch (call.args[1] & static_cast<std::uint32_t>(FUTEX_CMD_MASK)) {
        case FUTEX_WAKE:
        case FUTEX_UNLOCK_PI:
        case FUTEX_TRYLOCK_PI:
          return 3;
        case FUTEX_WAIT:
        case FUTEX_LOCK_PI:
        case FUTEX_LOCK_PI2:
          return 4;
        default:
          return count;
      }
    case SYS_prctl:
      return call.args[0] == PR_SET_NAME ? 2 : count;
    default:
      return count;
  }
}

std::string Teller::text(Arg kind, std::size_t index) const {
  const std::uint64_t word = value(index);
  if (call.number == SYS_prctl && index == 1 && value(0) == PR_SET_NAME) {
    return path_text(place.memory, at(index));
  }
  switch (kind) {
    case Arg::Int:
      return fmt::format("{}", static_cast<std::int32_t>(word));
    case Arg::Long:
      return fmt::format("{}", static_cast<std::int64_t>(word));
    case Arg::Size:
      return fmt::format("{}", word);
    case Arg::Hex:
      return word == 0 ? "0" : fmt::format("{:#x}", word);
    case Arg::Pointer:
      return pointer_text(word);
    default:
      break;
  }
  for (const auto part :
       {&Teller::descriptor_or_path, &Teller::bytes, &Teller::socket,
        &Teller::file, &Teller::memory_or_time, &Teller::waiting,
        &Teller::process_or_signal}) {
    if (std::string told = (this->*part)(kind, index); !told.empty()) {
      return told;
    }
  }
  return number_text(word);
}

std::string Teller::descriptor_or_path(Arg kind, std::size_t index) const {
  const auto number = static_cast<std::int32_t>(value(index));
  switch (kind) {
    case Arg::Fd:
      return place.descriptors.text(number);
    case Arg::DirFd:
      return place.descriptors.folder_text(number);
    case Arg::FdPairOut:
      return fd_pair_text(place.memory, at(index), [this](int fd) {
        return place.descriptors.new_text(fd);
      });
    case Arg::Path:
      return path_text(place.memory, at(index));
    case Arg::PathOut:
      return path_text(place.memory, at(index));
    case Arg::LinkOut:
      return bytes_text(place.memory, at(index), filled(), PATH_MAX);
    default:
      return "";
  }
}

std::string Teller::bytes(Arg kind, std::size_t index) const {
  switch (kind) {
    case Arg::Bytes:
      return bytes_text(place.memory, at(index), value(index + 1),
                        place.most_bytes);
    case Arg::BytesOut:
      return bytes_text(place.memory, at(index), filled(), place.most_bytes);
    case Arg::Vectors:
      return vectors_text(place.memory, at(index), value(index + 1), UINT64_MAX,
                          place.most_bytes);
    case Arg::VectorsOut:
      return vectors_text(place.memory, at(index), value(index + 1), filled(),
                          place.most_bytes);
    case Arg::Message:
      return message_text(place.memory, at(index), UINT64_MAX,
                          place.most_bytes);
    case Arg::MessageOut:
      return message_text(place.memory, at(index), filled(), place.most_bytes);
    case Arg::Strings:
      return strings_text(place.memory, at(index));
    case Arg::Environment:
      return environment_text(place.memory, at(index));
    default:
      return "";
  }
}

std::string Teller::socket(Arg kind, std::size_t index) const {
  const std::uint64_t word = value(index);
  switch (kind) {
    case Arg::SocketAddress:
      return socket_address(index, value(index + 1));
    case Arg::SocketAddressOut:
      return socket_address(index, size_at(index + 1));
    case Arg::LengthOut:
      return int_at_text(place.memory, at(index));
    case Arg::SocketDomain:
      return socket_domain(word);
    case Arg::SocketType:
      return socket_type(word);
    case Arg::SocketProtocol:
      return socket_protocol(value(0), word);
    case Arg::MessageFlags:
      return message_flags(word);
    case Arg::SocketLevel:
      return socket_level(word);
    case Arg::SocketOption:
      return socket_option(value(index - 1), word);
    case Arg::OptionValue:
      return option_value(index, value(index + 1));
    case Arg::OptionValueOut:
      return option_value(index, size_at(index + 1));
    case Arg::ShutdownHow:
      return shutdown_how(word);
    case Arg::AcceptFlags:
      return accept_flags(word);
    default:
      return "";
  }
}

std::string Teller::file(Arg kind, std::size_t index) const {
  const std::uint64_t word = value(index);
  switch (kind) {
    case Arg::OpenFlags:
      return open_flags(word);
    case Arg::OpenHow:
      return open_how_text(place.memory, at(index));
    case Arg::Mode:
    case Arg::FileMode:
      return mode_bits(word);
    case Arg::AccessMode:
      return access_mode(word);
    case Arg::AtFlags:
      return at_flags(word);
    case Arg::Whence:
      return whence(word);
    case Arg::FcntlCommand:
      return fcntl_command(word);
    case Arg::FcntlValue:
      return fcntl_value_text(place.memory, value(index - 1), word);
    case Arg::IoctlRequest:
      return ioctl_request(word);
    case Arg::IoctlValue:
      return ioctl_value_text(place.memory, value(index - 1) & kInt, word);
    case Arg::FlockOperation:
      return flock_operation(word);
    case Arg::StatOut:
      return stat_text(place.memory, at(index));
    case Arg::StatxMask:
      return statx_mask(word);
    case Arg::StatxOut:
      return statx_text(place.memory, at(index));
    case Arg::PipeFlags:
    case Arg::DupFlags:
      return creation_flags(word);
    case Arg::RenameFlags:
      return rename_flags(word);
    default:
      return "";
  }
}

std::string Teller::memory_or_time(Arg kind, std::size_t index) const {
  const std::uint64_t word = value(index);
  switch (kind) {
    case Arg::Protection:
      return protection(word);
    case Arg::MapFlags:
      return map_flags(word);
    case Arg::Advice:
      return advice(word);
    case Arg::MemfdFlags:
      return memfd_flags(word);
    case Arg::Timespec:
    case Arg::TimespecOut:
      return timespec_text(place.memory, at(index));
    case Arg::Timeval:
      return timeval_text(place.memory, at(index));
    case Arg::Itimerspec:
    case Arg::ItimerspecOut:
      return itimerspec_text(place.memory, at(index));
    case Arg::Millis:
      return fmt::format("{}", static_cast<std::int32_t>(word));
    case Arg::ClockId:
      return clock_name(word);
    case Arg::TimerFlags:
      return timer_flags(word);
    case Arg::TimerfdFlags:
      return timerfd_flags(word);
    case Arg::TimerfdSetFlags:
      return timerfd_set_flags(word);
    default:
      return "";
  }
}

std::string Teller::waiting(Arg kind, std::size_t index) const {
  const std::uint64_t word = value(index);
  switch (kind) {
    case Arg::FutexOperation:
      return futex_operation(word);
    case Arg::FutexTimeout:
      return futex_timeout(index);
    case Arg::PollSet:
      return poll_set_text(place.memory, at(index), value(index + 1), false,
                           names());
    case Arg::FdSet:
      return fd_set_text(place.memory, at(index), value(0), names());
    case Arg::EpollOperation:
      return epoll_operation(word);
    case Arg::EpollEvent:
      return epoll_events_text(place.memory, at(index), 1);
    case Arg::EpollEventsOut:
      return epoll_events_text(place.memory, at(index), filled());
    case Arg::EpollFlags:
      return epoll_flags(word);
    case Arg::EventfdFlags:
      return eventfd_flags(word);
    case Arg::SignalfdFlags:
      return signalfd_flags(word);
    default:
      return "";
  }
}

std::string Teller::process_or_signal(Arg kind, std::size_t index) const {
  const std::uint64_t word = value(index);
  switch (kind) {
    case Arg::CloneFlags:
      return clone_flags(word);
    case Arg::CloneArguments:
      return clone_arguments_text(place.memory, at(index));
    case Arg::WaitStatusOut:
      return *result > 0 ? wait_status_text(place.memory, at(index))
                         : pointer_text(word);
    case Arg::WaitOptions:
      return wait_options(word);
    case Arg::IdType:
      return id_type(word);
    case Arg::SiginfoOut:
      return siginfo_text(place.memory, at(index));
    case Arg::Signal:
      return sent_signal(word);
    case Arg::SignalHow:
      return signal_how(word);
    case Arg::SignalSet:
    case Arg::SignalSetOut:
      return signal_set_text(place.memory, at(index));
    case Arg::MaskAndSize:
      return mask_and_size_text(place.memory, at(index));
    case Arg::SignalAction:
    case Arg::SignalActionOut:
      return signal_action_text(place.memory, at(index));
    case Arg::PrctlOption:
      return prctl_option(word);
    case Arg::ArchPrctlOption:
      return arch_prctl_option(word);
    case Arg::Resource:
      return resource(word);
    case Arg::Limit:
    case Arg::LimitOut:
      return limit_text(place.memory, at(index));
    case Arg::SystemNameOut:
      return system_name_text(place.memory, at(index));
    case Arg::RandomFlags:
      return random_flags(word);
    case Arg::UsageWho:
      return usage_who(word);
    default:
      return "";
  }
}

// Or how many to move to another futex.
std::string Teller::futex_timeout(std::size_t index) const {
  switch (value(1) & static_cast<std::uint32_t>(FUTEX_CMD_MASK)) {
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_CMP_REQUEUE_PI:
    case FUTEX_WAKE_OP:
      return number_text(value(index));
    default:
      return timespec_text(place.memory, at(index));
  }
}

// What is ready, and how much of the time was left: these calls put it where
// they were asked.
std::string Teller::answer() const {
  const bool selects = call.number == SYS_select || call.number == SYS_pselect6;
  if (!selects && call.number != SYS_ppoll) {
    return "";
  }
  std::string told;
  const auto tell = [&](std::string_view what, Arg kind, std::size_t index) {
    if (value(index) != 0) {
      told += fmt::format("{}{} {}", told.empty() ? "" : ", ", what,
                          text(kind, index));
    }
  };
  if (selects) {
    tell("in", Arg::FdSet, 1);
    tell("out", Arg::FdSet, 2);
    tell("except", Arg::FdSet, 3);
  }
  tell("left", call.number == SYS_select ? Arg::Timeval : Arg::Timespec,
       selects ? 4 : 2);
  return told.empty() ? "" : " (" + told + ")";
}

// Most options are an int.
std::string Teller::option_value(std::size_t index, std::size_t size) const {
  return size == sizeof(int)
             ? int_at_text(place.memory, at(index))
             : bytes_text(place.memory, at(index), size, place.most_bytes);
}

std::string Teller::socket_address(std::size_t index, std::size_t size) const {
  std::vector<std::byte> address(
      std::min<std::size_t>(size, sizeof(sockaddr_storage)));
  if (value(index) == 0 || address.empty() ||
      !place.memory.read(at(index), address)) {
    return pointer_text(value(index));
  }
  return socket_address_text(address);
}

std::size_t Teller::size_at(std::size_t index) const {
  const auto size = place.memory.read_value<std::uint32_t>(at(index));
  return size ? *size : 0;
}

}  // namespace
}  // namespace hangdbg
