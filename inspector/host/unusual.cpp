#include "inspector/host/unusual.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <string_view>

#include "base/sizes.h"
#include "base/text.h"
#include "inspector/host/known_hangs.h"
#include "tracee/proc/proc_status.h"
#include "tracee/proc/signals.h"

namespace hangdbg {
namespace {

using Said = std::vector<std::string>;

void tell_memory(const CgroupState& group, Said& lines) {
  constexpr double kNear = 0.95;
  constexpr double kStalled = 20;  // percent of the time
  if (!group.memory) {
    return;
  }
  const CgroupMemory& memory = *group.memory;
  if (memory.waits_for_memory) {
    lines.push_back(
        fmt::format("cgroup: no memory is left of {}, its OOM killer is off, "
                    "and who wants more waits",
                    human_size(memory.max.value_or(0))));
  } else if (group.memory_reached > 0) {
    lines.push_back(fmt::format(
        "cgroup: its limit of {} memory was reached {} times while we looked",
        human_size(
            std::min(memory.max.value_or(~0ULL), memory.high.value_or(~0ULL))),
        group.memory_reached));
  } else if (memory.used() >= kNear) {
    lines.push_back(fmt::format(
        "cgroup: {} of {} memory are used; the limit was reached {} times",
        human_size(memory.current),
        human_size(
            std::min(memory.max.value_or(~0ULL), memory.high.value_or(~0ULL))),
        memory.reached));
  }
  if (memory.oom_kills > 0) {
    lines.push_back(
        fmt::format("cgroup: the kernel has killed {} process{} in it, as it "
                    "was out of memory",
                    memory.oom_kills, memory.oom_kills == 1 ? "" : "es"));
  }
  if (group.memory_pressure && group.memory_pressure->full.avg10 >= kStalled) {
    lines.push_back(
        fmt::format("cgroup: all its processes waited for memory "
                    "for {:.0f} % of the last 10 s",
                    group.memory_pressure->full.avg10));
  }
}

void tell_cgroup(const CgroupState& group, Said& lines) {
  constexpr double kThrottled = 0.3;  // of the periods
  if (group.frozen) {
    lines.push_back(fmt::format("cgroup: frozen ({})", group.frozen->path));
  }
  tell_memory(group, lines);
  if (group.throttling && group.throttling->share >= kThrottled) {
    lines.push_back(fmt::format(
        "cgroup: CPU throttled in {:.0f} % of the periods of the last {} ms; "
        "it may use {:.2g} CPUs",
        100 * group.throttling->share, group.throttling->window.count(),
        group.cpu->cpus.value_or(0)));
  }
  if (group.pids && group.pids->max &&
      group.pids->current >= *group.pids->max) {
    lines.push_back(fmt::format(
        "cgroup: {} of {} threads and processes are there: no new one can be "
        "begun",
        group.pids->current, *group.pids->max));
  }
}

void tell_limits(const Limits& limits, Said& lines) {
  const auto most = limits.at_most.open_files;
  if (most && limits.open_files >= *most - *most / 20) {
    lines.push_back(fmt::format("limits: {} of {} descriptors are open",
                                limits.open_files, *most));
  }
  const auto threads = limits.at_most.processes;
  if (threads && limits.user_threads.value_or(0) >= *threads) {
    lines.push_back(fmt::format("limits: its user has {} of {} threads",
                                *limits.user_threads, *threads));
  }
}

void tell_files(const HostContext& around, Said& lines) {
  for (const FileSystem& one : around.file_systems) {
    if (!one.is_full()) {
      continue;
    }
    const bool bytes = one.bytes_left < one.bytes / 100;
    lines.push_back(fmt::format(
        "{} is full: {} left{}", one.point,
        bytes ? fmt::format("{} of {}", human_size(one.bytes_left),
                            human_size(one.bytes))
              : fmt::format("{} of {} files", one.files_left, one.files),
        one.use.empty() ? "" : "; it writes there (" + one.use + ")"));
  }
  for (const std::string& name : around.full_files) {
    lines.push_back(
        fmt::format("limits: {} is as long as a file of it may be", name));
  }
}

void tell_process(const HostContext& around, Said& lines) {
  const ProcStatus& status = around.status;
  const std::uint64_t held_back =
      (around.usage.shared_pending | around.usage.pending) &
      status.signals_blocked;
  if (held_back != 0) {
    lines.push_back(fmt::format("signals: {} came, and {} blocked",
                                fmt::join(signal_names(held_back), ", "),
                                std::popcount(held_back) == 1 ? "is" : "are"));
  }
  if (status.tracer_pid != 0) {
    lines.push_back(
        fmt::format("it is traced by {}", process_text(status.tracer_pid)));
  }
  constexpr std::uint64_t kMuch = 1 << 17;  // KiB
  if (around.usage.swapped_kib >= kMuch &&
      around.usage.swapped_kib >= around.usage.resident_kib / 4) {
    lines.push_back(fmt::format("swap: {} of it, {} in memory",
                                human_size(around.usage.swapped_kib << 10),
                                human_size(around.usage.resident_kib << 10)));
  }
}

void tell_machine(const HostContext& around, Said& lines) {
  const Machine& machine = around.machine;
  constexpr int kManyThreads = 8;
  if (machine.allowed_cpus == 1 && machine.cpus > 1 &&
      around.status.threads >= kManyThreads) {
    lines.push_back(fmt::format("its {} threads may use 1 of {} CPUs",
                                around.status.threads, machine.cpus));
  }
  constexpr double kBusy = 8;  // load for each CPU
  if (machine.cpus > 0 && machine.load >= kBusy * machine.cpus) {
    lines.push_back(fmt::format("machine: load {:.0f} on {} CPUs", machine.load,
                                machine.cpus));
  }
  constexpr double kStalled = 20;  // percent
  if (machine.memory_pressure &&
      machine.memory_pressure->full.avg10 >= kStalled) {
    lines.push_back(
        fmt::format("machine: everybody waited for memory for "
                    "{:.0f} % of the last 10 s",
                    machine.memory_pressure->full.avg10));
  }
  if (machine.memory_kib > 0 &&
      machine.available_kib < machine.memory_kib / 50) {
    lines.push_back(fmt::format("machine: {} of {} memory are left",
                                human_size(machine.available_kib << 10),
                                human_size(machine.memory_kib << 10)));
  }
}

std::string ago(double at_s) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::chrono::duration<double> passed(
      std::max(0.0, static_cast<double>(now.tv_sec) - at_s));
  return human_duration(
             std::chrono::duration_cast<std::chrono::nanoseconds>(passed)) +
         " ago";
}

// Errors of a program's own work, after which the driver refuses all that it
// asks for (NVIDIA, "XID Errors").
bool ends_context(int xid) {
  constexpr std::array<int, 5> kXids = {13, 31, 43, 45, 94};
  return std::ranges::find(kXids, xid) != kXids.end();
}

void tell_dead_context(const HostContext& around, Said& lines) {
  for (const KernelEvent& event : around.kernel_events) {
    if (event.kind == KernelEvent::Kind::GpuError && event.pid == around.pid &&
        ends_context(event.xid)) {
      lines.push_back(fmt::format(
          "its CUDA context died {}, by an error on the GPU (Xid {}): each "
          "CUDA "
          "call fails since; CUDA_LAUNCH_BLOCKING=1 at the next run shows the "
          "call that causes it",
          ago(event.at_s), event.xid));
      return;
    }
  }
}

void tell_kernel(const std::vector<KernelEvent>& events, Said& lines) {
  constexpr std::size_t kMost = 3;  // the last of them
  const std::size_t first = events.size() - std::min(events.size(), kMost);
  for (std::size_t i = first; i < events.size(); ++i) {
    const KernelEvent& event = events[i];
    lines.push_back(
        event.kind == KernelEvent::Kind::KilledForMemory
            ? fmt::format("kernel: it killed process {} ({}) {}, as {} was out "
                          "of memory",
                          event.pid, event.name, ago(event.at_s),
                          event.cgroup.empty() ? "the machine" : "the cgroup")
            : fmt::format("kernel, {}: {}", ago(event.at_s), event.text));
  }
}

void tell_adapters(const HostContext& around, Said& lines) {
  for (const InfinibandPort& port : around.infiniband) {
    const auto downed = port.errors.find("link_downed");
    const std::string lost =
        downed == port.errors.end()
            ? ""
            : fmt::format("lost its link {} {}", downed->second,
                          downed->second == 1 ? "time" : "times");
    // Whose cable was never in is none of those that are used.
    const bool used = !lost.empty() ||
                      (port.physical != "Disabled" &&
                       port.physical != "Polling" && port.physical != "Sleep");
    const std::string name =
        fmt::format("InfiniBand: port {} of {}", port.port, port.device);
    if (port.state != "ACTIVE" && used) {
      lines.push_back(fmt::format("{} is {}, {}{}", name, port.state,
                                  port.physical,
                                  lost.empty() ? "" : ", and " + lost));
    } else if (port.state == "ACTIVE" && !lost.empty()) {
      lines.push_back(name + " " + lost);
    }
  }
  if (around.gpus_hang) {
    lines.push_back("GPUs: nvidia-smi does not answer: the driver hangs");
  }
  for (std::string& one :
       missing_interfaces(around.variables, around.interfaces)) {
    lines.push_back(std::move(one));
  }
}

}  // namespace

std::vector<std::string> environment_warnings(const HostContext& around) {
  Said lines;
  tell_cgroup(around.cgroup, lines);
  tell_limits(around.limits, lines);
  tell_files(around, lines);
  tell_process(around, lines);
  for (std::string& clash : library_clashes(around.libraries)) {
    lines.push_back("libraries: " + std::move(clash));
  }
  if (value_of(around.variables, "CUDA_LAUNCH_BLOCKING") == "1") {
    lines.push_back("CUDA_LAUNCH_BLOCKING=1: each kernel is waited for");
  }
  for (std::string& known : known_hangs(around.libraries, around.variables)) {
    lines.push_back("libraries: " + std::move(known));
  }
  tell_adapters(around, lines);
  tell_dead_context(around, lines);
  tell_kernel(around.kernel_events, lines);
  tell_machine(around, lines);
  return lines;
}

}  // namespace hangdbg
