#include "tracee/proc/proc_status.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/fd.h"
#include "base/text.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

std::uint64_t number(const std::string& text, int base = 10) {
  return std::strtoull(text.c_str(), nullptr, base);
}

void set_field(ProcStatus& status,
               std::string_view key,
               const std::string& value) {
  if (key == "Name") {
    status.name = value;
  } else if (key == "State") {
    status.state = value.empty() ? '?' : value[0];
  } else if (key == "Tgid") {
    status.tgid = static_cast<int>(number(value));
  } else if (key == "PPid") {
    status.ppid = static_cast<int>(number(value));
  } else if (key == "TracerPid") {
    status.tracer_pid = static_cast<int>(number(value));
  } else if (key == "Uid") {
    auto& uids = status.uids;
    std::sscanf(value.c_str(), "%u %u %u %u", &uids[0], &uids[1], &uids[2],
                &uids[3]);
  } else if (key == "Threads") {
    status.threads = static_cast<int>(number(value));
  } else if (key == "Seccomp") {
    status.seccomp = static_cast<int>(number(value));
  } else if (key == "Seccomp_filters") {
    status.seccomp_filters = static_cast<int>(number(value));
  } else if (key == "CapPrm") {
    status.capabilities = number(value, 16);
  } else if (key == "CapEff") {
    status.effective_capabilities = number(value, 16);
  } else if (key == "SigPnd") {
    status.signals_pending = number(value, 16);
  } else if (key == "ShdPnd") {
    status.signals_pending_for_all = number(value, 16);
  } else if (key == "SigBlk") {
    status.signals_blocked = number(value, 16);
  } else if (key == "SigIgn") {
    status.signals_ignored = number(value, 16);
  } else if (key == "SigCgt") {
    status.signals_caught = number(value, 16);
  } else if (key == "Cpus_allowed_list") {
    status.cpus_allowed = value;
  } else if (key == "voluntary_ctxt_switches") {
    status.voluntary_switches = number(value);
  } else if (key == "nonvoluntary_ctxt_switches") {
    status.involuntary_switches = number(value);
  } else if (key == "FDSize") {
    status.descriptor_slots = static_cast<int>(number(value));
  } else if (key == "VmSize") {
    status.has_memory = true;
    status.address_space = number(value) * 1024;
  } else if (key == "VmData") {
    status.data = number(value) * 1024;
  }
}

}  // namespace

Result<ProcStatus> read_status(int pid) {
  return parse_status(TRY(read_proc_record(pid, "status")));
}

Result<ProcStatus> read_task_status(int pid, int tid) {
  return parse_status(
      TRY(read_proc_record(pid, fmt::format("task/{}/status", tid))));
}

bool ends_before(int pid, Deadline deadline) {
  const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (pidfd) {
    pollfd one{pidfd.get(), POLLIN, 0};
    return ::poll(&one, 1, deadline.left_ms()) > 0;
  }
  const auto status = read_status(pid);  // gone, or a kernel before 5.3
  return !status || status->state == 'Z' || status->state == 'X';
}

std::string process_text(int pid) {
  const auto status = read_status(pid);
  return status ? fmt::format("process {} ({})", pid, printable(status->name))
                : fmt::format("process {}", pid);
}

ProcStatus parse_status(const std::string& text) {
  ProcStatus status;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::size_t colon = line.find(":\t");
    if (colon != line.npos) {
      set_field(status, line.substr(0, colon),
                std::string(line.substr(colon + 2)));
    }
  }
  return status;
}

}  // namespace hangdbg
