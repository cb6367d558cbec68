#include "tracee/syscalls/call_set.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "base/text.h"
#include "tracee/syscalls/signature.h"
#include "tracee/syscalls/syscall_names.h"

namespace hangdbg {
namespace {

// What takes a path, or a descriptor, is told by the signatures.
constexpr std::string_view kNetwork =
    "socket socketpair connect bind listen accept accept4 sendto recvfrom "
    "sendmsg recvmsg sendmmsg recvmmsg shutdown getsockname getpeername "
    "setsockopt getsockopt";
constexpr std::string_view kProcess =
    "fork vfork clone clone3 execve execveat exit exit_group wait4 waitid kill "
    "tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open "
    "pidfd_send_signal";
constexpr std::string_view kMemory =
    "mmap munmap mprotect mremap madvise brk msync mlock mlock2 munlock "
    "mlockall munlockall mincore mbind get_mempolicy set_mempolicy "
    "migrate_pages move_pages remap_file_pages pkey_mprotect shmat shmdt "
    "process_madvise io_uring_register mseal";
constexpr std::string_view kSignal =
    "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait "
    "rt_sigqueueinfo rt_sigsuspend rt_tgsigqueueinfo sigaltstack signalfd "
    "signalfd4 kill tkill tgkill pause pidfd_send_signal";
constexpr std::string_view kIpc =
    "semget semop semctl semtimedop shmget shmat shmctl shmdt msgget msgsnd "
    "msgrcv msgctl";

constexpr Arg kPaths[] = {Arg::Path, Arg::PathOut};
constexpr Arg kDescriptors[] = {Arg::Fd, Arg::DirFd, Arg::FdPairOut};
// They work on descriptors without having one for an argument.
constexpr std::string_view kDescriptorsToo =
    "select pselect6 poll ppoll close_range";

using Numbers = std::bitset<512>;

std::optional<Numbers> find(std::string_view word);
Numbers of_names(std::string_view names);
Numbers with_arguments(std::span<const Arg> kinds, bool results);

}  // namespace

CallSet CallSet::all() {
  CallSet set;
  set.numbers_.set();
  return set;
}

Result<CallSet> CallSet::parse(std::string_view text) {
  constexpr std::string_view kStrace = "trace=";
  if (text.starts_with(kStrace)) {
    text.remove_prefix(kStrace.size());
  }
  if (text == "all") {
    return all();
  }
  const bool all_but = text.starts_with('!');
  text.remove_prefix(all_but ? 1 : 0);
  CallSet set = all_but ? all() : CallSet();
  for (std::string_view word : split(text, ',')) {
    const bool without = word.starts_with('!');
    word.remove_prefix(without ? 1 : 0);
    const auto named = find(word);
    if (!named) {
      return fail(ErrorId::Usage,
                  fmt::format("there is no system call or class \"{}\"",
                              printable(word)),
                  "hangdbg trace --help has the classes; man 2 syscalls");
    }
    if (all_but || without) {
      set.numbers_ &= ~*named;
    } else {
      set.numbers_ |= *named;
    }
  }
  return set;
}

// One that is newer than all that we know is in no class.
bool CallSet::contains(long number) const {
  return number >= 0 && number < static_cast<long>(kMost) &&
         numbers_.test(static_cast<std::size_t>(number));
}

namespace {

std::optional<Numbers> find(std::string_view word) {
  if (const auto number = syscall_number(word)) {
    return Numbers().set(static_cast<std::size_t>(*number));
  }
  word.remove_prefix(word.starts_with('%') ? 1 : 0);
  if (word == "file") {
    return with_arguments(kPaths, false);
  }
  if (word == "desc") {
    return with_arguments(kDescriptors, true) | of_names(kDescriptorsToo);
  }
  if (word == "network" || word == "net") {
    return of_names(kNetwork);
  }
  if (word == "process") {
    return of_names(kProcess);
  }
  if (word == "memory") {
    return of_names(kMemory);
  }
  if (word == "signal") {
    return of_names(kSignal);
  }
  if (word == "ipc") {
    return of_names(kIpc);
  }
  return {};
}

Numbers of_names(std::string_view names) {
  Numbers numbers;
  for (const std::string_view name : split_words(names)) {
    numbers.set(static_cast<std::size_t>(syscall_number(name).value()));
  }
  return numbers;
}

Numbers with_arguments(std::span<const Arg> kinds, bool results) {
  Numbers numbers;
  for (std::size_t number = 0; number < numbers.size(); ++number) {
    const Signature* const known = find_signature(static_cast<long>(number));
    if (known == nullptr) {
      continue;
    }
    const bool has = std::ranges::any_of(known->args, [&](Arg arg) {
      return std::ranges::find(kinds, arg) != kinds.end();
    });
    if (has || (results && known->result == ResultKind::Fd)) {
      numbers.set(number);
    }
  }
  return numbers;
}

}  // namespace
}  // namespace hangdbg
