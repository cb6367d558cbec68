#include "inspector/host/host_context.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <string_view>
#include <thread>
#include <utility>

#include "base/parallel_map.h"
#include "base/secrets.h"
#include "inspector/host/machine.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {
namespace {

// What a part has found, put where it belongs.
using Put = std::function<void(HostContext&)>;

struct Part {
  std::string_view name;
  Depth depth;  // from which on it is read
  bool memory;  // it waits for the process's memory map, as in state D
  Result<Put> (*read)(int pid, Depth depth);
};

// ---- the parts

// Files that it has read count, too: it may go round in these.
bool is_full(const CgroupMemory& memory) {
  constexpr double kFull = 0.9;
  const auto limit =
      std::min(memory.max.value_or(~0ULL), memory.high.value_or(~0ULL));
  return static_cast<double>(memory.current) >=
         kFull * static_cast<double>(limit);
}

void look_again(const Cgroups& groups, CgroupState& state) {
  constexpr auto kWindow = std::chrono::milliseconds(300);  // three periods
  std::this_thread::sleep_for(kWindow);
  auto cpu = read_cgroup_cpu(groups);
  if (cpu && state.cpu && state.cpu->cpus) {
    state.throttling = throttling_between(*state.cpu, *cpu, kWindow);
    state.cpu = std::move(cpu);
  }
  auto memory = read_cgroup_memory(groups);
  if (memory && state.memory && memory->folder == state.memory->folder) {
    state.memory_reached =
        memory->reached - std::min(memory->reached, state.memory->reached);
    state.memory = std::move(memory);
  }
}

Result<Put> read_cgroup(int pid, Depth) {
  const Cgroups groups = TRY(Cgroups::read(pid));
  CgroupState state{.memory = read_cgroup_memory(groups),
                    .cpu = read_cgroup_cpu(groups),
                    .pids = read_cgroup_pids(groups),
                    .frozen = find_frozen(pid)};
  const Cgroup* const unified = groups.unified();
  if (unified != nullptr) {
    state.memory_pressure = read_pressure(unified->folder + "/memory.pressure");
  }
  // Only a group that was throttled before, or is near its limit, may be now.
  const bool throttled =
      state.cpu && state.cpu->cpus && state.cpu->throttled_periods > 0;
  if (throttled || (state.memory && is_full(*state.memory))) {
    look_again(groups, state);
  }
  return [state = std::move(state)](HostContext& into) { into.cgroup = state; };
}

Result<Put> read_command(int pid, Depth) {
  return [words = masked_words(read_command_line(pid))](HostContext& into) {
    into.command_line = words;
  };
}

Result<Put> read_own_limits(int pid, Depth) {
  Limits limits{.at_most = TRY(read_limits(pid)),
                .open_files = TRY(count_open_files(pid))};
  const ProcStatus status = TRY(read_status(pid));
  constexpr std::uint64_t kExempt = (1ULL << 21) | (1ULL << 24);
  // CAP_SYS_ADMIN, CAP_SYS_RESOURCE, and root (kernel/fork.c)
  if (limits.at_most.processes && status.uids[0] != 0 &&
      (status.effective_capabilities & kExempt) == 0) {
    limits.user_threads = count_user_threads(status.uids[0]);
  }
  return [limits](HostContext& into) { into.limits = limits; };
}

Result<Put> read_machine_part(int pid, Depth) {
  return [machine = read_machine(pid)](HostContext& into) {
    into.machine = machine;
  };
}

Result<Put> read_libraries_part(int pid, Depth depth) {
  auto found =
      TRY(depth == Depth::Whole ? read_libraries(pid) : list_libraries(pid));
  return
      [found = std::move(found)](HostContext& into) { into.libraries = found; };
}

Result<Put> read_variables_part(int pid, Depth) {
  return [found = TRY(read_variables(pid))](HostContext& into) {
    into.variables = found;
  };
}

Result<Put> read_files(int pid, Depth depth) {
  constexpr std::size_t kQuick = 2000;  // descriptors
  if (depth == Depth::Quick && TRY(count_open_files(pid)) > kQuick) {
    return fail(ErrorId::System, "there are very many: hangdbg host");
  }
  const OpenFiles open = TRY(read_open_files(pid));
  const auto most = TRY(read_limits(pid)).file_size;
  std::vector<DeletedFile> deleted;
  std::vector<std::string> full;
  for (const OpenFile& file : open.files) {
    if (file.deleted && file.kind == FileKind::File) {
      deleted.push_back({file.fd, file.name});
    }
    if (most && file.kind == FileKind::File && file.writes() &&
        file.position >= *most) {
      full.push_back(file.name);
    }
  }
  auto systems = read_file_systems(pid, open.files);
  return [=](HostContext& into) {
    into.deleted = deleted;
    into.full_files = full;
    into.file_systems = systems;
  };
}

Result<Put> read_interfaces_part(int pid, Depth) {
  return [found = TRY(read_network_interfaces(pid))](HostContext& into) {
    into.interfaces = found;
  };
}

Result<Put> read_infiniband_part(int, Depth) {
  return [found = read_infiniband()](HostContext& into) {
    into.infiniband = found;
  };
}

// Where there is no nvidia-smi, there are no GPUs for us.
Result<Put> read_gpus_part(int pid, Depth) {
  constexpr auto kMost = std::chrono::seconds(4);
  auto found = read_gpus(pid, Deadline::in(kMost));
  const bool hang = !found && found.error().id == ErrorId::TimedOut;
  if (!found && !hang && found.error().errno_value != ENOENT) {
    return std::unexpected(std::move(found).error());
  }
  return [hang, gpus = std::move(found).value_or(std::vector<Gpu>())](
             HostContext& into) {
    into.gpus = gpus;
    into.gpus_hang = hang;
  };
}

// The kernel's log is often kept from us; that is not worth a word.
Result<Put> read_kernel_part(int pid, Depth) {
  auto events = read_kernel_events().value_or(std::vector<KernelEvent>());
  if (!kernel_log_has_our_pids()) {
    for (KernelEvent& event : events) {
      if (event.kind != KernelEvent::Kind::KilledForMemory) {
        event.pid = 0;  // of another namespace
      }
    }
  }
  const auto stat = TRY(read_task_stat(pid, pid));
  const double begun = static_cast<double>(stat.start_ticks) /
                       static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto groups = Cgroups::read(pid);
  const Cgroup* const memory = groups ? groups->find("memory") : nullptr;
  std::erase_if(events, [&](const KernelEvent& event) {
    const bool here =
        event.kind == KernelEvent::Kind::KilledForMemory
            ? event.cgroup.empty() ||
                  (memory != nullptr && event.cgroup == memory->path)
            : event.kind == KernelEvent::Kind::GpuError || event.pid == pid;
    return event.at_s < begun || !here;
  });
  return [events = std::move(events)](HostContext& into) {
    into.kernel_events = events;
  };
}

constexpr Part kParts[] = {
    {"its command line", Depth::Whole, true, read_command},
    {"its cgroups", Depth::Quick, false, read_cgroup},
    {"its limits", Depth::Quick, false, read_own_limits},
    {"the machine", Depth::Quick, false, read_machine_part},
    {"its libraries", Depth::Quick, true, read_libraries_part},
    {"its environment", Depth::Quick, true, read_variables_part},
    {"its files", Depth::Quick, false, read_files},
    {"its network", Depth::Quick, false, read_interfaces_part},
    {"the kernel's log", Depth::Quick, false, read_kernel_part},
    {"InfiniBand", Depth::Quick, false, read_infiniband_part},
    {"GPUs", Depth::Whole, false, read_gpus_part},
};

}  // namespace

Result<HostContext> read_host_context(int pid, Depth depth, Deadline deadline) {
  HostContext found{.pid = pid,
                    .status = TRY(read_status(pid)),
                    .usage = TRY(read_usage(pid))};
  std::vector<int> parts;
  for (int i = 0; i < static_cast<int>(std::size(kParts)); ++i) {
    const bool waits =
        depth == Depth::Quick && kParts[i].memory && found.status.state == 'D';
    if (kParts[i].depth <= depth && !waits) {
      parts.push_back(i);
    }
  }
  parallel_map<Put>(
      parts, deadline,
      [pid, depth](int part) { return kParts[part].read(pid, depth); },
      [&](int part, std::optional<Result<Put>> put) {
        if (put && *put) {
          (**put)(found);
          return;
        }
        found.skipped.push_back(
            fmt::format("{}: {}", kParts[part].name,
                        put ? put->error().text() : "not read in time"));
      });
  return found;
}

}  // namespace hangdbg
