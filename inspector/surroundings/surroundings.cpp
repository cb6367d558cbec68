#include "inspector/surroundings/surroundings.h"

#include <fmt/core.h>

#include <chrono>
#include <functional>
#include <string_view>
#include <thread>
#include <utility>

#include "base/in_parallel.h"
#include "base/secrets.h"
#include "inspector/surroundings/machine.h"
#include "tracee/proc_file.h"

namespace hangdbg {
namespace {

// What a part has found, put where it belongs.
using Put = std::function<void(Surroundings&)>;

struct Part {
  std::string_view name;
  Depth depth;  // from which on it is read
  Result<Put> (*read)(int pid, Depth depth);
};

// ---- the parts

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
  // Only who has been throttled ever may be so now.
  if (state.cpu && state.cpu->cpus && state.cpu->throttled_periods > 0) {
    constexpr auto kWindow = std::chrono::milliseconds(300);  // three periods
    std::this_thread::sleep_for(kWindow);
    if (auto later = read_cgroup_cpu(groups)) {
      state.throttling = throttling_between(*state.cpu, *later, kWindow);
      state.cpu = std::move(later);
    }
  }
  return
      [state = std::move(state)](Surroundings& into) { into.cgroup = state; };
}

Result<Put> read_command(int pid, Depth) {
  return [words = masked_words(read_command_line(pid))](Surroundings& into) {
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
  return [limits](Surroundings& into) { into.limits = limits; };
}

Result<Put> read_machine_part(int pid, Depth) {
  return [machine = read_machine(pid)](Surroundings& into) {
    into.machine = machine;
  };
}

Result<Put> read_libraries_part(int pid, Depth depth) {
  auto found =
      TRY(depth == Depth::Whole ? read_libraries(pid) : list_libraries(pid));
  return [found = std::move(found)](Surroundings& into) {
    into.libraries = found;
  };
}

Result<Put> read_variables_part(int pid, Depth) {
  return [found = TRY(read_variables(pid))](Surroundings& into) {
    into.variables = found;
  };
}

Result<Put> read_files(int pid, Depth depth) {
  constexpr std::size_t kQuick = 2000;  // descriptors
  if (depth == Depth::Quick && TRY(count_open_files(pid)) > kQuick) {
    return fail(ErrorId::System, "there are very many: hangdbg around");
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
  return [=](Surroundings& into) {
    into.deleted = deleted;
    into.full_files = full;
    into.file_systems = systems;
  };
}

constexpr Part kParts[] = {
    {"its command line", Depth::Whole, read_command},
    {"its cgroups", Depth::Quick, read_cgroup},
    {"its limits", Depth::Quick, read_own_limits},
    {"the machine", Depth::Quick, read_machine_part},
    {"its libraries", Depth::Quick, read_libraries_part},
    {"its environment", Depth::Quick, read_variables_part},
    {"its files", Depth::Quick, read_files},
};

}  // namespace

Result<Surroundings> read_surroundings(int pid,
                                       Depth depth,
                                       Deadline deadline) {
  Surroundings found{.pid = pid,
                     .status = TRY(read_status(pid)),
                     .usage = TRY(read_usage(pid))};
  std::vector<int> parts;
  for (int i = 0; i < static_cast<int>(std::size(kParts)); ++i) {
    if (kParts[i].depth <= depth) {
      parts.push_back(i);
    }
  }
  in_parallel<Put>(
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
