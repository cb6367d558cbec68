#include "client/views/around/json.h"

#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "inspector/host/unusual.h"
#include "protocol/reports/around.h"
#include "tracee/proc/signals.h"

namespace hangdbg {
namespace {

std::int64_t whole(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

std::optional<std::int64_t> whole(std::optional<std::uint64_t> number) {
  return number ? std::optional(whole(*number)) : std::nullopt;
}

reports::AroundStall to_json(const Stall& stall) {
  return {stall.avg10, stall.avg60, stall.avg300,
          static_cast<double>(stall.total_us) / 1e6};
}

std::optional<reports::AroundPressure> to_json(
    const std::optional<Pressure>& pressure) {
  if (!pressure) {
    return {};
  }
  return reports::AroundPressure{to_json(pressure->some),
                                 to_json(pressure->full)};
}

reports::AroundCgroup to_json(const CgroupState& state) {
  reports::AroundCgroup json;
  if (state.memory) {
    const CgroupMemory& memory = *state.memory;
    json.memory = {.folder = memory.folder,
                   .current = whole(memory.current),
                   .max = whole(memory.max),
                   .high = whole(memory.high),
                   .inactive_files = whole(memory.inactive_files),
                   .reached = whole(memory.reached),
                   .oom_kills = whole(memory.oom_kills),
                   .waits_for_memory = memory.waits_for_memory};
  }
  if (state.cpu) {
    json.cpu = {
        .folder = state.cpu->folder,
        .cpus = state.cpu->cpus,
        .periods = whole(state.cpu->periods),
        .throttled_periods = whole(state.cpu->throttled_periods),
        .throttled_s =
            std::chrono::duration<double>(state.cpu->throttled).count()};
    if (state.throttling) {
      json.cpu->throttled_now = state.throttling->share;
    }
  }
  if (state.pids) {
    json.pids = {state.pids->folder, whole(state.pids->current),
                 whole(state.pids->max), whole(state.pids->refused)};
  }
  if (state.frozen) {
    json.frozen = state.frozen->path;
  }
  json.memory_pressure = to_json(state.memory_pressure);
  return json;
}

reports::AroundLimits to_json(const Limits& limits) {
  reports::AroundLimits json;
  json.open_files = {whole(limits.open_files),
                     whole(limits.at_most.open_files)};
  json.user_threads = {whole(limits.user_threads),
                       whole(limits.at_most.processes)};
  json.file_size.limit = whole(limits.at_most.file_size);
  json.address_space.limit = whole(limits.at_most.address_space);
  json.locked_memory.limit = whole(limits.at_most.locked_memory);
  return json;
}

reports::AroundMachine to_json(const Machine& machine) {
  return {.cpus = machine.cpus,
          .allowed_cpus = machine.allowed_cpus,
          .load = machine.load,
          .memory_kib = whole(machine.memory_kib),
          .available_kib = whole(machine.available_kib),
          .swap_kib = whole(machine.swap_kib),
          .swap_free_kib = whole(machine.swap_free_kib),
          .cpu_pressure = to_json(machine.cpu_pressure),
          .memory_pressure = to_json(machine.memory_pressure),
          .io_pressure = to_json(machine.io_pressure)};
}

}  // namespace

Json around_json(const HostContext& around) {
  const ProcStatus& status = around.status;
  reports::Around json{.pid = around.pid,
                       .threads = status.threads,
                       .resident_kib = whole(around.usage.resident_kib),
                       .swapped_kib = whole(around.usage.swapped_kib),
                       .cgroup = to_json(around.cgroup),
                       .limits = to_json(around.limits),
                       .machine = to_json(around.machine)};
  for (const std::string& line : environment_warnings(around)) {
    json.unusual.push_back(to_utf8(line));
  }
  for (const std::string& word : around.command_line) {
    json.command_line.push_back(to_utf8(word));
  }
  if (status.tracer_pid != 0) {
    json.tracer_pid = status.tracer_pid;
  }
  json.signals = {
      signal_names(around.usage.pending | around.usage.shared_pending),
      signal_names(status.signals_blocked),
      signal_names(status.signals_ignored),
      signal_names(status.signals_caught)};
  for (const Library& one : around.libraries) {
    json.libraries.push_back(
        {one.family, one.name, to_utf8(one.path), one.version, one.deleted});
  }
  for (const EnvironmentVariable& one : around.variables) {
    json.environment.emplace(to_utf8(one.name), to_utf8(one.value));
  }
  for (const FileSystem& one : around.file_systems) {
    json.file_systems.push_back({to_utf8(one.point), one.type, to_utf8(one.use),
                                 whole(one.bytes), whole(one.bytes_left),
                                 whole(one.files), whole(one.files_left),
                                 one.is_full()});
  }
  for (const DeletedFile& one : around.deleted) {
    json.deleted_files.push_back({one.fd, to_utf8(one.name)});
  }
  for (const NetworkInterface& one : around.interfaces) {
    json.interfaces.push_back(
        {to_utf8(one.name), whole(one.receive_errors), whole(one.send_errors)});
  }
  for (const InfinibandPort& one : around.infiniband) {
    reports::AroundPort port{to_utf8(one.device), one.port, one.state,
                             one.physical,        one.rate, one.layer};
    for (const auto& [name, count] : one.errors) {
      port.errors.emplace(name, whole(count));
    }
    json.infiniband.push_back(std::move(port));
  }
  for (const Gpu& one : around.gpus) {
    reports::AroundGpu gpu{.index = one.index,
                           .uuid = to_utf8(one.uuid),
                           .name = to_utf8(one.name),
                           .used_mib = whole(one.used_mib),
                           .memory_mib = whole(one.memory_mib),
                           .process_mib = whole(one.process_mib)};
    if (one.busy_percent) {
      gpu.busy_percent = *one.busy_percent;
    }
    json.gpus.push_back(std::move(gpu));
  }
  for (const KernelEvent& one : around.kernel_events) {
    reports::AroundKernelEvent event{.at_s = one.at_s,
                                     .text = to_utf8(one.text)};
    if (one.pid != 0) {
      event.pid = one.pid;
    }
    json.kernel_events.push_back(std::move(event));
  }
  json.skipped = around.skipped;
  return encode(json);
}

}  // namespace hangdbg
