#include "tracee/host/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/fd.h"
#include "base/text.h"

namespace hangdbg {
namespace {

// "task=python3" in "oom-kill:constraint=...,task=python3,pid=12,uid=0".
std::string_view value_in(std::string_view text, std::string_view key) {
  for (const std::string_view word : split(text, ',')) {
    const auto equals = word.find('=');
    if (equals != word.npos && word.substr(0, equals) == key) {
      return word.substr(equals + 1);
    }
  }
  return {};
}

void take_killed(std::string_view text, KernelEvent& event) {
  event.pid = parse_number<int>(value_in(text, "pid")).value_or(0);
  event.name = value_in(text, "task");
  if (text.find("CONSTRAINT_MEMCG") != text.npos) {
    event.cgroup = value_in(text, "task_memcg");
  }
}

// "INFO: task python3:1234 blocked for more than 120 seconds."
void take_blocked(std::string_view text, KernelEvent& event) {
  const auto begin = text.find("task ") + 5;
  const std::string_view task =
      text.substr(begin, text.find(" blocked for") - begin);
  const auto colon = task.rfind(':');
  if (colon != task.npos) {
    event.name = task.substr(0, colon);
    event.pid = parse_number<int>(task.substr(colon + 1)).value_or(0);
  }
}

// "NVRM: Xid (PCI:0000:65:00): 79, pid='1234', name=python, GPU has ..."
void take_gpu_error(std::string_view text, KernelEvent& event) {
  const auto number = [](std::string_view digits) {
    return parse_number<int>(
               digits.substr(0, digits.find_first_not_of("0123456789")))
        .value_or(0);
  };
  constexpr std::string_view kBeforeXid = "): ";
  if (const auto bus = text.find(kBeforeXid); bus != text.npos) {
    event.xid = number(text.substr(bus + kBeforeXid.size()));
  }
  const auto at = text.find("pid=");
  if (at != text.npos) {
    std::string_view rest = text.substr(at + 4);
    rest.remove_prefix(rest.starts_with('\'') ? 1 : 0);
    event.pid = number(rest);
  }
}

}  // namespace

Result<std::vector<KernelEvent>> read_kernel_events() {
  const Fd log(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!log) {
    return fail_errno("cannot read /dev/kmsg", errno == EPERM || errno == EACCES
                                                   ? ErrorId::NotPermitted
                                                   : ErrorId::System);
  }
  constexpr std::size_t kMostRecords = 200000;
  std::vector<KernelEvent> events;
  std::array<char, 8192> record;  // the longest there is (CONSOLE_EXT_LOG_MAX)
  for (std::size_t i = 0; i < kMostRecords; ++i) {
    const ssize_t got = ::read(log.get(), record.data(), record.size());
    if (got <= 0) {
      if (got < 0 && (errno == EPIPE || errno == EINTR)) {
        continue;  // others were written over it
      }
      break;
    }
    if (auto event = parse_kernel_record(
            {record.data(), static_cast<std::size_t>(got)})) {
      events.push_back(*std::move(event));
    }
  }
  return events;
}

bool kernel_log_has_our_pids() {
  constexpr std::string_view kFirst = "pid:[4026531836]";
  std::array<char, 64> link{};
  const ssize_t size =
      ::readlink("/proc/self/ns/pid", link.data(), link.size());
  return size > 0 && std::string_view(link.data(),
                                      static_cast<std::size_t>(size)) == kFirst;
}

std::optional<KernelEvent> parse_kernel_record(std::string_view record) {
  const auto semicolon = record.find(';');
  const auto head = split(record.substr(0, semicolon), ',');
  if (semicolon == record.npos || head.size() < 3) {
    return {};
  }
  std::string_view text = record.substr(semicolon + 1);
  text = text.substr(0, text.find('\n'));
  KernelEvent event{.text = std::string(text)};
  event.at_s =
      static_cast<double>(parse_number<long long>(head[2]).value_or(0)) / 1e6;
  if (text.starts_with("oom-kill:")) {
    take_killed(text, event);
  } else if (text.starts_with("NVRM: Xid")) {
    event.kind = KernelEvent::Kind::GpuError;
    take_gpu_error(text, event);
  } else if (text.starts_with("INFO: task ") &&
             text.find(" blocked for more than ") != text.npos) {
    event.kind = KernelEvent::Kind::Blocked;
    take_blocked(text, event);
  } else {
    return {};
  }
  return event;
}

}  // namespace hangdbg
